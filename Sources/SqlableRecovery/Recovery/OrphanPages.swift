// Orphaned pages: pages that contain rows, although no intact page points to them.

import SqlableCore

extension SalvageRun {
  /// Finds the tables of orphaned pages by the pointer map, by missing rowids, and by the number and storage classes of
  /// the values. A page that matches several tables is assigned to none.
  func assignOrphans() throws {
    var interior: [UInt32] = []
    var children: Set<UInt32> = []
    if tables.contains(where: { $0.tally.mayHaveOrphans }) {
      for number in unknownPages {
        guard let page = file.tree(number), !page.kind.isLeaf, page.isSound else { continue }
        interior.append(number)
        for case let cell? in page.cells { children.insert(cell.child) }
        children.insert(page.rightmost)
      }
      // The pages nearest to a root come first, because they show the owner of the pages below them.
      for number in interior.filter({ !children.contains($0) }) + interior { try assign(number) }
      for number in unknownPages { try assign(number) }
    }
    for number in unknownPages { try leaveOut(number) }
    let mayBeRows = schema.isDamaged || knowsFreelist && tables.contains(where: \.isWithoutRowid)
    for number in unknownPages { try leaveOutKeys(number, mayBeRows: mayBeRows) }
  }

  private var unknownPages: some Sequence<UInt32> {
    (1...max(file.pageCount, 1)).lazy.filter { [crawler, copies] in
      crawler.marks[$0] == .unknown && !copies.contains($0)
    }
  }

  private func assign(_ number: UInt32) throws {
    guard crawler.marks[number] == .unknown, let page = orphan(number) else { return }
    let owners = try owners(of: page)
    if owners.count == 1 { try assign(page, to: owners[0]) }
  }

  /// Returns a b-tree page that might have rows; nil for another page, and for a page that is free.
  private func orphan(_ number: UInt32) -> TreePage? {
    file.isMappedFree(number) ? nil : file.tree(number).flatMap { $0.isSound ? $0 : nil }
  }

  private func assign(_ page: TreePage, to table: SalvagedTable) throws {
    let (number, height) = (page.number, height(of: page))
    guard let gap = gap(for: page, in: table) else { return }
    // If the missing page was unreadable or truncated, the orphan is not the missing page but a page below it.
    let isBelow = height > 0 || gap.page != .unknown
    table.tally.assumeLeafDepth(gap.depth + height + (isBelow ? 1 : 0))
    if page.kind.isTable {
      let depth = max((table.tally.leafDepth ?? 0) - height, 0)
      try crawler.crawl(number, table.shape, in: gap.rowids, depth: depth, isOrphan: true, &table.tally) {
        try store($0, in: table, isOrphan: true)
      }
    } else {
      try crawler.crawlIndex(number, table.shape, isOrphan: true, &table.tally) {
        try store($0, in: table, isOrphan: true)
      }
    }
  }

  /// Returns the table that owns a page; several tables if they match equally well, and none if no table matches.
  private func owners(of page: TreePage) throws -> [SalvagedTable] {
    var candidates = tables.filter { gap(for: page, in: $0) != nil }
    guard !candidates.isEmpty else { return [] }
    let path = file.mappedPath(of: page.number)
    let isMapped = !path.isEmpty && isInTree(path)
    if isMapped { candidates.removeAll { !$0.contains(path) } }
    guard !candidates.isEmpty else { return [] }
    let records = samples(of: page)
    guard !records.isEmpty else { return [] }
    var best: [(table: SalvagedTable, points: Int)] = []
    for table in candidates {
      guard let shape = table.shape, !records.contains(where: shape.contradicts), try !overlaps(page, table) else {
        continue
      }
      // Only rows that were written before a column was added have fewer values.
      let least = table.tally.leastFields ?? shape.columns.count
      guard records.allSatisfy({ $0.count >= least }) else { continue }
      best.append((table, records.reduce(0) { $0 + shape.likelihood(of: $1) }))
    }
    guard let most = best.map(\.points).max() else { return [] }
    // Without a pointer map, a page of an index can look like a page of a WITHOUT ROWID table.
    let isIndexPossible = !isMapped && !page.kind.isTable
    if isIndexPossible, damagedIndexes.contains(where: { $0.likelihood(of: records).map { $0 >= most } == true }) {
      return []
    }
    return best.filter { $0.points == most }.map(\.table)
  }

