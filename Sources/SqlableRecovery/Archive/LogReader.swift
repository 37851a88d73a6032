import Glibc
import SqlableCore

/// Reads what others commit to a write-ahead log, from the file itself.
///
/// It may read beyond a position only while a read transaction keeps the log from being begun anew twice; see
/// ``ArchiveRun``. Closing its descriptor drops no locks: SQLite has none on the log.
///
/// Sound as `Sendable`: it is used by one thread at a time.
final class LogReader: @unchecked Sendable {
  private let descriptor: Int32
  let path: String

  /// How far a log was read.
  struct Position: Equatable {
    var salts: UInt64 = 0
    /// The number of frames that were read.
    var frames = 0
    var sum = LogChecksum(isBigEndian: false)
  }

  /// A transaction that is in the log.
  struct Commit {
    /// Where each page's content begins in the file.
    var pages: [UInt32: Int] = [:]
    /// The size of the database after it, in pages.
    var databasePages: UInt32 = 0
    var pageSize = 0
  }

  init(besideFileAt path: String) throws {
    self.path = path + "-wal"
    descriptor = open(self.path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw SqlError.system("open", self.path, errno) }
  }

  deinit { close(descriptor) }

  /// Calls `body` with every commit between a position and the end that the index tells, in their order, and moves the
  /// position behind it.
  func read(
    from position: inout Position, to last: (frames: Int, salts: UInt64), _ body: (Commit) throws -> Void
  ) throws {
    // A log that is just being begun anew has another header than its index says.
    guard let log = Header(bytes(at: 0, count: LogFormat.headerSize)), log.salts == last.salts else { return }
    var end = position
    // Begun anew: what the old one had was read before.
    if log.salts != position.salts { end = Position(salts: log.salts, frames: 0, sum: log.sum) }
    let frameSize = LogFormat.frameHeaderSize + log.pageSize
    var commit = Commit(pageSize: log.pageSize)
    // Several frames at a time: a system call for each would take longer than all else.
    var (chunk, begin) = ([UInt8](), end.frames)
    while end.frames < last.frames {
      let start = LogFormat.headerSize + end.frames * frameSize
      if (end.frames - begin + 1) * frameSize > chunk.count {
        let count = min(last.frames - end.frames, max(1, LogReader.chunkSize / frameSize))
        (chunk, begin) = (bytes(at: start, count: count * frameSize), end.frames)
      }
      guard let frame = Frame(chunk, (end.frames - begin) * frameSize, pageSize: log.pageSize, after: end.sum),
        frame.salts == log.salts
      else { return }
      (end.sum, end.frames) = (frame.sum, end.frames + 1)
      commit.pages[frame.page] = start + LogFormat.frameHeaderSize
      commit.databasePages = frame.databasePages
      guard commit.databasePages > 0 else { continue }
      try body(commit)
      position = end
      commit = Commit(pageSize: log.pageSize)
    }
  }

  /// Reads a page's content into memory that has its size.
  func readPage(at offset: Int, into memory: UnsafeMutableRawBufferPointer) throws {
    guard pread(descriptor, memory.baseAddress, memory.count, off_t(offset)) == memory.count else {
      throw SqlError.system("read", path, errno)
    }
  }

  /// The bytes from `offset` on; fewer than `count` at the end of the file.
  private func bytes(at offset: Int, count: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      let read = pread(descriptor, buffer.baseAddress, count, off_t(offset))
      initialized = max(0, read)
    }
  }

  /// How many bytes of frames are read at a time, about.
  private static let chunkSize = 256 << 10

  private struct Frame {
    let page: UInt32
    /// The size of the database in pages, if a transaction ends here; otherwise 0.
    let databasePages: UInt32
    let salts: UInt64
    /// The checksum up to its end.
    let sum: LogChecksum

    /// Nil for one that is not complete, or has another checksum.
    init?(_ bytes: [UInt8], _ offset: Int, pageSize: Int, after sum: LogChecksum) {
      let content = offset + LogFormat.frameHeaderSize
      guard content + pageSize <= bytes.count else { return nil }
      self.sum = sum.adding(bytes[offset..<offset + 8]).adding(bytes[content..<content + pageSize])
      guard bytes.bigEndian64(offset + 16) == self.sum.value else { return nil }
      (page, databasePages) = (bytes.bigEndian32(offset), bytes.bigEndian32(offset + 4))
      salts = bytes.bigEndian64(offset + 8)
    }
  }

  private struct Header {
    let pageSize: Int
    let salts: UInt64
    let sum: LogChecksum

    /// Nil for a header that is not complete, as while it is being written.
    init?(_ bytes: [UInt8]) {
      guard bytes.count == LogFormat.headerSize, bytes.bigEndian32(0) & ~1 == 0x377F_0682 else { return nil }
      pageSize = Int(bytes.bigEndian32(8))
      salts = bytes.bigEndian64(16)
      sum = LogChecksum(isBigEndian: bytes.bigEndian32(0) & 1 == 1).adding(bytes[..<24])
      guard sum.value == bytes.bigEndian64(24), pageSize.isPageSize else { return nil }
    }
  }
}

extension Int {
  /// Whether a database can have pages of this size.
  var isPageSize: Bool { (512...65_536).contains(self) && nonzeroBitCount == 1 }
}

extension [UInt8] {
  /// The number in four bytes, which must be there.
  fileprivate func bigEndian32(_ offset: Int) -> UInt32 {
    withUnsafeBytes { UInt32(bigEndian: $0.loadUnaligned(fromByteOffset: offset, as: UInt32.self)) }
  }

  fileprivate func bigEndian64(_ offset: Int) -> UInt64 {
    withUnsafeBytes { UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: offset, as: UInt64.self)) }
  }
}
