/// The running checksum of a write-ahead log.
struct LogChecksum: Equatable {
  let isBigEndian: Bool
  var first: UInt32 = 0
  var second: UInt32 = 0

  /// Both halves.
  var value: UInt64 { UInt64(first) << 32 | UInt64(second) }

  /// - Parameter bytes: A multiple of eight of them.
  func adding(_ bytes: ArraySlice<UInt8>) -> LogChecksum { bytes.withUnsafeBytes(adding) }

  /// - Parameter bytes: A multiple of eight of them.
  func adding(_ bytes: UnsafeRawBufferPointer) -> LogChecksum {
    var sum = self
    for offset in stride(from: 0, to: bytes.count - 7, by: 8) {
      let words = bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      let (one, two) =
        isBigEndian
        ? (UInt32(truncatingIfNeeded: words.bigEndian >> 32), UInt32(truncatingIfNeeded: words.bigEndian))
        : (UInt32(truncatingIfNeeded: words.littleEndian), UInt32(truncatingIfNeeded: words.littleEndian >> 32))
      sum.first &+= one &+ sum.second
      sum.second &+= two &+ sum.first
    }
    return sum
  }
}
