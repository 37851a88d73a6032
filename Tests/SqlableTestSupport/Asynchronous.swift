import Foundation

/// Calls `body` with a new directory, then deletes the directory.
func withDirectoryAsync<Result>(_ body: (String) async throws -> Result) async throws -> Result {
  let directory = NSTemporaryDirectory() + "sqlable-test-\(UUID().uuidString)"
  try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(atPath: directory) }
  return try await body(directory)
}

/// Runs blocking work on a new thread: Swift has as many threads as cores, and other tests need them.
func onThread<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
  try await withCheckedThrowingContinuation { continuation in
    Thread.detachNewThread { continuation.resume(with: Swift.Result { try body() }) }
  }
}
