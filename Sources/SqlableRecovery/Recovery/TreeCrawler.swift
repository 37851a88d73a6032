import SqlableCore

/// A reader of a damaged file's b-trees, which reads page by page and marks the pages that it has read.
///
/// Each page belongs to only one b-tree, and is read only once. A cycle of pointers therefore ends, and a pointer to a
/// page of another b-tree is treated as damaged.
final class TreeCrawler {
  let file: DamagedFile
  var marks: PageMarks
  /// The root of the b-tree that contains a page, for each page with a twin.
  private(set) var owners: [UInt32: UInt32] = [:]
  private let twins: PageTwins?
  var progress: ((SalvageProgress) -> Void)?

  init(_ file: DamagedFile, ownersOf twins: PageTwins? = nil) {
    (self.file, self.twins) = (file, twins)
    marks = PageMarks(of: file)
  }

  func check(_ root: UInt32, _ shape: TableShape?, isIndex: Bool) throws -> TreeStatistics {
    var tally = TreeStatistics()
    if isIndex || shape?.isWithoutRowid == true {
      try crawlIndex(root, shape, &tally) { _ in }
    } else {
      try crawl(root, shape, &tally) { _ in }
    }
    return tally
  }

  private func reportProgress() { progress?(.pages(marks.knownCount, of: Int(file.fileCount))) }

  struct TreeRow {
    let page: UInt32
    let rowid: Int64
    /// The record; nil if the record's header is damaged.
    let record: StoredRecord?
    /// True if the row is complete and matches its table.
    let isSound: Bool
  }

  /// A page to read, and the rowids that can be on or below the page.
  private struct Step {
    let number: UInt32
    let rowids: ClosedRange<Int64>
    /// The rowids that can be below the parent page.
    let outer: ClosedRange<Int64>
    let depth: Int
  }

  static let allRowids = Int64.min...Int64.max

  // MARK: Tables

  /// Reads the rows below a page of a table's b-tree in rowid order.
  ///
  /// - Parameter isOrphan: True if no intact page points to the page.
  func crawl(
    _ root: UInt32, _ shape: TableShape?, in rowids: ClosedRange<Int64> = allRowids, depth: Int = 0,
    isOrphan: Bool = false, _ tally: inout TreeStatistics, _ body: (TreeRow) throws -> Void
  ) throws {
    var steps = [Step(number: root, rowids: rowids, outer: rowids, depth: depth)]
    while let step = steps.popLast() {
      reportProgress()
      let isRoot = step.number == root
      let mark = marks[step.number]
      // If the missing page is above the leaves, the pages below it might still exist.
      let mayHaveOrphans = isRoot || tally.leafDepth.map { step.depth < $0 } ?? true
      guard step.depth < 64, marks.claim(step.number, as: .tree) else {
        if file.isCut(step.number) {
          tally.miss(step.rowids, depth: step.depth, .cut, number: step.number, mayHaveOrphans: mayHaveOrphans)
        } else {
          tally.miss(step.outer, depth: step.depth)
        }
        continue
      }
      guard let page = file.tree(step.number) else {
        tally.addBadPage(step.number, isReadable: false)
        tally.miss(step.rowids, depth: step.depth, .unreadable, number: step.number, mayHaveOrphans: mayHaveOrphans)
        continue
      }
      guard fits(page, step, shape, isRoot: isRoot) else {
        marks.release(step.number, to: mark)
        tally.addBadPage(step.number, isReadable: true)
        tally.miss(step.outer, depth: step.depth)
        continue
      }
      if twins?[step.number] != nil { owners[step.number] = root }
      if page.kind.isLeaf {
        try visit(page, step, shape, isOrphan: isOrphan, &tally, body)
      } else {
        steps += children(of: page, step, &tally).reversed()
      }
    }
  }

  private func fits(_ page: TreePage, _ step: Step, _ shape: TableShape?, isRoot: Bool) -> Bool {
    guard page.kind.isTable else { return false }
    // The first page has less space than the others. If the schema fits on another page but not on the first page, the
    // first page is an interior page without cells.
    if page.cells.isEmpty { return isRoot && (page.isEmptyLeaf || page.number == 1 && !page.kind.isLeaf) }
    let sound = page.cells.compactMap { $0 }
    guard sound.count(where: { step.rowids.contains($0.rowid) }) * 2 > sound.count else { return false }
    guard page.kind.isLeaf, let shape else { return true }
    return fits(sound.prefix(50).compactMap { sample($0, page) }, page, shape, isRoot: isRoot)
  }

