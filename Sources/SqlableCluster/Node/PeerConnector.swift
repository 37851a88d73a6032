#if ClusterNode
import Sqlable
import Glibc

/// How a node connects to another: in dqlite's place, which knows no names, waits minutes for a machine that is not
/// reachable, and keeps a connection to it for a quarter of an hour.
enum PeerConnector {
  /// The milliseconds to wait for a connection, and for a message to be acknowledged.
  private static let timeout: Int32 = 3_000

  /// What dqlite calls, on a thread of its own. Returns 0, or dqlite's RAFT_NOCONNECTION.
  static func connect(_ address: UnsafePointer<CChar>?, _ descriptor: UnsafeMutablePointer<Int32>?) -> Int32 {
    let noConnection: Int32 = 16
    guard let address, let descriptor, let peer = try? NodeAddress(String(cString: address)),
      let connected = try? peer.connected(within: timeout)
    else { return noConnection }
    descriptor.pointee = connected
    return 0
  }
}

extension NodeAddress {
  /// Returns a connected socket.
  fileprivate func connected(within milliseconds: Int32) throws -> Int32 {
    try withSocketAddress { address, length in
      let stream = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
      let descriptor = socket(AF_INET, stream, 0)
      guard descriptor >= 0 else { throw SqlError.system("connect to", "\(self)", errno) }
      do {
        var code: Int32 = Glibc.connect(descriptor, address, length) == 0 ? 0 : errno
        if code == EINPROGRESS {
          var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
          var size = socklen_t(MemoryLayout<Int32>.size)
          let isReady = poll(&waiting, 1, milliseconds) == 1
          if !isReady || getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &size) != 0 { code = ETIMEDOUT }
        }
        guard code == 0, fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK) == 0 else {
          throw SqlError.system("connect to", "\(self)", code)
        }
        // A small message goes at once. One that stays without an answer ends the connection: else, after a partition
        // has healed, the kernel waits for as long again as that took before it sends anew.
        set(descriptor, TCP_NODELAY, 1)
        set(descriptor, TCP_USER_TIMEOUT, milliseconds)
        return descriptor
      } catch {
        close(descriptor)
        throw error
      }
    }
  }

  private func set(_ descriptor: Int32, _ option: Int32, _ value: Int32) {
    var value = value
    _ = setsockopt(descriptor, Int32(IPPROTO_TCP), option, &value, socklen_t(MemoryLayout<Int32>.size))
  }
}
#endif
