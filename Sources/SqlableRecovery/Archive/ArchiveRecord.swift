import Glibc
import SqlableCore

/// A commit in a log file of an archive: its header, then its pages, then the checksum of all before it.
///
/// Numbers are little-endian. The checksum goes on from record to record, also over the borders of files, so that
/// nothing between two records can be missing unnoticed.
struct ArchiveRecord: Equatable {
  static let magic: UInt64 = 0x3130_544D_434C_5153  // SQLCMT01
  static let headerSize = 40
  static let sumSize = 8

  /// Counts the commits of the archive.
  var number: Int
  /// When it was archived, in microseconds since 1970; never before the one before it.
  var time: Int64
  var pageCount: Int
  /// The size of the database after it, in pages.
  var databasePages: Int
  var pageSize: Int

  var header: [UInt8] {
    [ArchiveRecord.magic, UInt64(number), UInt64(bitPattern: time)].flatMap(\.littleEndianBytes)
      + [UInt64(pageCount) | UInt64(databasePages) << 32, UInt64(pageSize)].flatMap(\.littleEndianBytes)
  }

  /// Nil for bytes that are no header.
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

  /// A page is behind its number in eight bytes.
  var pageEntrySize: Int { 8 + pageSize }

  var size: Int { ArchiveRecord.headerSize + pageCount * pageEntrySize + ArchiveRecord.sumSize }
}

extension UInt64 {
  var littleEndianBytes: [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: self >> ($0 * 8)) } }
}

extension [UInt8] {
  /// The number in eight bytes, which must be there.
  func littleEndian64(_ offset: Int) -> UInt64 {
    withUnsafeBytes { UInt64(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: UInt64.self)) }
  }
}

/// The present time as records have it.
func archiveTime() -> Int64 {
  var time = timespec()
  clock_gettime(CLOCK_REALTIME, &time)
  return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
}
