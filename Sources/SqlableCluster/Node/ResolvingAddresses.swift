#if ClusterNode
import Sqlable
#if SQLCipher
#error("the package traits ClusterNode and SQLCipher can't be combined: libdqlite links libsqlite3, a second SQLite")
#endif
import Glibc

extension NodeAddress {
  /// Returns the IPv4 address of the host. Blocks while a name server is asked.
  func resolved() throws -> in_addr {
    var hints = addrinfo()
    hints.ai_family = AF_INET
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    let code = getaddrinfo(host, nil, &hints, &list)
    defer { if list != nil { freeaddrinfo(list) } }
    guard code == 0, let first = list?.pointee.ai_addr else {
      let reason = code == 0 ? "no IPv4 address" : String(cString: gai_strerror(code))
      throw SqlError(.cannotOpen, message: "can't find the host \(host): \(reason)")
    }
    return first.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { $0.pointee.sin_addr }
  }

  /// Returns the address with the host's IPv4 address instead of its name. dqlite can listen only on a numeric address.
  func numeric() throws -> String {
    let host = UInt32(bigEndian: try resolved().s_addr)
    return "\(host >> 24).\(host >> 16 & 255).\(host >> 8 & 255).\(host & 255):\(port)"
  }

  func isLoopback() throws -> Bool { UInt32(bigEndian: try resolved().s_addr) >> 24 == 127 }

  func withSocketAddress<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) throws -> Result) throws -> Result {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr = try resolved()
    return try withUnsafePointer(to: &address) { pointer in
      try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        try body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }
}
#endif
