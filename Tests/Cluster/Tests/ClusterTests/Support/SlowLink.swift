import Foundation

/// A proxy on a separate address that delays all traffic to and from a node.
final class SlowLink: @unchecked Sendable {
  /// The delays of a link.
  struct Delay: Sendable {
    /// The time of a message, in milliseconds.
    var milliseconds: ClosedRange<Double>
    var bytesPerSecond: Double
    /// The share of messages that are held up with their successors, as after packet loss, and the milliseconds.
    var stalls: (probability: Double, milliseconds: ClosedRange<Double>) = (0, 0...0)
  }

  let address: String
  private let target: String
  private let delay: Delay
  private let descriptor: Int32
  private let interception = Locked<(@Sendable () -> Void)?>(nil)

  /// Drops the next COMMIT and the connection. Calls `body` after the node has rolled back and before the client
  /// detects the loss.
  func loseCommit(_ body: @escaping @Sendable () -> Void) { interception.with { $0 = body } }

  init(to target: String, _ delay: Delay) throws {
    let port = freePort()
    (address, self.target, self.delay) = ("127.0.0.1:\(port)", target, delay)
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var reuse: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &reuse, socklen_t(MemoryLayout<Int32>.size))
    guard SlowLink.withAddress(port, { bind(descriptor, $0, $1) }) == 0, listen(descriptor, 64) == 0 else {
      throw CommandFailure(description: "can't listen on \(address)")
    }
    Thread.detachNewThread { [self] in
      while case let peer = accept(descriptor, nil, nil), peer >= 0 { pass(peer) }
    }
  }

  func close() {
    shutdown(descriptor, Int32(SHUT_RDWR))
    Foundation.close(descriptor)
  }

  private static func withAddress(_ port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
    }
  }

  private func pass(_ peer: Int32) {
    let node = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    let port = Int(target.split(separator: ":")[1]) ?? 0
    guard SlowLink.withAddress(port, { connect(node, $0, $1) }) == 0 else {
      Foundation.close(node)
      Foundation.close(peer)
      return
    }
    let (open, isIntercepted) = (Locked(2), Locked(()))
    for (from, to) in [(peer, node), (node, peer)] {
      var noDelay: Int32 = 1
      setsockopt(to, Int32(IPPROTO_TCP), TCP_NODELAY, &noDelay, socklen_t(MemoryLayout<Int32>.size))
      let messages = Messages()
      Thread.detachNewThread { [self, delay] in
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let count = recv(from, &buffer, buffer.count, 0), count > 0 {
          let bytes = Array(buffer[..<count])
          if from == peer, bytes.contains(Array("COMMIT".utf8)), let body = interception.with({ $0 }) {
            interception.with { $0 = nil }
            isIntercepted.with { _ in
              shutdown(to, Int32(SHUT_RDWR))
              body()
            }
            break
          }
          messages.add(bytes, delay)
        }
        messages.add([], delay)
      }
      Thread.detachNewThread {
        while case let bytes = messages.next(), !bytes.isEmpty {
          var done = 0
          while done < bytes.count {
            let count = bytes[done...].withUnsafeBytes { send(to, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { break }
            done += count
          }
        }
        // The client has not detected the loss yet.
        isIntercepted.with { _ in }
        shutdown(to, Int32(SHUT_RDWR))
        shutdown(from, Int32(SHUT_RDWR))
        let isLast = open.with { open in
          open -= 1
          return open == 0
        }
        if isLast { for descriptor in [from, to] { Foundation.close(descriptor) } }
      }
    }
  }

  /// The messages in transit in one direction, in order.
  private final class Messages: @unchecked Sendable {
    private let condition = NSCondition()
    private var waiting: [(due: Double, bytes: [UInt8])] = []
    private var last = 0.0

    private var now: Double { ProcessInfo.processInfo.systemUptime }

    func add(_ bytes: [UInt8], _ delay: Delay) {
      condition.lock()
      var due = max(last, now + Double.random(in: delay.milliseconds) / 1_000)
      if Double.random(in: 0..<1) < delay.stalls.probability {
        due += Double.random(in: delay.stalls.milliseconds) / 1_000
      }
      last = due + Double(bytes.count) / delay.bytesPerSecond
      waiting.append((last, bytes))
      condition.signal()
      condition.unlock()
    }

    func next() -> [UInt8] {
      condition.lock()
      while waiting.isEmpty { condition.wait() }
      let message = waiting.removeFirst()
      condition.unlock()
      let pause = message.due - now
      if pause > 0 { Thread.sleep(forTimeInterval: pause) }
      return message.bytes
    }
  }
}
