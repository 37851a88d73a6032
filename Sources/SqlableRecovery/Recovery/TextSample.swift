import SqlableCore

/// Texts from some pages of a file. The texts show the text encoding of the file.
struct TextSample {
  private var all = 0
  /// The number of texts with an odd number of bytes, which is impossible in UTF-16.
  private var odd = 0
  /// The number of texts in which most bytes at every second offset are 0, as in UTF-16 for Latin letters.
  private var littleEndian = 0
  private var bigEndian = 0

  init(of file: RawFile, _ geometry: PageGeometry) {
    let pages = file.size / geometry.pageSize
    for number in stride(from: 1, to: pages + 1, by: max(pages / 100, 1)) {
      let bytes = file.bytes(at: (number - 1) * geometry.pageSize, count: geometry.pageSize)
      guard let number = UInt32(exactly: number),
        let page = TreePage(bytes, number: number, usable: geometry.usable), page.kind == .leafTable
      else { continue }
      for case let cell? in page.cells where cell.overflow == 0 {
        guard let record = StoredRecord(Array(bytes[cell.local]), length: cell.length) else { continue }
        for field in record.fields where field.storage == .text && field.end - field.start > 3 {
          add(record.payload[field.start..<field.end])
        }
      }
    }
  }

  private mutating func add(_ text: ArraySlice<UInt8>) {
    all += 1
    guard text.count.isMultiple(of: 2) else {
      odd += 1
      return
    }
    let high = stride(from: text.startIndex, to: text.endIndex, by: 2).count { text[$0] == 0 }
    let low = stride(from: text.startIndex + 1, to: text.endIndex, by: 2).count { text[$0] == 0 }
    if low > high, low * 4 > text.count { littleEndian += 1 }
    if high > low, high * 4 > text.count { bigEndian += 1 }
  }

  /// Returns the header's encoding, unless most texts contradict it. Nil if neither the header nor the texts show an
  /// encoding.
  func encoding(claimed: TextEncoding?) -> TextEncoding? {
    if all == 0 { return claimed }
    if odd * 5 > all { return .utf8 }
    if littleEndian * 5 > all * 4 { return .utf16LittleEndian }
    if bigEndian * 5 > all * 4 { return .utf16BigEndian }
    return claimed ?? (littleEndian > bigEndian ? .utf16LittleEndian : bigEndian > 0 ? .utf16BigEndian : .utf8)
  }
}
