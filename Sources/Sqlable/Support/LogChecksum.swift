/// The running checksum of a write-ahead log.
struct LogChecksum: Equatable {
  let isBigEndian: Bool
  var first: UInt32 = 0
  var second: UInt32 = 0

  /// Both halves.
  var value: UInt64 { UInt64(first) << 32 | UInt64(second) }

  /// - Parameter bytes: A multiple of eight of them.
  func adding(_ bytes: ArraySlice<UInt8>) -> LogChecksum {
    var sum = self
    bytes.withUnsafeBytes { bytes in
      for offset in stride(from: 0, to: bytes.count - 7, by: 8) {
        let (one, two) = (
          bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self),
          bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
        )
        sum.first &+= (isBigEndian ? UInt32(bigEndian: one) : UInt32(littleEndian: one)) &+ sum.second
        sum.second &+= (isBigEndian ? UInt32(bigEndian: two) : UInt32(littleEndian: two)) &+ sum.first
      }
    }
    return sum
  }
}
