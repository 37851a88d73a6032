import CSqlableSQLite
import Dispatch
import Glibc
import SqlableCore

/// A watch that reports writes to a file by any process, with inotify.
///
/// A watch shares an inotify instance with other watches if the initializer gets a shared instance, or if no instance
/// is left. Otherwise, the watch has an instance of its own.
final class FileWatch: Sendable {
  enum Event {
    case written
    /// The file or one of its companions might have been deleted, moved or replaced, or the kernel has lost events.
    case replaced
  }

  private let watches: FileWatches
  private let token: FileWatches.Token
  /// The suspension of this watch; nil for a watch with its own inotify instance, which can be suspended as a whole.
  private let pause: Pause?
  private let queue: DispatchQueue
  private let path: String
  private let file: FileIdentity
  /// True if the file is in a known local file system, so that the kernel reports all writes. In a network file system,
  /// the kernel does not report the writes of other machines.
  private let reportsAllWrites: Bool

  private static let replacements = UInt32(IN_ATTRIB) | UInt32(IN_DELETE_SELF) | UInt32(IN_MOVE_SELF)

  /// Starts the watch. Nil if the kernel can't watch the file, because the file is missing or no watches are left.
  ///
  /// - Parameters:
  ///   - companions: Files whose replacement is reported, too. A write to such a file is not reported.
  ///   - directory: A directory whose deletion or move is reported.
  ///   - queue: The queue on which `body` is called, and on which `suspend` and `resume` must be called.
  ///   - shared: An inotify instance for several watches; nil to create an instance for this watch.
  init?(
    _ path: String, companions: [String] = [], directory: String? = nil, on queue: DispatchQueue,
    sharing shared: FileWatches? = nil, _ body: @escaping @Sendable (Event) -> Void
  ) {
    // Read the identity first: if another file replaces this file meanwhile, the watch counts as outdated, and is
    // renewed.
    guard let file = FileIdentity(path) else { return nil }
    let spare = FileWatches.spare
    let own = shared == nil ? FileWatches(on: queue) : nil
    guard let watches = own ?? shared ?? spare else { return nil }
    let pause = own == nil ? Pause(body) : nil
    // IN_ATTRIB is left out for the directory, because it would also report changes of the directory's files.
    let others =
      companions.map { FileWatches.File(path: $0, events: FileWatch.replacements) }
      + (directory.map { [FileWatches.File(path: $0, events: UInt32(IN_DELETE_SELF) | UInt32(IN_MOVE_SELF))] } ?? [])
    let written = FileWatches.File(path: path, events: UInt32(IN_MODIFY) | FileWatch.replacements)
    let token = watches.add(written, others) { event in
      // The queue of a shared instance must not wait for one of its watches.
      if let pause { queue.async { pause.report(event) } } else { body(event) }
    }
    guard let token else { return nil }
    (self.watches, self.token, self.pause, self.queue) = (watches, token, pause, queue)
    (self.path, self.file) = (path, file)
    reportsAllWrites = sqlable_reports_all_writes(path) != 0
  }

  /// True if the kernel reports every process's writes to the file, and also reports if a companion or the directory is
  /// replaced.
  var isComplete: Bool { reportsAllWrites && token.isComplete && watches.isAlive(token) }

  /// True if another file has replaced the watched file at its path, or if the kernel has ended the watch. The
  /// identity alone is not enough, because a new file can have the identity of the deleted file.
  var isOutdated: Bool { !watches.isAlive(token) || FileIdentity(path) != file }

  /// Delays all reports until `resume` has been called as often as `suspend`.
  func suspend() {
    if let pause { pause.suspend() } else { watches.suspend() }
  }

  func resume() {
    guard let pause else { return watches.resume() }
    // Report later, on the queue: the caller runs on this queue, and expects the report after its own work.
    if let event = pause.resume() { queue.async { pause.report(event) } }
  }

  /// Ends the watch. Don't call this method while the watch is suspended.
  func cancel() { watches.remove(token) }
}

/// The suspension of one watch. A shared inotify instance can't be suspended for one file, so `Pause` keeps an event
/// until the watch resumes.
private final class Pause: Sendable {
  private let state = LockedValue((suspensions: 0, event: FileWatch.Event?.none))
  private let body: @Sendable (FileWatch.Event) -> Void

  init(_ body: @escaping @Sendable (FileWatch.Event) -> Void) { self.body = body }

  func report(_ event: FileWatch.Event) {
    let isSuspended = state.withLock { state in
      if state.suspensions > 0, state.event != .replaced { state.event = event }
      return state.suspensions > 0
    }
    if !isSuspended { body(event) }
  }

  func suspend() { state.withLock { $0.suspensions += 1 } }

  /// Returns the delayed event, which must be reported now; nil without an event.
  func resume() -> FileWatch.Event? {
    state.withLock { state in
      state.suspensions -= 1
      guard state.suspensions == 0 else { return nil }
      defer { state.event = nil }
      return state.event
    }
  }
}
