#if ClusterNode
import Dispatch

/// Watches the free space of a node's directory: a leader of dqlite 1.11 that can't write its log reads freed memory.
final class SpaceWatch: Sendable {
  private struct State {
    var timer: (any DispatchSourceTimer)?
  }

  private let queue = DispatchQueue(label: "sqlable.cluster.space")
  private let state = Guarded(State())

  /// The error for too little space; nil if there is enough, or the system does not tell.
  static func error(_ directory: NodeDirectory, _ minimum: Int) -> SqlError? {
    guard let free = directory.freeBytes, free < minimum else { return nil }
    return SqlError(
      .full, message: "the disk of the node has \(free) bytes left, and it needs \(minimum): \(directory.path)")
  }

  /// Calls `stop` once, when there is too little space.
  func begin(_ directory: NodeDirectory, _ minimum: Int, stop: @escaping @Sendable (SqlError) -> Void) {
    end()
    let timer = DispatchSource.makeTimerSource(queue: queue)
    timer.schedule(deadline: .now() + .milliseconds(250), repeating: .milliseconds(250))
    timer.setEventHandler { [weak self] in
      guard let error = SpaceWatch.error(directory, minimum) else { return }
      self?.end()
      stop(error)
    }
    state.withLock { $0.timer = timer }
    timer.resume()
  }

  func end() {
    let timer = state.withLock { state in
      defer { state.timer = nil }
      return state.timer
    }
    timer?.cancel()
  }
}
#endif
