#if Cluster
import Sqlable

/// The address of a node, `host:port`. dqlite listens only on IPv4, and misinterprets malformed addresses.
struct NodeAddress: Sendable, Hashable {
  let host: String
  let port: UInt16

  init(_ text: String, _ what: String = "the address") throws {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty, parts[0].utf8.count <= 200, NodeAddress.isHost(parts[0]) else {
      throw SqlError.misuse(
        "\(what) \(text.prefix(250)) is not host:port; a host is a name or an IPv4 address, because dqlite does not "
          + "support IPv6"
      )
    }
    guard parts[1].utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
      let port = UInt16(parts[1]), port > 0
    else { throw SqlError.misuse("\(what) \(text.prefix(250)) has no port between 1 and 65535") }
    (host, self.port) = (String(parts[0]), port)
  }

  private static func isHost(_ host: Substring) -> Bool {
    host.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
        true
      default: false
      }
    }
  }
}

extension NodeAddress: CustomStringConvertible {
  var description: String { "\(host):\(port)" }
}
#endif
