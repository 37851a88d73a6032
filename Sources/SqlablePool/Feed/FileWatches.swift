import Dispatch
import Glibc
import SqlableCore

/// One inotify instance that watches the files of many pools. The kernel limits instances per user, often to 128.
///
/// `FileWatches` is safe as `@unchecked Sendable`: only the dispatch source has mutable state, which Dispatch guards.
final class FileWatches: @unchecked Sendable {
  /// A watched file, and one of the closures that are called for the file.
  struct Token {
    fileprivate let file: Int32
    fileprivate let number: Int
  }

  private struct State {
    /// The closures by the kernel's number of the file. The kernel has one number for all watches of a file.
    var bodies: [Int32: [Int: @Sendable () -> Void]] = [:]
    var count = 0
  }

  let descriptor: Int32
  private let source: any DispatchSourceRead
  private let state = LockedValue(State())

  /// Creates an instance; nil if the kernel has none left. The closures are called on `queue`.
  init?(on queue: DispatchQueue) {
    let descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
    guard descriptor >= 0 else { return nil }
    self.descriptor = descriptor
    source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
    source.setEventHandler { [weak self] in self?.report() }
    source.setCancelHandler { close(descriptor) }
    source.resume()
  }

  deinit { source.cancel() }

  /// Calls `body` after writes to a file; nil if the kernel can't watch the file.
  func add(_ path: String, _ body: @escaping @Sendable () -> Void) -> Token? {
    // The lock keeps an event from being read before its closure is known.
    state.withLock { state in
      let file = inotify_add_watch(descriptor, path, UInt32(IN_MODIFY))
      guard file >= 0 else { return nil }
      state.count += 1
      state.bodies[file, default: [:]][state.count] = body
      return Token(file: file, number: state.count)
    }
  }

  func remove(_ token: Token) {
    state.withLock { state in
      state.bodies[token.file]?[token.number] = nil
      guard state.bodies[token.file]?.isEmpty == true else { return }
      state.bodies[token.file] = nil
      // Fails if the file was deleted, because the kernel has then removed the watch.
      _ = inotify_rm_watch(descriptor, token.file)
    }
  }

  private func report() {
    var files: Set<Int32> = []
    withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 8) { buffer in
      while true {
        let count = read(descriptor, buffer.baseAddress, buffer.count)
        guard count > 0 else { return }
        var offset = 0
        while offset + MemoryLayout<inotify_event>.size <= count {
          let event = buffer.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
          files.insert(event.wd)
          offset += MemoryLayout<inotify_event>.size + Int(event.len)
        }
      }
    }
    // The number -1 stands for events that the kernel has dropped.
    let bodies = state.withLock { state in
      files.contains(-1)
        ? state.bodies.values.flatMap(\.values) : files.flatMap { state.bodies[$0].map { Array($0.values) } ?? [] }
    }
    for body in bodies { body() }
  }
}