  /// True if the pointer map's path of pages leads to a known b-tree.
  private func isInTree(_ path: [UInt32]) -> Bool {
    schema.entries.contains { $0.root > 0 && path.contains($0.root) }
      || (tables.map(\.tally) + indexTallies).contains { $0.misses(anyOf: path) }
  }

  /// Returns the table's narrowest gap whose range contains all rowids of a page; nil if there is no such gap.
  private func gap(for page: TreePage, in table: SalvagedTable) -> TreeStatistics.Gap? {
    guard table.tally.mayHaveOrphans, let shape = table.shape, shape.isWithoutRowid != page.kind.isTable else {
      return nil
    }
    let rowids = page.kind.isTable ? page.rowids : TreeCrawler.allRowids
    guard let rowids else { return nil }
    return table.tally.gaps.filter { gap in
      gap.mayHaveOrphans && gap.rowids.contains(rowids.lowerBound) && gap.rowids.contains(rowids.upperBound)
    }.min { $0.rowids.width < $1.rowids.width }
  }

  /// True if the table already has rows in the rowid range of a leaf. The leaf is then an old version.
  private func overlaps(_ page: TreePage, _ table: SalvagedTable) throws -> Bool {
    guard page.kind == .leafTable, let rowids = page.rowids, let sink = table.sink, let rowid = sink.rowidColumn else {
      return false
    }
    return try output.connection.pragma(
      """
      SELECT 1 FROM \(sink.name.quotedName) WHERE \(rowid.quotedName) BETWEEN \(rowids.lowerBound)
        AND \(rowids.upperBound) LIMIT 1
      """) != nil
  }

  private func samples(of page: TreePage) -> [StoredRecord] {
    var page = page
    for _ in 0..<40 where page.kind == .interiorTable {
      guard
        let child = page.cells.lazy.compactMap({ $0 }).compactMap({ self.file.tree($0.child) })
          .first(where: { $0.kind.isTable })
      else { return [] }
      page = child
    }
    return page.cells.prefix(50).compactMap { $0.flatMap { crawler.sample($0, page) } }
  }

  private func height(of page: TreePage) -> Int {
    var (page, height) = (page, 0)
    while !page.kind.isLeaf, height < 40 {
      guard let child = page.cells.lazy.compactMap({ $0 }).compactMap({ self.file.tree($0.child) }).first else {
        return height + 1
      }
      (page, height) = (child, height + 1)
    }
    return height
  }

  /// Counts the rows of a page that belongs to no known table. Stores these rows in the lost-and-found table if they
  /// were probably not deleted, or if ``Salvage/keepsPossiblyDeleted`` is true.
  private func leaveOut(_ number: UInt32) throws {
    guard let page = file.tree(number), page.kind == .leafTable, page.isSound else { return }
    let isFree = file.isMappedFree(number)
    let isLive =
      !isFree
      && (knowsFreelist || schema.isDamaged || tables.contains { gap(for: page, in: $0) != nil && fits(page, $0) })
    let matches = isLive ? try owners(of: page).map(\.entry.name) : []
    var tally = TreeStatistics()
    let reason = isLive ? "the row's table is unknown" : "the row was probably deleted"
    try crawler.crawl(number, nil, isOrphan: true, &tally) { row in
      guard row.isSound else { return }
      if isLive {
        countUnknown(matches)
        rowidsOfUnknownTables.insert(row.rowid)
      } else {
        report.rowsPossiblyDeleted += 1
      }
      if isLive || salvage.keepsPossiblyDeleted { try output.setAside(row, of: nil, rowid: true, reason) }
    }
  }

