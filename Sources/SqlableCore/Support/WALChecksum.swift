/// The sizes of the WAL's header and of each frame's header, in bytes. A page follows each frame's header.
package enum WALFormat {
  package static let headerSize = 32
  package static let frameHeaderSize = 24
}

package struct WALChecksum: Equatable {
  let isBigEndian: Bool
  package var first: UInt32 = 0
  package var second: UInt32 = 0

  package init(isBigEndian: Bool, first: UInt32 = 0, second: UInt32 = 0) {
    (self.isBigEndian, self.first, self.second) = (isBigEndian, first, second)
  }

  package var value: UInt64 { UInt64(first) << 32 | UInt64(second) }

  /// - Parameter bytes: The bytes, whose number is a multiple of eight.
  package func adding(_ bytes: ArraySlice<UInt8>) -> WALChecksum { bytes.withUnsafeBytes(adding) }

  func adding(_ bytes: UnsafeRawBufferPointer) -> WALChecksum {
    guard let start = bytes.baseAddress else { return self }
    var (s1, s2, offset) = (first, second, 0)
    while offset + 8 <= bytes.count {
      let words = start.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      // Puts the first word into the lower half, in the WAL's byte order.
      let ordered = isBigEndian ? words.bigEndian >> 32 | words.bigEndian << 32 : words.littleEndian
      s1 &+= UInt32(truncatingIfNeeded: ordered) &+ s2
      s2 &+= UInt32(truncatingIfNeeded: ordered >> 32) &+ s1
      offset += 8
    }
    return WALChecksum(isBigEndian: isBigEndian, first: s1, second: s2)
  }
}
