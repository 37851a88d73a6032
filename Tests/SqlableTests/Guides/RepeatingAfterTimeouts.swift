import Sqlable

/// Calls `body` again if its deadline has passed: a loaded machine can stop a thread for longer than the deadlines of
/// the guides.
func repeatingAfterTimeouts<Value>(_ body: () async throws -> Value) async throws -> Value {
  for _ in 1..<1_000 {
    do { return try await body() } catch let error as SqlError where error.kind == .timeout {}
  }
  return try await body()
}