  /// Counts a row whose table is unknown.
  ///
  /// - Parameter matches: The tables that the row's page matches equally well.
  private func countUnknown(_ matches: [String]) {
    report.rowsOfUnknownTables += 1
    if matches.count > 1 { ambiguousRows[matches.joined(separator: ", "), default: 0] += 1 }
  }

  /// Stores the keys of a page without an owner in the lost-and-found table. Keys that belong to no index are rows of a
  /// WITHOUT ROWID table whose definition is lost.
  ///
  /// - Parameter mayBeRows: False if only a page that matches several tables can have rows.
  private func leaveOutKeys(_ number: UInt32, mayBeRows: Bool) throws {
    guard let page = file.tree(number), !page.kind.isTable, page.isSound, !file.isMappedFree(number) else { return }
    let matches = try owners(of: page).map(\.entry.name)
    guard mayBeRows || matches.count > 1,
      try damagedIndexes.isEmpty && !schema.isDamaged || !areIndexKeys(samples(of: page))
    else { return }
    for row in crawler.rows(of: page) where row.isSound {
      countUnknown(matches)
      try output.setAside(row, of: nil, rowid: false, "the row's table is unknown")
    }
  }

  /// True if most keys belong to an index: an index key starts with a value of a row, and ends with the row's key.
  private func areIndexKeys(_ keys: [StoredRecord]) throws -> Bool {
    let keys = keys.filter { $0.fields.count == $0.count && $0.count > 1 }.prefix(8)
    guard !keys.isEmpty else { return false }
    let unknown = keys.count { key in
      key.fields.last.flatMap { key.integer($0) }.map(rowidsOfUnknownTables.contains) == true
    }
    if unknown * 2 > keys.count { return true }
    return try tables.contains { table in try rows(with: Array(keys), in: table).map { $0 * 2 > keys.count } == true }
  }

  /// Returns the number of index keys that match a row of the table: the index key's last field is the key of the row,
  /// and the first field equals one of the row's values. Returns nil if the table has no key by which rows can be
  /// looked up.
  func rows(with keys: [StoredRecord], in table: SalvagedTable) throws -> Int? {
    guard let sink = table.sink, let shape = table.shape, !sink.columns.isEmpty,
      let name = sink.rowidColumn ?? (shape.keyCount == 1 ? shape.columns[0].name : nil)
    else { return nil }
    let columns = shape.columns.filter { !$0.isGenerated || $0.isRowid }
    let comparisons = columns.map { "\($0.name.quotedName) IS ?1" }.joined(separator: " OR ")
    let statement = try output.connection.prepareText(
      "SELECT 1 FROM main.\(sink.name.quotedName) WHERE \(name.quotedName) = ?2 AND (\(comparisons))")
    defer { statement.reset() }
    return try keys.count { key in
      guard let first = key.fields.first, let last = key.fields.last, key.fields.count == key.count else {
        return false
      }
      var isFound = false
      try key.bound([first, last], file.encoding, to: statement, from: 1) { isFound = try statement.step() }
      statement.rewind()
      return isFound
    }
  }

  private func fits(_ page: TreePage, _ table: SalvagedTable) -> Bool {
    guard let shape = table.shape else { return false }
    return !samples(of: page).contains(where: shape.contradicts)
      && ((try? overlaps(page, table)) == false)
  }
}

extension TreePage {
  /// The range from the page's lowest to its highest rowid; nil if the page has no rowids, or if its rowids are not in
  /// order.
  fileprivate var rowids: ClosedRange<Int64>? {
    let sound = cells.compactMap { $0?.rowid }
    guard let first = sound.first, let last = sound.last, first <= last else { return nil }
    return first...last
  }
}
