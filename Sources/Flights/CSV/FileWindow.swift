import Foundation

/// A part of a file that slides over it: one buffer, so the memory does not depend on the size of the file.
///
/// `read(2)` directly, because a buffer that is reused is what keeps the memory constant and because pipes work as
/// well as files.
struct FileWindow: ~Copyable {
  /// A record has to fit the window; only a quote that never ends, or a file that is no text, is longer than this.
  static let limit = 1 << 20

  private(set) var bytes: UnsafeMutablePointer<UInt8>
  private var capacity: Int
  private let descriptor: Int32

  /// How many bytes of the buffer are filled.
  private(set) var count = 0
  private(set) var isAtEnd = false
  /// How many bytes were read so far, and how many there are; a pipe does not know.
  private(set) var bytesRead = 0
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
    // open(2) accepts a directory and only read(2) refuses it: say so before anything is done for the import.
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

  /// Drops what is before `start`, which becomes offset 0, and reads more behind the rest; false when the rest already
  /// fills the largest window.
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
