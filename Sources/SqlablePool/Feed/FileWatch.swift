import CSqlableSQLite
import Dispatch
import Glibc
import SqlableCore

/// A watch that reports writes to a file by any process, with inotify.
///
/// `FileWatch` is safe as `@unchecked Sendable`: only the dispatch source has mutable state, which Dispatch guards.
/// `suspend` and `resume` are called on its queue.
final class FileWatch: @unchecked Sendable {
  enum Event {
    case written
    /// The file or one of its companions might have been deleted, moved or replaced, or the kernel has lost events.
    case replaced
  }

  private let source: any DispatchSourceRead
  private let path: String
  private let file: FileIdentity
  /// True if the kernel reports all writes by all processes, and the replacement of each companion. False for files in
  /// network file systems, whose other machines can write.
  let isComplete: Bool

  private static let replacements = UInt32(IN_ATTRIB) | UInt32(IN_DELETE_SELF) | UInt32(IN_MOVE_SELF)

  /// Starts the watch. Nil if the kernel can't watch the file, because the file is missing or no watches are left.
  ///
  /// - Parameters:
  ///   - companions: Files whose replacement is reported, too. A write to such a file is not reported.
  ///   - directory: A directory whose end or new place is reported.
  init?(
    _ path: String, companions: [String] = [], directory: String? = nil, on queue: DispatchQueue,
    _ body: @escaping @Sendable (Event) -> Void
  ) {
    // Read the identity first: if another file replaces this file meanwhile, the watch is outdated and renewed.
    guard let file = FileIdentity(path) else { return nil }
    let descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
    guard descriptor >= 0 else { return nil }
    (self.path, self.file) = (path, file)
    guard inotify_add_watch(descriptor, path, UInt32(IN_MODIFY) | FileWatch.replacements) >= 0 else {
      close(descriptor)
      return nil
    }
    // IN_ATTRIB of a directory would also report changes of its files.
    let others =
      companions.map { ($0, FileWatch.replacements) }
      + (directory.map { [($0, UInt32(IN_DELETE_SELF) | UInt32(IN_MOVE_SELF))] } ?? [])
    let areWatched = others.map { inotify_add_watch(descriptor, $0.0, $0.1) >= 0 }
    isComplete = !areWatched.contains(false) && sqlable_reports_all_writes(path) != 0
    source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
    source.setEventHandler { body(FileWatch.read(descriptor)) }
    source.setCancelHandler { close(descriptor) }
    source.resume()
  }

  /// Reads all events.
  private static func read(_ descriptor: Int32) -> Event {
    withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
      var result = Event.written
      while case let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count), count > 0 {
        var offset = 0
        while offset + MemoryLayout<inotify_event>.size <= count {
          let event = UnsafeRawBufferPointer(buffer).loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
          if event.mask != UInt32(IN_MODIFY) { result = .replaced }
          offset += MemoryLayout<inotify_event>.size + Int(event.len)
        }
      }
      return result
    }
  }

  /// True if another file has replaced the watched file at its path.
  var isOutdated: Bool { FileIdentity(path) != file }

  /// Holds reports back until `resume` has been called as often as `suspend`.
  func suspend() { source.suspend() }

  func resume() { source.resume() }

  /// Ends the watch. Don't call this method while the watch is suspended.
  func cancel() { source.cancel() }
}
