import Foundation

/// A fake node with a configurable leader and voters. It opens any database, begins any transaction and refuses
/// pragmas. Any other request closes the connection. It can also claim a record of every transaction.
final class FakeNode: @unchecked Sendable {
  let address: String
  private let descriptor: Int32
  private let count = Locked(0)
  private let names = Locked<(leader: String?, voters: [String])>((nil, []))

  /// Sets the reported leader (an empty name means none) and the other voters.
  func name(leader: String?, voters: [String]) { names.with { $0 = (leader, voters) } }

  private let refusals = Locked<Int?>(nil)

  /// Makes the node answer every BEGIN with "database is locked" and count them.
  func isLocked() { refusals.with { $0 = 0 } }

  /// The number of refused BEGINs.
  var refusedBegins: Int { refusals.with { $0 ?? 0 } }

  private let losses = Locked<Int?>(nil)

  /// Makes the node claim a record of every repeatable transaction, and close this many connections at a rollback.
  func hasRecords(losing count: Int) { losses.with { $0 = count } }

  /// The number of connections closed at a rollback.
  var broken: Int { count.with { $0 } }

  /// - Parameter isSilent: Whether the node accepts connections and never answers.
  init(isSilent: Bool = false) throws {
    let port = freePort()
    address = "127.0.0.1:\(port)"
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var own = sockaddr_in()
    own.sin_family = sa_family_t(AF_INET)
    own.sin_port = in_port_t(port).bigEndian
    own.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
    let isBound = withUnsafePointer(to: &own) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
    guard isBound, listen(descriptor, 16) == 0 else { throw CommandFailure(description: "can't listen") }
    guard !isSilent else { return }
    Thread.detachNewThread { [self] in
      while true {
        let peer = accept(descriptor, nil, nil)
        guard peer >= 0 else { return }
        Thread.detachNewThread { [self] in
          serve(peer)
          Foundation.close(peer)
        }
      }
    }
  }

  func close() {
    shutdown(descriptor, Int32(SHUT_RDWR))
    Foundation.close(descriptor)
  }

  private func serve(_ peer: Int32) {
    guard read(8, from: peer) != nil else { return }
    while let header = read(8, from: peer) {
      let words = header[0..<4].reversed().reduce(0) { $0 << 8 | Int($1) }
      guard let body = read(words * 8, from: peer) else { return }
      switch header[4] {
      case 0:
        let leader = names.with { $0.leader } ?? address
        answer(1, word(leader.isEmpty ? 0 : 1) + text(leader), to: peer)
      case 3: answer(4, word(0), to: peer)
      case 16:
        let voters = [address] + names.with { $0.voters }
        let members = voters.enumerated().flatMap { word(UInt64($0 + 1)) + text($1) + word(0) }
        answer(3, word(UInt64(voters.count)) + members, to: peer)
      case 8 where String(decoding: body[8...], as: UTF8.self).hasPrefix("BEGIN") && refusals.with({ $0 != nil }):
        refusals.with { $0 = ($0 ?? 0) + 1 }
        answer(0, word(5) + text("database is locked"), to: peer)
      case 8 where String(decoding: body[8...], as: UTF8.self).hasPrefix("BEGIN"):
        answer(6, word(0) + word(0), to: peer)
      case 8 where losses.with({ $0 != nil }):
        let sql = String(decoding: body[8...], as: UTF8.self)
        if sql.hasPrefix("INSERT INTO \"sqlable_transaction\"") {
          answer(0, word(2_067) + text("UNIQUE constraint failed: sqlable_transaction.id"), to: peer)
        } else if sql.hasPrefix("ROLLBACK TO"), losses.with({ ($0 ?? 0) > 0 }) {
          losses.with { $0 = ($0 ?? 0) - 1 }
          return count.with { $0 += 1 }
        } else {
          answer(6, word(0) + word(0), to: peer)
        }
      case 9 where String(decoding: body[8...], as: UTF8.self).hasPrefix("PRAGMA"):
        answer(0, word(1) + text("it has no pragmas"), to: peer)
      default: return count.with { $0 += 1 }
      }
    }
  }

  private func word(_ value: UInt64) -> [UInt8] { withUnsafeBytes(of: value.littleEndian) { Array($0) } }

  private func text(_ text: String) -> [UInt8] {
    let bytes = Array(text.utf8) + [0]
    return bytes + [UInt8](repeating: 0, count: (8 - bytes.count % 8) % 8)
  }

  private func answer(_ type: UInt8, _ body: [UInt8], to peer: Int32) {
    let message = withUnsafeBytes(of: UInt32(body.count / 8).littleEndian) { Array($0) } + [type, 0, 0, 0] + body
    _ = send(peer, message, message.count, Int32(MSG_NOSIGNAL))
  }

  private func read(_ count: Int, from peer: Int32) -> [UInt8]? {
    var (bytes, done) = ([UInt8](repeating: 0, count: count), 0)
    while done < count {
      let more = recv(peer, &bytes[done], count - done, 0)
      guard more > 0 else { return nil }
      done += more
    }
    return bytes
  }
}
