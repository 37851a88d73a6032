import Foundation
import Sqlable
import Testing

/// Calls `body` with a new directory, and deletes it afterwards.
func withDirectory<Result>(_ body: (String) async throws -> Result) async throws -> Result {
  let path = NSTemporaryDirectory() + "sqlable-cluster-\(UUID().uuidString)"
  try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(atPath: path) }
  return try await body(path)
}

/// Returns an unused port that no other test of this process gets.
func freePort() -> Int {
  while true {
    let port = nextPort.next()
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
    let isFree = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
    if isFree { return port }
  }
}

func freeAddress() -> String { "127.0.0.1:\(freePort())" }

/// The ports lie below the range for outgoing connections.
private final class PortCounter: @unchecked Sendable {
  private let lock = NSLock()
  private var port = Int.random(in: 12_000..<30_000)

  func next() -> Int {
    lock.withLock {
      port = port < 32_000 ? port + 1 : 12_000
      return port
    }
  }
}

private let nextPort = PortCounter()

/// Returns the error that `body` throws.
func failure(
  _ place: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
) async -> SqlError? {
  do { try await body() } catch {
    if let error = error as? SqlError { return error }
    Issue.record("not an SqlError: \(error)", sourceLocation: place)
    return nil
  }
  Issue.record("nothing was thrown", sourceLocation: place)
  return nil
}

extension SqlError {
  var isMisuse: Bool { if case .misuse = kind { true } else { false } }
}

/// Waits until the condition holds, at most one minute.
func until(
  _ what: String, within limit: Duration = .seconds(60), _ place: SourceLocation = #_sourceLocation,
  _ condition: () async throws -> Bool
) async throws {
  let end = ContinuousClock.now + limit
  while try await !condition() {
    guard ContinuousClock.now < end else {
      Issue.record("not within \(limit): \(what)", sourceLocation: place)
      throw CancellationError()
    }
    try await Task.sleep(for: .milliseconds(20))
  }
}
