import Glibc
import SqlableBackup
import SqlableCore

/// A commit in a log file of an archive: a header, the pages, and a checksum of everything before the checksum.
///
/// Numbers are little-endian. The checksum continues from record to record, also across files, so that a missing part
/// between two records is detected.
struct ArchiveRecord: Equatable {
  static let magic: UInt64 = 0x3130_544D_434C_5153  // SQLCMT01
  static let headerSize = 40
  static let sumSize = 8

  /// The number of the commit, counted from the start of the archive.
  var number: Int
  /// The time of archiving, in microseconds since 1970, never earlier than the time of the generation's previous
  /// commit.
  var time: Int64
  var pageCount: Int
  /// The size of the database after the commit, in pages.
  var databasePages: Int
  var pageSize: Int

  var header: [UInt8] {
    [ArchiveRecord.magic, UInt64(number), UInt64(bitPattern: time)].flatMap(\.littleEndianBytes)
      + [UInt64(pageCount) | UInt64(databasePages) << 32, UInt64(pageSize)].flatMap(\.littleEndianBytes)
  }

  init?(header: [UInt8]) {
    guard header.count == ArchiveRecord.headerSize, header.littleEndian64(0) == ArchiveRecord.magic,
      let number = Int(exactly: header.littleEndian64(8)), number > 0
    else { return nil }
    let sizes = header.littleEndian64(24)
    self.number = number
    time = Int64(bitPattern: header.littleEndian64(16))
    (pageCount, databasePages) = (Int(sizes & 0xFFFF_FFFF), Int(sizes >> 32))
    guard let pageSize = Int(exactly: header.littleEndian64(32)), pageSize.isPageSize, pageCount > 0 else { return nil }
    self.pageSize = pageSize
  }

  init(number: Int, time: Int64, pageCount: Int, databasePages: Int, pageSize: Int) {
    (self.number, self.time, self.pageCount) = (number, time, pageCount)
    (self.databasePages, self.pageSize) = (databasePages, pageSize)
  }

  /// The size of a page's entry in bytes: eight bytes for the page's number, followed by the page.
  var pageEntrySize: Int { 8 + pageSize }

  var size: Int { ArchiveRecord.headerSize + pageCount * pageEntrySize + ArchiveRecord.sumSize }
}

extension UInt64 {
  var littleEndianBytes: [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: self >> ($0 * 8)) } }
}

extension [UInt8] {
  /// Returns the number in the eight bytes at `offset`. The bytes must exist.
  func littleEndian64(_ offset: Int) -> UInt64 {
    withUnsafeBytes { UInt64(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: UInt64.self)) }
  }
}

/// Returns the present time in microseconds since 1970.
func archiveTime() -> Int64 {
  var time = timespec()
  clock_gettime(CLOCK_REALTIME, &time)
  return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
}
