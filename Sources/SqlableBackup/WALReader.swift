import Glibc
import SqlableCore

/// A reader of a WAL file, which returns the transactions that other connections commit.
///
/// Reading after a position is safe only while a read transaction prevents a second reset of the WAL; see ``WALHold``.
/// When a descriptor is closed, POSIX releases all locks of the process on the file. Here this is harmless, because
/// SQLite never locks the WAL file.
///
/// Safe as `@unchecked Sendable`: only one thread at a time uses the reader.
package final class WALReader: @unchecked Sendable {
  private let descriptor: Int32
  package let path: String

  /// The position in a WAL after the last transaction that was read.
  package struct Position: Equatable {
    package var salts: UInt64 = 0
    package var frames = 0
    var sum = WALChecksum(isBigEndian: false)

    package init() {}
  }

  /// A committed transaction in the WAL.
  package struct Commit {
    /// The offset of each page's content in the WAL file, in bytes, keyed by page number.
    package var pages: [UInt32: Int] = [:]
    /// The size of the database after the transaction, in pages.
    package var databasePages: UInt32 = 0
    package var pageSize = 0
  }

  package init(besideFileAt path: String) throws {
    self.path = path + "-wal"
    descriptor = open(self.path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw SqlError.system("open", self.path, errno, isRead: true) }
  }

  deinit { close(descriptor) }

  /// Calls `body` with every commit from `position` to `last`, the end of the WAL according to the WAL index. Moves
  /// `position` past each commit.
  package func read(
    from position: inout Position, to last: (frames: Int, salts: UInt64), _ body: (Commit) throws -> Void
  ) throws {
    // During a reset of the WAL, the salts in the header and in the WAL index can differ. In this case, nothing is
    // read.
    guard let log = Header(bytes(at: 0, count: WALFormat.headerSize)), log.salts == last.salts else { return }
    var end = position
    // The WAL was reset after its old transactions were read.
    if log.salts != position.salts {
      end = Position()
      (end.salts, end.sum) = (log.salts, log.sum)
    }
    let frameSize = WALFormat.frameHeaderSize + log.pageSize
    var commit = Commit(pageSize: log.pageSize)
    // Several frames are read at a time, because a system call per frame would take longer than all other work.
    var (chunk, begin) = ([UInt8](), end.frames)
    while end.frames < last.frames {
      let start = WALFormat.headerSize + end.frames * frameSize
      if (end.frames - begin + 1) * frameSize > chunk.count {
        let count = min(last.frames - end.frames, max(1, WALReader.chunkSize / frameSize))
        (chunk, begin) = (bytes(at: start, count: count * frameSize), end.frames)
      }
      guard let frame = Frame(chunk, (end.frames - begin) * frameSize, pageSize: log.pageSize, after: end.sum),
        frame.salts == log.salts
      else { return }
      (end.sum, end.frames) = (frame.sum, end.frames + 1)
      commit.pages[frame.page] = start + WALFormat.frameHeaderSize
      commit.databasePages = frame.databasePages
      guard commit.databasePages > 0 else { continue }
      try body(commit)
      position = end
      commit = Commit(pageSize: log.pageSize)
    }
  }

  package func readPage(at offset: Int, into memory: UnsafeMutableRawBufferPointer) throws {
    guard pread(descriptor, memory.baseAddress, memory.count, off_t(offset)) == memory.count else {
      throw SqlError.system("read", path, errno)
    }
  }

  /// Returns up to `count` bytes from `offset` on; fewer bytes at the end of the file.
  private func bytes(at offset: Int, count: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      let read = pread(descriptor, buffer.baseAddress, count, off_t(offset))
      initialized = max(0, read)
    }
  }

  /// The approximate number of bytes per system call.
  private static let chunkSize = 256 << 10

  private struct Frame {
    let page: UInt32
    /// The size of the database in pages if the frame ends a transaction; otherwise 0.
    let databasePages: UInt32
    let salts: UInt64
    /// The checksum up to the end of the frame.
    let sum: WALChecksum

    /// Parses a frame; nil if the frame is incomplete or has a wrong checksum.
    init?(_ bytes: [UInt8], _ offset: Int, pageSize: Int, after sum: WALChecksum) {
      let content = offset + WALFormat.frameHeaderSize
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
    let sum: WALChecksum

    /// Parses a header; nil if the header is incomplete, for example while it is being written.
    init?(_ bytes: [UInt8]) {
      guard bytes.count == WALFormat.headerSize, bytes.bigEndian32(0) & ~1 == 0x377F_0682 else { return nil }
      pageSize = Int(bytes.bigEndian32(8))
      salts = bytes.bigEndian64(16)
      sum = WALChecksum(isBigEndian: bytes.bigEndian32(0) & 1 == 1).adding(bytes[..<24])
      guard sum.value == bytes.bigEndian64(24), pageSize.isPageSize else { return nil }
    }
  }
}

extension Int {
  /// True if SQLite supports pages of this size.
  package var isPageSize: Bool { (512...65_536).contains(self) && nonzeroBitCount == 1 }
}

extension [UInt8] {
  /// Returns the number in the four bytes at `offset`, which must exist.
  fileprivate func bigEndian32(_ offset: Int) -> UInt32 {
    withUnsafeBytes { UInt32(bigEndian: $0.loadUnaligned(fromByteOffset: offset, as: UInt32.self)) }
  }

  fileprivate func bigEndian64(_ offset: Int) -> UInt64 {
    withUnsafeBytes { UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: offset, as: UInt64.self)) }
  }
}
