import Foundation

/// A sliding window on a file: one buffer, so memory does not depend on the size of the file.
///
/// Calls `read(2)` directly, because reusing a buffer keeps memory constant, and because that works for pipes too.
struct FileWindow: ~Copyable {
  /// A record must fit in the window; only an unterminated quote, or a file that is not text, is longer.
  static let limit = 1 << 20

  private(set) var bytes: UnsafeMutablePointer<UInt8>
  private var capacity: Int
  private let descriptor: Int32

  /// The number of bytes in the buffer.
  private(set) var count = 0
  private(set) var isAtEnd = false
  /// The number of bytes read so far.
  private(set) var bytesRead = 0
  /// The size of the file; nil for a pipe.
  let fileSize: Int?

  init(path: String, capacity: Int = 1 << 18) throws(CSVError) {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw CSVError(line: 0, problem: .cannotRead(errno: errno)) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else {
      let code = errno
      close(descriptor)
      throw CSVError(line: 0, problem: .cannotRead(errno: code))
    }
    // open(2) accepts a directory, and only read(2) rejects it: report that before the import begins.
    guard status.st_mode & S_IFMT != S_IFDIR else {
      close(descriptor)
      throw CSVError(line: 0, problem: .isDirectory)
    }
    self.descriptor = descriptor
    self.capacity = min(max(capacity, 1), FileWindow.limit)
    bytes = .allocate(capacity: self.capacity)
    fileSize = status.st_mode & S_IFMT == S_IFREG ? Int(status.st_size) : nil
  }

  deinit {
    bytes.deallocate()
    close(descriptor)
  }

  /// Drops the bytes before `start`, which becomes offset 0, and appends more; false if the rest already fills the
  /// largest window.
  mutating func refill(keepingFrom start: Int) throws(CSVError) -> Bool {
    let kept = count - start
    if kept == capacity {
      guard capacity < FileWindow.limit else { return false }
      let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: min(capacity * 2, FileWindow.limit))
      larger.update(from: bytes + start, count: kept)
      bytes.deallocate()
      bytes = larger
      capacity = min(capacity * 2, FileWindow.limit)
    } else if start > 0 {
      memmove(bytes, bytes + start, kept)
    }
    count = kept
    let room = capacity - kept
    var found = read(descriptor, bytes + kept, room)
    while found < 0, errno == EINTR { found = read(descriptor, bytes + kept, room) }
    guard found >= 0 else { throw CSVError(line: 0, problem: .cannotRead(errno: errno)) }
    isAtEnd = found == 0
    count += found
    bytesRead += found
    return true
  }
}
