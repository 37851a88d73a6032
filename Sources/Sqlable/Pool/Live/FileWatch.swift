import Dispatch
import Glibc

/// Has the kernel tell when a file is written to, by whichever process.
///
/// Sound as `Sendable`: nothing changes but the source's state, which Dispatch guards; `suspend` and `resume` are called on its
/// queue.
final class FileWatch: @unchecked Sendable {
  private let source: any DispatchSourceRead

  /// Nil where the kernel can't, as for a file that is not there, or has no more watches to give.
  init?(_ path: String, on queue: DispatchQueue, _ body: @escaping @Sendable () -> Void) {
    let descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
    guard descriptor >= 0 else { return nil }
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

  /// Has nothing told until `resume` is called as often.
  func suspend() { source.suspend() }

  func resume() { source.resume() }

  /// To be called when it is not suspended.
  func cancel() { source.cancel() }
}
