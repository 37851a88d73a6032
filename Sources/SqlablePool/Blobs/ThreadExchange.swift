import Dispatch
import SqlableCore

/// A channel for a task's questions to a thread that holds a handle. The task waits for each answer, so the channel
/// holds at most one question.
///
/// The answering side blocks a thread, because a blob is open only while the synchronous closure of its handle runs.
final class ThreadExchange<Question: Sendable, Answer: Sendable>: Sendable {
  private struct State {
    var question: Question?
    var waiting: CheckedContinuation<Answer?, any Error>?
    /// The outcome of the exchange; nil until either side ends the exchange.
    var end: Result<Void, any Error>?
  }

  private let state = LockedValue(State())
  private let signal = DispatchSemaphore(value: 0)

  // MARK: The task

  /// Sends a question to the thread, and waits for the answer. If the exchange has ended, returns nil or throws the
  /// error that ended the exchange. Cancelling the task ends the exchange.
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

  /// Waits for the next question, and calls `check` about every 20 ms. If the exchange has ended, returns nil or throws
  /// the error that ended the exchange.
  func next(_ check: () throws -> Void) throws -> Question? {
    while true {
      let isSignalled = SharedThreads.whileBlockedByCaller {
        signal.wait(timeout: .now() + .milliseconds(20)) == .success
      }
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

  /// Ends the exchange for both sides. Later calls have no effect.
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