  /// Returns whether a page belongs to a table, judging by the first records of the page. If a page of random bytes
  /// were used as the root, the salvage would miss all other pages of the table. So a root without a readable record
  /// is accepted only if no cell of the page is missing or damaged.
  private func fits(_ records: [StoredRecord], _ page: TreePage, _ shape: TableShape, isRoot: Bool) -> Bool {
    if records.isEmpty { return !isRoot || page.missingCells == 0 && page.cells.allSatisfy { $0 != nil } }
    return records.count(where: { shape.contradicts($0) }) * 2 < records.count
  }

  func sample(_ cell: TreePage.Cell, _ page: TreePage) -> StoredRecord? {
    StoredRecord(Array(page.bytes[cell.local]), length: cell.length)
  }

  private func children(of page: TreePage, _ step: Step, _ tally: inout TreeStatistics) -> [Step] {
    tally.addInterior(cells: page.cells.count)
    var children: [Step] = []
    var first = step.rowids.lowerBound
    var damaged = 0
    func missDamaged(_ rowids: ClosedRange<Int64>) {
      for _ in 0..<damaged { tally.miss(rowids, depth: step.depth + 1) }
      damaged = 0
    }
    for cell in page.cells {
      guard let cell, let rowids = ClosedRange.between(first, cell.rowid), step.rowids.contains(cell.rowid) else {
        damaged += 1
        continue
      }
      missDamaged(rowids)
      children.append(Step(number: cell.child, rowids: rowids, outer: step.rowids, depth: step.depth + 1))
      guard cell.rowid < step.rowids.upperBound else { break }
      first = cell.rowid + 1
    }
    let rest = first...step.rowids.upperBound
    missDamaged(rest)
    damaged = page.missingCells
    missDamaged(step.rowids)
    if page.cells.last??.rowid != step.rowids.upperBound || children.isEmpty {
      children.append(Step(number: page.rightmost, rowids: rest, outer: step.rowids, depth: step.depth + 1))
    }
    return children
  }

  private func visit(
    _ page: TreePage, _ step: Step, _ shape: TableShape?, isOrphan: Bool, _ tally: inout TreeStatistics,
    _ body: (TreeRow) throws -> Void
  ) throws {
    var first = step.rowids.lowerBound
    var (damaged, sound) = (0, 0)
    var range: ClosedRange<Int64>?
    for cell in page.cells {
      guard let cell, step.rowids.contains(cell.rowid), cell.rowid >= first else {
        damaged += 1
        continue
      }
      if damaged > 0 { tally.lose(damaged, in: first...cell.rowid) }
      damaged = 0
      range = (range?.lowerBound ?? cell.rowid)...cell.rowid
      let row = treeRow(cell, page, shape)
      tally.addOverflow(overflowPages(of: cell))
      if row.isSound { sound += 1 } else { tally.lose(1, in: cell.rowid...cell.rowid) }
      if row.isSound, !isOrphan, let record = row.record { tally.addFields(record.count) }
      try body(row)
      if cell.rowid == .max { break }
      first = cell.rowid + 1
    }
    if damaged > 0 { tally.lose(damaged, in: min(first, step.rowids.upperBound)...step.rowids.upperBound) }
    if page.missingCells > 0 { tally.lose(page.missingCells, in: step.rowids) }
    tally.addLeaf(cells: sound, bytes: page.cellBytes, rowids: range, depth: step.depth, isOrphan: isOrphan)
  }

  private func treeRow(_ cell: TreePage.Cell, _ page: TreePage, _ shape: TableShape?) -> TreeRow {
    let (payload, isComplete) = payload(of: cell, page)
    let record = StoredRecord(payload, length: cell.length)
    let isSound = isComplete && record.map { shape?.contradicts($0) != true } == true
    return TreeRow(page: page.number, rowid: cell.rowid, record: record, isSound: isSound)
  }

  // MARK: Indexes

  /// Counts the keys below a page of an index's b-tree. Returns the first keys of the root page.
  func countKeys(_ root: UInt32, _ tally: inout TreeStatistics) throws -> [StoredRecord] {
    try crawlIndex(root, nil, readsRows: false, &tally) { _ in }
    guard let page = file.tree(root) else { return [] }
    return page.cells.prefix(50).compactMap { $0.flatMap { sample($0, page) } }
  }

