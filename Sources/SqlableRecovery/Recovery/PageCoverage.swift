import SqlableCore

/// The bytes of a b-tree page that belong to no cell and no free block. An intact page has only as many such bytes as
/// the fragment count in its header.
struct PageCoverage {
  private let uncovered: Int
  private let usualSize: Int

  /// Nil if the free blocks of the page are damaged, or if no cell of the page is sound.
  init?(of bytes: [UInt8], _ cells: [TreePage.Cell?], start: Int, content: Int, usable: Int) {
    // SQLite uses at least four bytes for each cell.
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
      // A range of zeros never contained a cell.
      if range.lowerBound > end, !bytes.isZero(end..<range.lowerBound) { holes += range.lowerBound - end }
      end = max(end, range.upperBound)
    }
    // SQLite allows at most 60 bytes of fragments, so a larger number is damaged.
    let fragments = Int(bytes.byte(start + 7) ?? 0)
    uncovered = max(holes - (fragments > 60 ? 0 : fragments), 0)
  }

  /// The number of cells that probably occupied the uncovered bytes.
  var missingCells: Int { uncovered < 4 ? 0 : max((uncovered + usualSize / 2) / usualSize, 1) }
}
