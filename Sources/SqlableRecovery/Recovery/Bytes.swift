// Integers in SQLite's file format. Each read returns nil beyond the end of the array, because the file might be
// damaged.

import SqlableCore

extension [UInt8] {
  func byte(_ offset: Int) -> UInt8? { offset >= 0 && offset < count ? self[offset] : nil }

  func short(_ offset: Int) -> Int? {
    guard offset >= 0, offset < count - 1 else { return nil }
    return Int(self[offset]) << 8 | Int(self[offset + 1])
  }

  func word(_ offset: Int) -> UInt32? {
    guard offset >= 0, offset < count - 3 else { return nil }
    return UInt32(self[offset]) << 24 | UInt32(self[offset + 1]) << 16 | UInt32(self[offset + 2]) << 8
      | UInt32(self[offset + 3])
  }

  /// Returns the variable-length integer of one to nine bytes at an offset, and the offset after the integer.
  func variable(_ offset: Int, before end: Int) -> (value: UInt64, end: Int)? {
    var value: UInt64 = 0
    for index in 0..<9 {
      guard let byte = byte(offset + index), offset + index < end else { return nil }
      if index == 8 { return (value << 8 | UInt64(byte), offset + 9) }
      value = value << 7 | UInt64(byte & 0x7F)
      if byte & 0x80 == 0 { return (value, offset + index + 1) }
    }
    return nil
  }

  /// True if all bytes of a range are zero. The range is clamped to the array.
  func isZero(_ range: Range<Int>) -> Bool { self[range.clamped(to: indices)].allSatisfy { $0 == 0 } }
}
