import Glibc
import SqlableBackup
import SqlableCore

/// A writer that appends commits to an archive's log file.
///
/// Safe as `@unchecked Sendable`: only one thread at a time uses the writer.
final class ArchiveFileWriter: @unchecked Sendable {
  private let descriptor: Int32
  let path: String
  /// The number of bytes that were written to the file so far.
  private(set) var size = 0
  /// The checksum of all records so far.
  private(set) var sum: WALChecksum
  /// The unwritten part of a record, in the first `used` bytes of the buffer.
  private var buffer = [UInt8](repeating: 0, count: ArchiveFileWriter.bufferSize)
  private var used = 0
  /// The checksum of all bytes before those in `buffer`.
  private var bufferSum: WALChecksum
  private static let bufferSize = 256 << 10

  static let magic: UInt64 = 0x3130_474F_4C51_4C53  // SLQLOG01
  static let headerSize = 32

  static func name(from number: Int) -> String { "log-\(number.padded)" }

  /// Creates the file for commits from `number` on. The checksum continues from the previous file.
  init(in directory: String, from number: Int, after sum: WALChecksum) throws {
    path = directory + "/" + ArchiveFileWriter.name(from: number)
    (self.sum, bufferSum) = (sum, sum)
    // An existing file at this path contains no record, because its creation was interrupted.
    descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw SqlError.system("create", path, errno) }
    let header = [ArchiveFileWriter.magic, UInt64(number), sum.value].flatMap(\.littleEndianBytes)
    let check = WALChecksum(isBigEndian: false).adding(header[...]).value.littleEndianBytes
    add(header + check)
    try write()
    try sync()
    try syncDirectory(directory)
  }

  deinit { close(descriptor) }

  var isIntact: Bool { FileIdentity.isFile(descriptor, at: path) }

  /// Appends a commit. Reads the commit's pages from the WAL. After an error, the file contains no part of the commit.
  func append(_ commit: WALReader.Commit, _ record: ArchiveRecord, from log: WALReader) throws {
    let start = size
    (used, bufferSum) = (0, sum)
    do {
      add(record.header)
      for (number, offset) in commit.pages.sorted(by: { $0.key < $1.key }) {
        if used + record.pageEntrySize > buffer.count { try flush() }
        add(UInt64(number).littleEndianBytes)
        try buffer.withUnsafeMutableBytes { buffer in
          let page = UnsafeMutableRawBufferPointer(rebasing: buffer[used..<used + commit.pageSize])
          try log.readPage(at: offset, into: page)
        }
        used += commit.pageSize
      }
      if used + ArchiveRecord.sumSize > buffer.count { try flush() }
      let end = bufferSum.adding(buffer[..<used])
      add(end.value.littleEndianBytes)
      try write()
      sum = end
    } catch {
      // Remove a partial record. With another record after it, the partial record would be reported as damage.
      ftruncate(descriptor, off_t(start))
      size = start
      throw error
    }
  }

  /// Syncs the file, so that all records survive a power failure.
  func sync() throws { guard fdatasync(descriptor) == 0 else { throw SqlError.system("sync", path, errno) } }

  /// Adds a few bytes to the buffer. The buffer must have enough free space.
  private func add(_ bytes: [UInt8]) {
    buffer.replaceSubrange(used..<used + bytes.count, with: bytes)
    used += bytes.count
  }

  private func flush() throws {
    bufferSum = bufferSum.adding(buffer[..<used])
    try write()
  }

  private func write() throws {
    try buffer[..<used].withUnsafeBytes { try writeAll($0, to: descriptor, at: size, path) }
    (size, used) = (size + used, 0)
  }
}
