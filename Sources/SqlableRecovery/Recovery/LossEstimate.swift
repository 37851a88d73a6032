// An estimate of the lost rows, from the remains of each b-tree and from the pages that belong to no b-tree.

import SqlableCore
import SqlableSchema

extension SalvageRun {
  private struct Loss {
    /// The number of rows in pages and cells that are known to be lost.
    let known: Double
    /// The estimated number of rows in missing pages, if it is unknown how many pages are missing.
    var possible: Double
    let rowsPerPage: Double
    /// True if the original size of the table's b-tree is unknown.
    let isOpen: Bool
  }

  func reportTables() {
    let reported = tables.filter { !$0.entry.isInternal && $0.use != .none }
    var losses = reported.map { loss(of: $0) }
    balance(&losses)
    for (table, loss) in zip(reported, losses) {
      var entry = table.report
      if table.rowsByIndex == nil, !table.tally.isComplete {
        let rows = Int(min((loss.known + loss.possible).rounded(), 1e15))
        entry.estimatedRowsLost = max(rows - entry.rowsFromBackup, 0)
      }
      report.tables.append(entry)
    }
  }

  private func loss(of table: SalvagedTable) -> Loss {
    let tally = table.tally
    // On average, pages are two thirds full.
    let guess = Double(file.usable) * 2 / 3 / (usualBytesPerColumn * Double(table.shape?.columns.count ?? 5) + 4)
    let measured = tally.leafCells > 0 ? Double(tally.leafCells) / Double(tally.pages) : usualRowsPerPage ?? guess
    let rowsPerPage = max(measured, 0.01)
    if let rows = table.rowsByIndex {
      let lost = max(rows - table.rowsFromPages - table.rowsSetAside, 0)
      return Loss(known: Double(lost), possible: 0, rowsPerPage: rowsPerPage, isOpen: false)
    }
    let (known, possible) = tally.estimatedLoss(rowsPerLeaf: guess, usable: file.usable)
    guard tally.leaves == 0, let root = tally.gaps.first(where: { $0.depth == 0 }) else {
      return Loss(known: known, possible: possible, rowsPerPage: rowsPerPage, isOpen: tally.isOpen)
    }
    if let rows = rowsElsewhere(of: table) {
      return Loss(known: min(rows, known + possible), possible: 0, rowsPerPage: rowsPerPage, isOpen: false)
    }
    // No other page was found, so treat the root as the only page.
    let rows = min(known + possible, usualRowsOfSmallTable ?? .infinity)
    return root.page == .unknown
      ? Loss(known: 0, possible: rows, rowsPerPage: rowsPerPage, isOpen: true)
      : Loss(known: rows, possible: 0, rowsPerPage: rowsPerPage, isOpen: true)
  }

  /// The average number of rows in tables with a single page; nil if there are no such tables.
  private var usualRowsOfSmallTable: Double? {
    let small = tables.filter { $0.tally.isComplete && $0.tally.leaves == 1 && !$0.entry.isInternal }
    return small.isEmpty ? nil : Double(small.reduce(0) { $0 + $1.tally.leafCells }) / Double(small.count)
  }

  /// The average number of bytes per column in all tables; ten if no table has rows.
  private var usualBytesPerColumn: Double {
    let samples = tables.filter { $0.tally.leafCells > 0 && $0.shape != nil && !$0.entry.isInternal }
    guard !samples.isEmpty else { return 10 }
    let sizes = samples.map { Double($0.tally.leafBytes) / Double($0.tally.leafCells * ($0.shape?.columns.count ?? 1)) }
    return sizes.reduce(0, +) / Double(sizes.count)
  }

  private var usualRowsPerPage: Double? {
    let pages = tables.reduce(0) { $0 + $1.tally.pages }
    return pages > 0 ? Double(tables.reduce(0) { $0 + $1.tally.leafCells }) / Double(pages) : nil
  }

  /// Returns the estimated number of rows of a table that has no readable page. The estimate comes from the backup or
  /// the AUTOINCREMENT counter; nil if there is neither.
  private func rowsElsewhere(of table: SalvagedTable) -> Double? {
    if backup?.entries.contains(where: { $0.type == "table" && $0.name.isSameName(as: table.entry.name) }) == true {
      let source = "\(AttachedBackup.name).\(table.entry.name.quotedName)"
      let count = try? output.connection.pragma("SELECT count(*) FROM \(source)")
      if let rows = count.flatMap(Double.init) { return rows }
    }
    let counters = tables.first { $0.entry.name.isSameName(as: "sqlite_sequence") && $0.tally.isComplete }
    guard let counters, table.shape?.table.primaryKey?.isAutoincrement == true else { return nil }
    // SQLite creates the counter with the first row, so a table without a counter has had no rows.
    let last = counters.sequences.first { $0.name.isSameName(as: table.entry.name) }?.number ?? 0
    return Double(max(last, 0))
  }

  /// Adjusts the estimates to the number of missing pages. Every lost row was in a missing page or in a damaged cell.
  private func balance(_ losses: inout [Loss]) {
    let (withinFile, behindEnd) = missingPages
    let tallies = tables.map(\.tally) + indexTallies
    let cutPages = tallies.reduce(schema.cutPages) { $0 + $1.cutPages }
    let remainingPages = Double(withinFile + max(behindEnd - cutPages, 0))
    let possible = losses.reduce(0) { $0 + $1.possible / $1.rowsPerPage }
    if possible > remainingPages {
      for index in losses.indices { losses[index].possible *= remainingPages / possible }
    }
    let openIndices = losses.indices.filter { losses[$0].isOpen }
    let known = losses.reduce(0) { $0 + $1.known / $1.rowsPerPage }
    let surplus = Double(behindEnd) - max(Double(cutPages), known) - possible
    guard surplus > 0 else { return }
    guard !openIndices.isEmpty else {
      if schema.isDamaged { report.estimatedRowsOfLostTables = Int(min(surplus * (usualRowsPerPage ?? 0), 1e15)) }
      return
    }
    let openIndexes = indexTallies.count { $0.isRootLost && $0.leaves == 0 }
    let share = surplus / Double(openIndices.count + openIndexes)
    for index in openIndices { losses[index].possible += share * losses[index].rowsPerPage }
  }

  /// The numbers of pages that are neither free nor in a b-tree: inside the file, and after the end of a truncated
  /// file. These pages might have contained rows.
  private var missingPages: (withinFile: Int, behindEnd: Int) {
    var (withinFile, free) = (0, 0)
    for number in 1...max(file.pageCount, 1) where !file.isLockPage(number) {
      switch crawler.marks[number] {
      case .unknown where copies.contains(number): withinFile += 1
      case .unknown:
        let page = file.tree(number)
        if page?.isSound != true, page?.isEmptyLeaf != true, !file.isMappedFree(number) { withinFile += 1 }
      case .free: free += 1
      default: break
      }
    }
    let isKnown =
      schema.cutPages > 0 || tables.contains { $0.tally.cutPages > 0 } || indexTallies.contains { $0.cutPages > 0 }
    let freeBehindEnd = max(Int(file.header?.freePages ?? 0) - free, 0)
    return (withinFile, isKnown ? max(Int(file.fullCount - file.pageCount) - freeBehindEnd, 0) : 0)
  }
}
