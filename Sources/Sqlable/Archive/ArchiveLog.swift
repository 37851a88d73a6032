import Glibc

/// The log file of an archive to which commits are appended.
///
/// Sound as `Sendable`: it is used by one thread at a time.
final class ArchiveLog: @unchecked Sendable {
  private let descriptor: Int32
  let path: String
  /// The end of the last record that was written whole.
  private(set) var size = 0
  /// The checksum of all records so far.
  private(set) var sum: LogChecksum

  static let magic: UInt64 = 0x3130_474F_4C51_4C53  // SLQLOG01
  static let headerSize = 32

  static func name(from number: Int) -> String { "log-\(number.padded)" }

  /// Makes the file whose first commit has a number; it goes on from the checksum of the one before it.
  init(in directory: String, from number: Int, after sum: LogChecksum) throws {
    path = directory + "/" + ArchiveLog.name(from: number)
    self.sum = sum
    // What is there already was begun, and never had a record.
    descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw SqlError.system("create", path, errno) }
    let header = [ArchiveLog.magic, UInt64(number), sum.value].flatMap(\.littleEndianBytes)
    let check = LogChecksum(isBigEndian: false).adding(header[...]).value.littleEndianBytes
    try write(header + check)
    try sync()
    try syncDirectory(directory)
  }

  deinit { close(descriptor) }

  /// Appends a commit, whose pages are in a write-ahead log. What fails leaves nothing of it.
  func append(_ commit: LogReader.Commit, _ record: ArchiveRecord, from log: LogReader) throws {
    let start = size
    do {
      let header = record.header
      var sum = self.sum.adding(header[...])
      try write(header)
      for (number, offset) in commit.pages.sorted(by: { $0.key < $1.key }) {
        let entry = try UInt64(number).littleEndianBytes + log.page(at: offset, size: commit.pageSize)
        sum = sum.adding(entry[...])
        try write(entry)
      }
      try write(sum.value.littleEndianBytes)
      self.sum = sum
    } catch {
      // A part that stayed would be taken for a damaged record once another begins before its end.
      ftruncate(descriptor, off_t(start))
      size = start
      throw error
    }
  }

  /// Makes all records survive a power failure.
  func sync() throws { guard fdatasync(descriptor) == 0 else { throw SqlError.system("sync", path, errno) } }

  private func write(_ bytes: [UInt8]) throws {
    try bytes.withUnsafeBytes { try writeAll($0, to: descriptor, at: size, path) }
    size += bytes.count
  }
}
