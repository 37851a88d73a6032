import SqlableCore

/// A page that starts like a b-tree page. The rest of the page might be damaged.
struct TreePage {
  enum Kind: UInt8 {
    case interiorIndex = 2
    case interiorTable = 5
    case leafIndex = 10
    case leafTable = 13

    var isLeaf: Bool { self == .leafIndex || self == .leafTable }
    var isTable: Bool { self != .interiorIndex && self != .leafIndex }
  }

  /// A cell whose parts are all inside the page.
  struct Cell {
    /// The child page to the left of the cell's key, in an interior page; 0 in a leaf.
    var child: UInt32 = 0
    var rowid: Int64 = 0
    /// The length of the row or key, in bytes; 0 in an interior page of a table.
    var length = 0
    /// The range of those bytes of the row or key that are on this page.
    var local: Range<Int> = 0..<0
    /// The first overflow page; 0 if there is no overflow page.
    var overflow: UInt32 = 0
    /// The offset of the cell's first byte, and the offset after the cell's last byte.
    var start = 0
    var end = 0
  }

  let number: UInt32
  let kind: Kind
  let bytes: [UInt8]
  /// The cells in the order of their keys; nil for a damaged cell.
  let cells: [Cell?]
  /// The child page to the right of all keys; 0 in a leaf.
  let rightmost: UInt32
  /// The number of cells that are missing from `cells`, estimated from the bytes that belong to no listed cell.
  let missingCells: Int

  /// Nil if the page is not a b-tree page.
  ///
  /// - Parameters:
  ///   - usable: The size of the page without its reserved bytes.
  ///   - readable: The number of bytes of the page that the file contains. A cell that ends later is damaged.
  init?(_ bytes: [UInt8], number: UInt32, usable: Int, readable: Int = .max) {
    let start = number == 1 ? 100 : 0
    guard usable <= bytes.count, let kind = bytes.byte(start).flatMap(Kind.init), let count = bytes.short(start + 3),
      let content = bytes.short(start + 5), let rightmost = bytes.word(start + 8)
    else { return nil }
    let pointers = start + (kind.isLeaf ? 8 : 12)
    guard pointers <= readable else { return nil }
    // The cell content can only start after the pointers. A stored 0 means 65,536.
    let contentStart = content == 0 ? 65_536 : content
    let room = contentStart >= pointers && contentStart <= usable ? contentStart : usable
    let fitting = min(count, (room - pointers) / 2)
    var cells: [Cell?] = (0..<fitting).map { index in
      guard let offset = bytes.short(pointers + 2 * index), offset >= pointers + 2 * fitting else { return nil }
      return Cell(bytes, at: offset, kind, before: min(usable, readable), usable: usable)
    }
    if kind.isTable { TreePage.dropUnordered(&cells) }
    var missing = cells.count { $0 == nil }
    if readable >= usable, let coverage = PageCoverage(of: bytes, cells, start: start, content: room, usable: usable) {
      // If the page's cell count is too high, some of the damaged cells never existed. Keep only as many of them as fit
      // into the bytes that belong to no intact cell.
      var damaged = 0
      cells.removeAll { cell in
        if cell == nil { damaged += 1 }
        return cell == nil && damaged > coverage.missingCells
      }
      missing = coverage.missingCells
    }
    missingCells = missing - cells.count { $0 == nil }
    (self.number, self.kind, self.bytes, self.cells) = (number, kind, bytes, cells)
    self.rightmost = kind.isLeaf ? 0 : rightmost
  }

  var cellBytes: Int { cells.reduce(0) { $0 + ($1.map { $0.end - $0.start + 2 } ?? 0) } }

  var isSound: Bool { !cells.isEmpty && cells.count(where: { $0 == nil }) * 2 < cells.count }

  /// Sets as few cells as possible to nil, so that the remaining rowids are in order.
  private static func dropUnordered(_ cells: inout [Cell?]) {
    let sound = cells.indices.filter { cells[$0] != nil }
    let rowids = sound.map { cells[$0]?.rowid ?? 0 }
    guard zip(rowids, rowids.dropFirst()).contains(where: { $0 >= $1 }) else { return }
    // Finds the longest ascending sequence of rowids. `ends[n]` is the index of the lowest rowid at which a sequence of
    // `n + 1` rowids can end.
    var ends: [Int] = []
    var before: [Int?] = []
    for index in rowids.indices {
      var (low, high) = (0, ends.count)
      while low < high {
        let middle = (low + high) / 2
        if rowids[ends[middle]] < rowids[index] { low = middle + 1 } else { high = middle }
      }
      before.append(low > 0 ? ends[low - 1] : nil)
      if low == ends.count { ends.append(index) } else { ends[low] = index }
    }
    var keptCells: Set<Int> = []
    var next = ends.last
    while let index = next {
      keptCells.insert(sound[index])
      next = before[index]
    }
    for index in sound where !keptCells.contains(index) { cells[index] = nil }
  }
}

extension TreePage.Cell {
  /// Nil if a part of the cell is outside the page.
  ///
  /// - Parameters:
  ///   - end: The offset after the readable bytes of the page.
  ///   - usable: The size of the page without its reserved bytes.
  init?(_ bytes: [UInt8], at start: Int, _ kind: TreePage.Kind, before end: Int, usable: Int) {
    self.start = start
    var offset = start
    if !kind.isLeaf {
      guard let child = bytes.word(offset) else { return nil }
      self.child = child
      offset += 4
    }
    if kind != .interiorTable {
      guard let length = bytes.variable(offset, before: end), length.value <= UInt64(Int32.max) else { return nil }
      self.length = Int(length.value)
      offset = length.end
    }
    if kind.isTable {
      guard let rowid = bytes.variable(offset, before: end) else { return nil }
      self.rowid = Int64(bitPattern: rowid.value)
      offset = rowid.end
    }
    if kind != .interiorTable {
      let size = TreePage.Cell.localSize(length, kind, usable: usable)
      local = offset..<(offset + size)
      offset += size
      if size < length {
        guard let overflow = bytes.word(offset) else { return nil }
        self.overflow = overflow
        offset += 4
      }
    }
    guard offset <= end else { return nil }
    self.end = offset
  }

  /// Returns the number of bytes of a payload that are stored on the page itself.
  static func localSize(_ length: Int, _ kind: TreePage.Kind, usable: Int) -> Int {
    let least = (usable - 12) * 32 / 255 - 23
    let most = kind.isTable ? usable - 35 : (usable - 12) * 64 / 255 - 23
    guard length > most else { return length }
    let size = least + (length - least) % (usable - 4)
    return size <= most ? size : least
  }
}
