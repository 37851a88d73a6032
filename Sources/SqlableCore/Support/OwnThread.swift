import Dispatch
import Glibc

/// Starts a thread for work that blocks. Dispatch has at most 255 threads per process. If all 255 threads were blocked,
/// no work on Dispatch would run anywhere in the process.
///
/// If the system can't create a thread, Dispatch runs `body`.
package func startThread(_ body: @escaping @Sendable () -> Void) {
  final class Body: Sendable {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }
  let context = Unmanaged.passRetained(Body(body))
  var attributes = pthread_attr_t()
  pthread_attr_init(&attributes)
  pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
  defer { pthread_attr_destroy(&attributes) }
  var thread = pthread_t()
  let code = pthread_create(
    &thread, &attributes,
    { context in
      guard let context else { return nil }
      Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
      return nil
    }, context.toOpaque())
  guard code != 0 else { return }
  context.release()
  DispatchQueue.global().async(execute: body)
}

/// Runs `body`, which can block, on a new thread, with the deadline of the calling task.
///
/// - Parameter cancel: Called when the task is cancelled. Cancellation alone does not interrupt `body`.
package func onOwnThread<Value: Sendable>(
  onCancel cancel: @escaping @Sendable () -> Void = {}, _ body: @escaping @Sendable () throws -> Value
) async throws -> Value {
  let deadline = Deadline.current
  return try await withTaskCancellationHandler {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Value, any Error>) in
      startThread {
        continuation.resume(with: Result { try Deadline.withValue(deadline, body) })
      }
    }
  } onCancel: {
    cancel()
  }
}

/// A thread that runs closures one after another. The thread ends after two idle seconds, or when this object is
/// released.
package final class WorkerThread: Sendable {

  package init() {}
  private static let patience = DispatchTimeInterval.seconds(2)

  private let work = Work()

  deinit { work.end() }

  package func async(_ body: @escaping @Sendable () -> Void) {
    if work.add(body) { startThread { [work] in work.run() } }
  }

  /// The queue of closures. The thread retains this object but not the worker.
  private final class Work: Sendable {
    private struct State {
      var blocks: [@Sendable () -> Void] = []
      var (hasThread, isOver) = (false, false)
    }

    private let state = LockedValue(State())
    private let bell = DispatchSemaphore(value: 0)

    /// Adds a closure. Returns true if the caller must start a thread.
    func add(_ block: @escaping @Sendable () -> Void) -> Bool {
      let hasThread = state.withLock { state in
        state.blocks.append(block)
        defer { state.hasThread = true }
        return state.hasThread
      }
      if hasThread { bell.signal() }
      return !hasThread
    }

    func end() {
      state.withLock { $0.isOver = true }
      bell.signal()
    }

    func run() {
      var isLate = false
      while true {
        let (block, ends) = state.withLock { state -> ((@Sendable () -> Void)?, Bool) in
          if !state.blocks.isEmpty { return (state.blocks.removeFirst(), false) }
          guard isLate || state.isOver else { return (nil, false) }
          state.hasThread = false
          return (nil, true)
        }
        if ends { return }
        if let block { block() }
        isLate = block == nil && bell.wait(timeout: .now() + WorkerThread.patience) == .timedOut
      }
    }
  }
}
