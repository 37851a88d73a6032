import Dispatch
import Glibc

/// Has the kernel tell when a file is written to, by whichever process.
///
/// Sound as `Sendable`: nothing changes but the source's state, which Dispatch guards; `suspend` and `resume` are
/// called on its queue.
final class FileWatch: @unchecked Sendable {
  private let source: any DispatchSourceRead
  private let path: String
  private let file: FileIdentity

  /// What tells the file at a path from another one that was put into its place.
  private struct FileIdentity: Equatable {
    let device: UInt64
    let number: UInt64

    init?(_ path: String) {
      // Not opened: closing another descriptor of a file would give up SQLite's locks on it.
      var status = stat()
      guard stat(path, &status) == 0 else { return nil }
      (device, number) = (UInt64(status.st_dev), UInt64(status.st_ino))
    }
  }

  /// Nil where the kernel can't, as for a file that is not there, or has no more watches to give.
  init?(_ path: String, on queue: DispatchQueue, _ body: @escaping @Sendable () -> Void) {
    // Before the watch: a file that takes its place in between is then taken for another one, and watched anew.
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
      // What it says is of no interest, only that it was said.
      withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
        while read(descriptor, buffer.baseAddress, buffer.count) > 0 {}
      }
      body()
    }
    source.setCancelHandler { close(descriptor) }
    source.resume()
  }

  /// Whether the file at the path is another one than that which is watched.
  var isOutdated: Bool { FileIdentity(path) != file }

  /// Has nothing told until `resume` is called as often.
  func suspend() { source.suspend() }

  func resume() { source.resume() }

  /// To be called when it is not suspended.
  func cancel() { source.cancel() }
}
