import Dispatch
import Glibc
import SqlableCore

/// A watch that reports writes to a file by any process, with inotify.
///
/// `FileWatch` is safe as `@unchecked Sendable`: only the dispatch source has mutable state, which Dispatch guards.
/// `suspend` and `resume` are called on its queue.
final class FileWatch: @unchecked Sendable {
  private let source: any DispatchSourceRead
  private let path: String
  private let file: FileIdentity

  /// Starts the watch. Nil if the kernel can't watch the file, because the file is missing or no watches are left.
  init?(_ path: String, on queue: DispatchQueue, _ body: @escaping @Sendable () -> Void) {
    // Read the identity first: if another file replaces this file meanwhile, the watch is outdated and renewed.
    guard let file = FileIdentity(path) else { return nil }
    let descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
    guard descriptor >= 0 else { return nil }
    (self.path, self.file) = (path, file)
    guard inotify_add_watch(descriptor, path, UInt32(IN_MODIFY)) >= 0 else {
      close(descriptor)
      return nil
    }
    source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
    source.setEventHandler {
      // Discard the events: any event means that the file was written.
      withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
        while read(descriptor, buffer.baseAddress, buffer.count) > 0 {}
      }
      body()
    }
    source.setCancelHandler { close(descriptor) }
    source.resume()
  }

  /// True if another file has replaced the watched file at its path.
  var isOutdated: Bool { FileIdentity(path) != file }

  /// Holds reports back until `resume` has been called as often as `suspend`.
  func suspend() { source.suspend() }

  func resume() { source.resume() }

  /// Ends the watch. Don't call this method while the watch is suspended.
  func cancel() { source.cancel() }
}
