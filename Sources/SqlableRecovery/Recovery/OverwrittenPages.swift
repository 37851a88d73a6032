// Pages that were overwritten with another page of the file.

import SqlableCore

extension SalvageRun {
  /// Crawls the tables. The tables whose root page equals another page come last, because the b-trees of the other
  /// tables can contain that page.
  func crawlTables() throws {
    let isUnsure = { (table: SalvagedTable) in self.twins[table.entry.root] != nil }
    for table in tables where !isUnsure(table) { try crawl(table) }
    for table in tables where isUnsure(table) {
      if isOverwritten(table) {
        copies.insert(table.entry.root)
        table.tally.miss(TreeCrawler.allRowids, depth: 0)
      } else {
        try crawl(table)
      }
    }
  }

  /// True if a table's root page was probably overwritten with its twin, an equal page. This is the case if the twin is
  /// a page inside another b-tree, or the root of a table that the records fit better.
  private func isOverwritten(_ table: SalvagedTable) -> Bool {
    guard let twin = twins[table.entry.root], let page = file.tree(twin) else { return false }
    guard let other = tables.first(where: { $0.entry.root == twin }) else { return crawler.marks[twin] == .tree }
    let records = page.cells.compactMap { $0.flatMap { crawler.sample($0, page) } }
    let points = [table, other].map { table in
      records.reduce(0) { points, record in
        guard let shape = table.shape else { return points }
        return points + (shape.contradicts(record) ? -100 : shape.likelihood(of: record))
      }
    }
    return points[0] < points[1]
  }

  /// Finds the pages that belong to no b-tree, and are copies of a page of a b-tree. Such a copy has no other rows.
  func findCopies() {
    for number in twins.pages where crawler.marks[number] == .unknown {
      if let twin = twins[number], crawler.marks[twin] == .tree { copies.insert(number) }
    }
  }

  func reportCopies() {
    if !copies.isEmpty {
      report.problems.append(
        "\(copies.count) pages were overwritten with copies of other pages; the original contents are lost")
    }
    var sameCount = 0
    for number in twins.pages {
      guard let twin = twins[number], number < twin, crawler.marks[number] == .tree, crawler.marks[twin] == .tree,
        let page = file.tree(number), page.kind.isLeaf, let owner = crawler.owners[number],
        let twinOwner = crawler.owners[twin], isTableRoot(owner) || isTableRoot(twinOwner),
        !haveSameRows(owner, twinOwner)
      else { continue }
      sameCount += 1
    }
    guard sameCount > 0 else { return }
    report.problems.append(
      "\(sameCount) pages are identical to another page: one of the two might have been overwritten")
  }

  /// True if the page is the root of an ordinary table. Shadow tables are excluded, because two of them can
  /// have pages with the same bytes.
  private func isTableRoot(_ root: UInt32) -> Bool { tables.contains { $0.entry.root == root && $0.virtual == nil } }

  /// True if both tables are complete, have the same number of rows, and have several leaf pages. One table is then
  /// probably a copy of the other, so equal pages are not a sign of damage.
  private func haveSameRows(_ root: UInt32, _ otherRoot: UInt32) -> Bool {
    guard root != otherRoot, let table = tables.first(where: { $0.entry.root == root }),
      let otherTable = tables.first(where: { $0.entry.root == otherRoot })
    else { return false }
    return table.tally.isComplete && otherTable.tally.isComplete && table.tally.leaves > 1
      && table.tally.leafCells == otherTable.tally.leafCells
  }
}
