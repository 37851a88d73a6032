import Dispatch
import Glibc
import SqlableCore

/// A watch that reports writes to a file by any process, with inotify.
///
/// `FileWatch` is safe as `@unchecked Sendable`: only the dispatch source has mutable state, which Dispatch guards.
/// `suspend` and `resume` are called on its queue.
final class FileWatch: @unchecked Sendable {
  private enum Source {
    case own(any DispatchSourceRead)
    case shared(FileWatches, FileWatches.Token, Pause)
  }

  /// The state of a shared watch, whose source can't be suspended for one file.
  private final class Pause: Sendable {
    private let state = LockedValue((suspensions: 0, hasEvent: false))
    let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    func report() {
      let isSuspended = state.withLock { state in
        if state.suspensions > 0 { state.hasEvent = true }
        return state.suspensions > 0
      }
      if !isSuspended { body() }
    }

    func suspend() { state.withLock { $0.suspensions += 1 } }

    /// Returns true if an event is to be reported now.
    func resume() -> Bool {
      state.withLock { state in
        state.suspensions -= 1
        guard state.suspensions == 0, state.hasEvent else { return false }
        state.hasEvent = false
        return true
      }
    }
  }

  private let source: Source
  private let queue: DispatchQueue
  private let path: String
  private let file: FileIdentity

  /// Starts the watch. Nil if the kernel can't watch the file, because the file is missing or no watches are left.
  ///
  /// - Parameter watches: An instance that the watch shares with others, and whose queue is the target of `queue`.
  init?(
    _ path: String, on queue: DispatchQueue, sharing watches: FileWatches? = nil, _ body: @escaping @Sendable () -> Void
  ) {
    // Read the identity first: if another file replaces this file meanwhile, the watch is outdated and renewed.
    guard let file = FileIdentity(path) else { return nil }
    (self.path, self.file, self.queue) = (path, file, queue)
    if let watches {
      let pause = Pause(body)
      guard let token = watches.add(path, { pause.report() }) else { return nil }
      source = .shared(watches, token, pause)
      return
    }
    let descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
    guard descriptor >= 0 else { return nil }
    guard inotify_add_watch(descriptor, path, UInt32(IN_MODIFY)) >= 0 else {
      close(descriptor)
      return nil
    }
    let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
    source.setEventHandler {
      // The contents of the events are not needed.
      withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
        while read(descriptor, buffer.baseAddress, buffer.count) > 0 {}
      }
      body()
    }
    source.setCancelHandler { close(descriptor) }
    source.resume()
    self.source = .own(source)
  }

  /// True if another file has replaced the watched file at its path.
  var isOutdated: Bool { FileIdentity(path) != file }

  /// Holds reports back until `resume` has been called as often as `suspend`.
  func suspend() {
    switch source {
    case .own(let source): source.suspend()
    case .shared(_, _, let pause): pause.suspend()
    }
  }

  func resume() {
    switch source {
    case .own(let source): source.resume()
    // The caller runs on the queue, and expects the report after its own work.
    case .shared(_, _, let pause): if pause.resume() { queue.async { pause.report() } }
    }
  }

  /// Ends the watch. Don't call this method while the watch is suspended.
  func cancel() {
    switch source {
    case .own(let source): source.cancel()
    case .shared(let watches, let token, _): watches.remove(token)
    }
  }
}
