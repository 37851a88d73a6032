#if ClusterNode
import Sqlable
import Dispatch
import Glibc

/// A monitor of a node's disk. Without the monitor, dqlite acknowledges commits even after its files were removed. A
/// leader of dqlite 1.11 that can't write its log reads freed memory.
final class DiskWatch: Sendable {
  private struct State {
    var timer: (any DispatchSourceTimer)?
    var ticks = 0
    var files: [String] = []
    /// The files that were deleted but still open at the last check.
    var deleted: Set<String> = []
  }

  /// The number of free-space checks per check of the files.
  private static let ticksPerLook = 4

  private let queue = DispatchQueue(label: "sqlable.cluster.disk")
  private let state = LockedValue(State())

  /// Returns the error for too little free space; nil if the space is sufficient or unknown.
  static func error(_ directory: NodeDirectory, _ minimum: Int) -> SqlError? {
    guard let free = directory.freeBytes, free < minimum else { return nil }
    return SqlError(
      .full, message: "the disk of the node has \(free) bytes left, but the node needs \(minimum): \(directory.path)")
  }

  /// Calls `stop` once, when the disk has too little space, or the node's files are missing, replaced or not writable.
  func begin(_ directory: NodeDirectory, _ minimum: Int, stop: @escaping @Sendable (SqlError) -> Void) {
    end()
    let timer = DispatchSource.makeTimerSource(queue: queue)
    timer.schedule(deadline: .now() + .milliseconds(250), repeating: .milliseconds(250))
    timer.setEventHandler { [weak self] in
      guard let self, let error = DiskWatch.error(directory, minimum) ?? lossOfFiles(directory) else { return }
      end()
      stop(error)
    }
    state.withLock { $0 = State(timer: timer, files: directory.lastingFiles) }
    timer.resume()
  }

  func end() {
    let timer = state.withLock { state in
      defer { state.timer = nil }
      return state.timer
    }
    timer?.cancel()
  }

  private func lossOfFiles(_ directory: NodeDirectory) -> SqlError? {
    let files = state.withLock { state in
      state.ticks += 1
      return state.ticks % DiskWatch.ticksPerLook == 0 ? state.files : nil
    }
    guard let files else { return nil }
    if let loss = directory.loss(of: files) { return loss }
    let deleted = directory.openDeletedFiles()
    return state.withLock { state in
      defer { state.deleted = deleted }
      // Report a deleted file only if it is still open at the second check: dqlite deletes some files itself, and can
      // close such a file a little later.
      guard let file = deleted.first(where: state.deleted.contains) else { return nil }
      return SqlError(.io, message: "a file of the node was deleted: \(file)")
    }
  }
}
#endif
