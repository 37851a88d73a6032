import Dispatch
import SqlableCore

/// An exchange between a task, which asks, and a thread, which answers and holds a handle. The task waits for each
/// answer, so the exchange holds at most one question.
///
/// A thread waits, because a blob is open only as long as the closure of its handle runs.
final class ThreadExchange<Question: Sendable, Answer: Sendable>: Sendable {
  private struct State {
    var question: Question?
    var waiting: CheckedContinuation<Answer?, any Error>?
    /// The end: nil as long as both sides go on.
    var end: Result<Void, any Error>?
  }

  private let state = LockedValue(State())
  private let signal = DispatchSemaphore(value: 0)

  // MARK: The task

  /// Asks the thread; returns nil after the end, or throws the end's error. A cancellation of the task is an end.
  func ask(_ question: Question) async throws -> Answer? {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let end = state.withLock { state in
          if state.end == nil { (state.question, state.waiting) = (question, continuation) }
          return state.end
        }
        if let end { continuation.resume(with: end.map { _ -> Answer? in nil }) } else { signal.signal() }
      }
    } onCancel: {
      end(CancellationError())
    }
  }

  // MARK: The thread

  /// Waits for the next question, and calls `check` about every 20 ms. Returns nil after the end, or throws its error.
  func next(_ check: () throws -> Void) throws -> Question? {
    while true {
      let isSignalled = signal.wait(timeout: .now() + .milliseconds(20)) == .success
      let (question, end) = state.withLock { state in
        defer { state.question = nil }
        return (state.question, state.end)
      }
      if let end {
        try end.get()
        return nil
      }
      if let question { return question }
      if !isSignalled { try check() }
    }
  }

  func answer(_ answer: Answer) {
    let waiting = state.withLock { state in
      defer { state.waiting = nil }
      return state.waiting
    }
    waiting?.resume(returning: answer)
  }

  // MARK: Both

  /// Ends the exchange for both sides. Only the first end counts.
  func end(_ error: (any Error)? = nil) {
    let end: Result<Void, any Error> = error.map { .failure($0) } ?? .success(())
    let (waiting, first) = state.withLock { state in
      let first = state.end ?? end
      (state.end, state.question) = (first, nil)
      defer { state.waiting = nil }
      return (state.waiting, first)
    }
    waiting?.resume(with: first.map { _ -> Answer? in nil })
    signal.signal()
  }
}
