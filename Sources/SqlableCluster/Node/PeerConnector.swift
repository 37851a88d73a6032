#if ClusterNode
import Sqlable
import Glibc

/// A replacement for dqlite's function that connects a node to another node. The original function does not resolve
/// names, and waits for minutes for a machine that can't be reached. If a connected machine can't be reached any more,
/// the original function keeps the connection for a quarter of an hour.
enum PeerConnector {
  /// The time limit for connecting, and for the acknowledgement of a message, in milliseconds.
  private static let timeout: Int32 = 3_000

  /// Connects to the node at an address, and stores the socket in `descriptor`. dqlite calls this function on a
  /// separate thread. Returns 0, or dqlite's RAFT_NOCONNECTION.
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
        set(descriptor, TCP_NODELAY, 1)
        // Close the connection if a message is not acknowledged in time. Otherwise the kernel doubles the pause before
        // each retransmission, so the connection stays silent for a long time after a network partition has ended.
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
