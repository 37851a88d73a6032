import Dispatch
import Glibc
import SqlableCore

/// Reports writes to a file by any process, with inotify.
///
/// Sound as `Sendable`: the only mutable state is that of the source, which Dispatch guards; `suspend` and `resume` are
/// called on its queue.
final class FileWatch: @unchecked Sendable {
  private let source: any DispatchSourceRead
  private let path: String
  private let file: FileIdentity

  /// Nil if the kernel can't watch the file, because it is missing or no watches are left.
  init?(_ path: String, on queue: DispatchQueue, _ body: @escaping @Sendable () -> Void) {
    // Before the watch begins: a file that replaces this one in between then counts as another, and will be watched.
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
      // The contents of the events don't matter.
      withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
        while read(descriptor, buffer.baseAddress, buffer.count) > 0 {}
      }
      body()
    }
    source.setCancelHandler { close(descriptor) }
    source.resume()
  }

  /// True if the watched file was replaced.
  var isOutdated: Bool { FileIdentity(path) != file }

  /// Holds back reports until `resume` is called as often.
  func suspend() { source.suspend() }

  func resume() { source.resume() }

  /// Must not be called while suspended.
  func cancel() { source.cancel() }
}
