import SqlableCore

/// The bytes of a b-tree's page that neither its cells nor its free blocks account for. An intact page has none, apart
/// from fragments, which its header counts.
struct PageCoverage {
  private let uncovered: Int
  private let usualSize: Int

  /// Nil if the free blocks of the page are damaged, or no cell of it is sound.
  init?(of bytes: [UInt8], _ cells: [TreePage.Cell?], start: Int, content: Int, usable: Int) {
    // SQLite gives each cell four bytes or more.
    var ranges = cells.compactMap { $0.map { $0.start..<max($0.end, $0.start + 4) } }
    guard !ranges.isEmpty else { return nil }
    usualSize = ranges.reduce(0) { $0 + $1.count } / ranges.count
    var block = bytes.short(start + 1) ?? 0
    while block != 0 {
      guard let next = bytes.short(block), let size = bytes.short(block + 2), size >= 4, block + size <= usable,
        next == 0 || next >= block + size
      else { return nil }
      ranges.append(block..<(block + size))
      block = next
    }
    ranges.sort { $0.lowerBound < $1.lowerBound }
    var (holes, end) = (0, min(content, ranges[0].lowerBound))
    for range in ranges + [usable..<usable] {
      // Nothing was ever written where all is zero.
      if range.lowerBound > end, !bytes.isZero(end..<range.lowerBound) { holes += range.lowerBound - end }
      end = max(end, range.upperBound)
    }
    // SQLite merges fragments before there are more.
    let fragments = Int(bytes.byte(start + 7) ?? 0)
    uncovered = max(holes - (fragments > 60 ? 0 : fragments), 0)
  }

  /// The number of cells that probably fill the bytes.
  var missingCells: Int { uncovered < 4 ? 0 : max((uncovered + usualSize / 2) / usualSize, 1) }
}
