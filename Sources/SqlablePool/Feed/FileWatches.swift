import Dispatch
import Glibc
import SqlableCore

/// An inotify instance that watches files. Many pools can share one instance, because the kernel limits the instances
/// of a user, often to 128. A process takes at most 16 instances.
///
/// `FileWatches` is safe as `@unchecked Sendable`: only the dispatch source has mutable state, which Dispatch guards.
final class FileWatches: @unchecked Sendable {
  /// A file or directory, and the kernel's mask of the events that are reported.
  struct File {
    let path: String
    let events: UInt32
  }

  /// The files of one watch, and the closure that is called for these files.
  struct Token {
    fileprivate let files: [Int32]
    fileprivate let number: Int
    /// False if the kernel can't watch one of the files that were passed as `others`.
    let isComplete: Bool
  }

  private struct State {
    /// The closures by the kernel's number of the file. The kernel has one number for all watches of a file.
    var bodies: [Int32: [Int: @Sendable (FileWatch.Event) -> Void]] = [:]
    var count = 0
  }

  /// The instance for all watches that can't get their own inotify instance. Nil if the process can't create another
  /// instance; each use tries again.
  static var spare: FileWatches? {
    knownSpare.withLock { spare in
      if spare == nil { spare = FileWatches(on: DispatchQueue(label: "sqlable.watches")) }
      return spare
    }
  }
  private static let knownSpare = LockedValue<FileWatches?>(nil)

  /// The number of this process's inotify instances.
  private static let count = LockedValue(0)
  /// The maximum of `count`. All processes of a user share a limited number of inotify instances.
  private static let limit = 16

  let descriptor: Int32
  private let source: any DispatchSourceRead
  private let state = LockedValue(State())
  private let forkGeneration = ForkGuard.generation

  /// Creates an inotify instance, whose closures are called on `queue`. Returns nil if the process already has `limit`
  /// instances, or if the kernel allows no more.
  init?(on queue: DispatchQueue) {
    let descriptor: Int32? = FileWatches.count.withLock { count in
      guard count < FileWatches.limit else { return nil }
      let descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
      guard descriptor >= 0 else { return nil }
      count += 1
      return descriptor
    }
    guard let descriptor else { return nil }
    self.descriptor = descriptor
    source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
    source.setEventHandler { [weak self] in self?.report() }
    source.setCancelHandler {
      close(descriptor)
      FileWatches.count.withLock { $0 -= 1 }
    }
    source.resume()
  }

  deinit { source.cancel() }

  /// Starts to call `body` after events of `file` and of the `others`. Returns nil if the kernel can't watch `file`.
  func add(_ file: File, _ others: [File], _ body: @escaping @Sendable (FileWatch.Event) -> Void) -> Token? {
    // Lock before a watch is added: otherwise, an event could be read before its closure is stored.
    guard !isForked else { return nil }
    return state.withLock { state in
      // Two watches of one file can request different events: IN_MASK_ADD adds the second mask to the first.
      let numbers = ([file] + others).map {
        inotify_add_watch(descriptor, $0.path, $0.events | UInt32(IN_MASK_ADD))
      }
      guard numbers[0] >= 0 else {
        for number in numbers where number >= 0 && state.bodies[number] == nil { inotify_rm_watch(descriptor, number) }
        return nil
      }
      state.count += 1
      let token = Token(
        files: numbers.filter { $0 >= 0 }, number: state.count, isComplete: !numbers.contains { $0 < 0 })
      for number in token.files { state.bodies[number, default: [:]][token.number] = body }
      return token
    }
  }

  /// True if the kernel still watches all files of a watch. The kernel ends the watch of a deleted file.
  func isAlive(_ token: Token) -> Bool {
    !isForked && state.withLock { state in token.files.allSatisfy { state.bodies[$0]?[token.number] != nil } }
  }

  /// True in a child process of `fork()`, which shares the kernel's instance with its parent.
  private var isForked: Bool { ForkGuard.generation != forkGeneration }

  func remove(_ token: Token) {
    guard !isForked else { return }
    state.withLock { state in
      for file in token.files {
        state.bodies[file]?[token.number] = nil
        guard state.bodies[file]?.isEmpty == true else { continue }
        state.bodies[file] = nil
        // The call fails if the file was deleted, because the kernel has then removed the watch.
        _ = inotify_rm_watch(descriptor, file)
      }
    }
  }

  /// Holds all reports back until `resume` has been called as often as `suspend`.
  func suspend() { source.suspend() }

  func resume() { source.resume() }

  private func report() {
    var (events, ended) = read()
    let reports = state.withLock { state in
      // The number -1 stands for events that the kernel has dropped. These can include the end of any watch.
      if events[-1] != nil {
        events = state.bodies.mapValues { _ in .replaced }
        ended = Array(state.bodies.keys)
      }
      defer { for file in ended { state.bodies[file] = nil } }
      var reports: [Int: (event: FileWatch.Event, body: @Sendable (FileWatch.Event) -> Void)] = [:]
      for (file, event) in events {
        for (number, body) in state.bodies[file] ?? [:] where reports[number]?.event != .replaced {
          reports[number] = (event, body)
        }
      }
      return Array(reports.values)
    }
    for report in reports { report.body(report.event) }
  }

  /// Reads all events. Returns one event per file (`replaced` takes precedence over `written`), and the files that the
  /// kernel no longer watches.
  private func read() -> (events: [Int32: FileWatch.Event], ended: [Int32]) {
    withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
      var events: [Int32: FileWatch.Event] = [:]
      var ended: [Int32] = []
      while case let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count), count > 0 {
        var offset = 0
        while offset + MemoryLayout<inotify_event>.size <= count {
          let event = UnsafeRawBufferPointer(buffer).loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
          if event.mask & UInt32(IN_IGNORED) != 0 { ended.append(event.wd) }
          if event.mask != UInt32(IN_MODIFY) {
            events[event.wd] = .replaced
          } else if events[event.wd] == nil {
            events[event.wd] = .written
          }
          offset += MemoryLayout<inotify_event>.size + Int(event.len)
        }
      }
      return (events, ended)
    }
  }
}