  /// Reads the rows of a WITHOUT ROWID table below a page of its b-tree, in no particular order.
  func crawlIndex(
    _ root: UInt32, _ shape: TableShape?, isOrphan: Bool = false, readsRows: Bool = true, _ tally: inout TreeStatistics,
    _ body: (TreeRow) throws -> Void
  ) throws {
    var steps: [(number: UInt32, depth: Int)] = [(root, 0)]
    while let (number, depth) = steps.popLast() {
      reportProgress()
      let mark = marks[number]
      guard depth < 64, marks.claim(number, as: .tree) else {
        let isCut = file.isCut(number)
        tally.miss(TreeCrawler.allRowids, depth: depth, isCut ? .cut : .unknown, number: isCut ? number : nil)
        continue
      }
      let page = file.tree(number)
      guard let page, !page.kind.isTable, fitsIndex(page, shape, isRoot: depth == 0) else {
        if page != nil { marks.release(number, to: mark) }
        tally.addBadPage(number, isReadable: page != nil)
        tally.miss(
          TreeCrawler.allRowids, depth: depth, page == nil ? .unreadable : .unknown, number: page == nil ? number : nil)
        continue
      }
      if twins?[number] != nil { owners[number] = root }
      let damaged = page.cells.count(where: { $0 == nil }) + page.missingCells
      if damaged > 0 { tally.lose(damaged, in: TreeCrawler.allRowids) }
      var sound = 0
      if !isOrphan, let record = page.cells.first.flatMap({ $0 }).flatMap({ sample($0, page) }) {
        tally.addFields(record.count)
      }
      for case let cell? in page.cells {
        if !page.kind.isLeaf { steps.append((cell.child, depth + 1)) }
        guard readsRows else {
          sound += 1
          claimOverflow(of: cell)
          continue
        }
        let row = treeRow(cell, page, shape)
        tally.addOverflow(overflowPages(of: cell))
        if row.isSound { sound += 1 } else { tally.lose(1, in: TreeCrawler.allRowids) }
        try body(row)
      }
      if page.kind.isLeaf {
        tally.addLeaf(cells: sound, bytes: page.cellBytes, rowids: nil, depth: depth, isOrphan: isOrphan)
      } else {
        tally.addInterior(cells: sound)
        for _ in 0..<damaged { tally.miss(TreeCrawler.allRowids, depth: depth + 1) }
        steps.append((page.rightmost, depth + 1))
      }
    }
  }

  private func fitsIndex(_ page: TreePage, _ shape: TableShape?, isRoot: Bool) -> Bool {
    if page.cells.isEmpty { return isRoot && page.isEmptyLeaf }
    guard let shape else { return true }
    return fits(page.cells.prefix(50).compactMap { $0.flatMap { sample($0, page) } }, page, shape, isRoot: isRoot)
  }

  /// Returns the rows of an orphaned page, without the rows on pages below it.
  func rows(of page: TreePage) -> [TreeRow] {
    guard marks.claim(page.number, as: .tree) else { return [] }
    return page.cells.compactMap { $0.map { treeRow($0, page, nil) } }
  }

  // MARK: Payload

  private func overflowPages(of cell: TreePage.Cell) -> Int {
    (cell.length - cell.local.count + file.usable - 5) / (file.usable - 4)
  }

  private func claimOverflow(of cell: TreePage.Cell) {
    var (next, left) = (cell.overflow, cell.length - cell.local.count)
    while left > 0, next > 0, marks.claim(next, as: .overflow) {
      left -= file.usable - 4
      next = file.page(next)?.word(0) ?? 0
    }
  }

  /// Returns the bytes of a row or key. The bytes are incomplete if the chain of overflow pages is broken.
  private func payload(of cell: TreePage.Cell, _ page: TreePage) -> (bytes: [UInt8], isComplete: Bool) {
    var bytes = Array(page.bytes[cell.local])
    var next = cell.overflow
    while bytes.count < cell.length {
      guard next > 0, marks.claim(next, as: .overflow) else { return (bytes, false) }
      let part = min(file.usable - 4, cell.length - bytes.count)
      guard let page = file.page(next), page.count >= 4 + part, let link = page.word(0) else { return (bytes, false) }
      // A page that contains only zeros was probably overwritten, unless the payload's bytes before this page are zeros
      // too.
      if page.isZero(0..<file.usable), !bytes.suffix(16).allSatisfy({ $0 == 0 }) { return (bytes, false) }
      bytes += page[4..<(4 + part)]
      next = link
    }
    return (bytes, next == 0)
  }
}

extension TreePage {
  var isEmptyLeaf: Bool {
    let start = number == 1 ? 100 : 0
    return kind.isLeaf && bytes.short(start + 3) == 0 && bytes.short(start + 1) == 0
  }
}
