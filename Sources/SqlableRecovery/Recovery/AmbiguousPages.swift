// Orphaned pages that match several tables equally well.

import SqlableCore

extension SalvageRun {
  /// Assigns each page that matches several tables, if only one of these tables existed before the page.
  ///
  /// SQLite appends new pages to the file, and the root is a table's first page. A page before the root can belong to
  /// the table only if another table has freed the page. The keys show such reused pages: in one table, the key ranges
  /// of two pages do not overlap. If they overlap, or if the table already has rows with such keys, the pages are not
  /// assigned.
  func assignByPosition(_ numbers: some Sequence<UInt32>) throws {
    // Auto-vacuum moves the roots to the start of the file. Without a header, auto-vacuum is unknown.
    guard let header = file.header, !header.isAutoVacuum else { return }
    guard tables.count(where: { $0.tally.mayHaveOrphans }) > 1 else { return }
    var pages: [(number: UInt32, owner: SalvagedTable, keys: ClosedRange<StoredKey>)] = []
    for number in numbers {
      guard let page = orphan(number) else { continue }
      let owners = try owners(of: page)
      let earlier = owners.filter { $0.entry.root < number }
      guard owners.count > 1, earlier.count == 1, owners.allSatisfy({ $0.entry.isFromFile && $0.entry.root > 0 }),
        let shape = earlier[0].shape, let keys = keys(below: page, shape), try !hasRows(with: keys, earlier[0])
      else { continue }
      pages.append((number, earlier[0], keys))
    }
    pages.sort { $0.keys.lowerBound < $1.keys.lowerBound }
    var overlapping: Set<UInt32> = []
    var last: [String: Int] = [:]
    for (index, (number, owner, keys)) in pages.enumerated() {
      let name = owner.entry.name
      guard let earlier = last[name].map({ pages[$0] }) else {
        last[name] = index
        continue
      }
      if earlier.keys.upperBound >= keys.lowerBound { overlapping.formUnion([number, earlier.number]) }
      if earlier.keys.upperBound < keys.upperBound { last[name] = index }
    }
    for (number, owner, _) in pages where !overlapping.contains(number) {
      guard crawler.marks[number] == .unknown, let page = orphan(number),
        try owners(of: page).contains(where: { $0 === owner })
      else { continue }
      try assign(page, to: owner)
      pagesByPosition += 1
    }
  }

  /// Returns the range of the keys on and below a page; nil if the order of the keys is unknown.
  private func keys(below page: TreePage, _ shape: TableShape) -> ClosedRange<StoredKey>? {
    guard shape.hasBinaryKey, let first = key(of: page, shape, isLast: false),
      let last = key(of: page, shape, isLast: true), first <= last
    else { return nil }
    return first...last
  }

  private func hasRows(with keys: ClosedRange<StoredKey>, _ table: SalvagedTable) throws -> Bool {
    guard let sink = table.sink, let shape = table.shape else { return true }
    let connection = output.connection
    guard shape.isWithoutRowid, let first = keys.lowerBound.record, let last = keys.upperBound.record else {
      guard let name = sink.rowidColumn else { return true }
      return try connection.pragma(
        """
        SELECT 1 FROM main.\(sink.name.quotedName) WHERE \(name.quotedName) BETWEEN \(keys.lowerBound.rowid)
          AND \(keys.upperBound.rowid) LIMIT 1
        """) != nil
    }
    let count = shape.keyCount
    let columns = shape.columns.prefix(count).map(\.name.quotedName).joined(separator: ", ")
    let holders = [String](repeating: "?", count: count).joined(separator: ", ")
    let statement = try connection.prepareText(
      "SELECT 1 FROM main.\(sink.name.quotedName) WHERE (\(columns)) BETWEEN (\(holders)) AND (\(holders)) LIMIT 1")
    defer { statement.reset() }
    var isFound = false
    try first.bound(Array(first.fields.prefix(count)), file.encoding, to: statement, from: 1) {
      try last.bound(Array(last.fields.prefix(count)), file.encoding, to: statement, from: Int32(count) + 1) {
        isFound = try statement.step()
      }
    }
    return isFound
  }

  /// Returns the first or last key on or below a page. If a page below is missing, returns the key of the page itself.
  private func key(of page: TreePage, _ shape: TableShape, isLast: Bool) -> StoredKey? {
    var key: StoredKey?
    var next: TreePage? = page
    for _ in 0..<40 {
      guard let page = next, page.kind.isTable != shape.isWithoutRowid else { return key }
      let cells = page.cells.lazy.compactMap(\.self)
      guard let cell = isLast ? cells.last : cells.first else { return key }
      if page.kind.isTable {
        key = StoredKey(rowid: cell.rowid)
      } else {
        key = crawler.sample(cell, page).flatMap { StoredKey($0, count: shape.keyCount) }
      }
      if page.kind.isLeaf { return key }
      next = file.tree(isLast ? page.rightmost : cell.child)
    }
    return key
  }
}

extension TableShape {
  /// True if the rows are ordered by rowid, or by key columns in ascending order without a collation.
  fileprivate var hasBinaryKey: Bool {
    guard isWithoutRowid else { return true }
    return table.primaryKey?.columns.allSatisfy { !$0.isDescending && $0.collation == nil } == true
      && columns.prefix(keyCount).allSatisfy { table[column: $0.name]?.collation == nil }
  }
}

/// The key of a row, which compares as SQLite compares keys without a collation.
private struct StoredKey: Comparable {
  private enum Value: Equatable {
    case null
    case integer(Int64)
    case real(Double)
    case text([UInt8])
    case blob([UInt8])

    /// The place of the value's type in SQLite's order.
    private var place: Int {
      switch self {
      case .null: 0
      case .integer, .real: 1
      case .text: 2
      case .blob: 3
      }
    }

    private var number: Double {
      switch self {
      case .integer(let value): Double(value)
      case .real(let value): value
      default: 0
      }
    }

    static func < (left: Value, right: Value) -> Bool {
      switch (left, right) {
      case (.integer(let left), .integer(let right)): left < right
      case (.text(let left), .text(let right)), (.blob(let left), .blob(let right)):
        left.lexicographicallyPrecedes(right)
      default: left.place == right.place ? left.number < right.number : left.place < right.place
      }
    }
  }

  private let values: [Value]
  /// The row with the key; nil in a table with a rowid.
  let record: StoredRecord?
  let rowid: Int64

  init(rowid: Int64) { (values, record, self.rowid) = ([.integer(rowid)], nil, rowid) }

  /// Nil if the record's page does not contain the whole key.
  init?(_ record: StoredRecord, count: Int) {
    guard record.fields.count >= count else { return nil }
    (self.record, rowid) = (record, 0)
    values = record.fields.prefix(count).map { field -> Value in
      let bytes = Array(record.payload[field.start..<field.end])
      return switch field.storage {
      case .null: .null
      case .integer: .integer(record.integer(field) ?? 0)
      case .real: .real(record.real(field) ?? 0)
      case .text: .text(bytes)
      case .blob: .blob(bytes)
      }
    }
  }

  static func == (left: StoredKey, right: StoredKey) -> Bool { left.values == right.values }

  static func < (left: StoredKey, right: StoredKey) -> Bool {
    for (left, right) in zip(left.values, right.values) where left != right { return left < right }
    return false
  }
}
