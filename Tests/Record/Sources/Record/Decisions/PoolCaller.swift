import SqlablePool

extension PoolDecisions {
  /// A call of the pool, with what the model knows about it.
  final class Caller: @unchecked Sendable {
    let id: Int
    let call: PoolCall
    let isAsync: Bool
    var isCancelled = false
    var answers = 0
    /// The number of calls that had begun to wait before this one; nil if the call got its handle at once.
    var arrival: Int?
    /// The number of times that the call's work is stored.
    var stored = 0
    /// True if the work asked for a rollback.
    var wasRolledBack = false

    /// The simulated thread of a synchronous caller.
    let thread: UInt

    init(id: Int, _ call: PoolCall, isAsync: Bool, thread: UInt) {
      (self.id, self.call, self.isAsync, self.thread) = (id, call, isAsync, thread)
    }
  }
}
