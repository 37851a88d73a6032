import SqlableCore

/// The places of a table's values in the rows of the log.
struct LoggedRows {
  let entry: LogEntry
  let foldedName: [UInt8]
  fileprivate let shape: KeyShape
  /// The places of the key's values; empty if the key is the rowid.
  fileprivate let key: [Int]
  /// The place of the rowid; nil for a table without a rowid.
  fileprivate let rowid: Int?
  /// The place of each column's value; nil if the log does not keep all columns.
  fileprivate let columns: [Int]?
  /// The folded names of the kept columns.
  fileprivate let names: Set<[UInt8]>

  var hasAllColumns: Bool { columns != nil }

  /// Nil if the log lacks a needed value: the key, the rowid or, if the log keeps whole rows, any column.
  init?(_ entry: LogEntry, _ shape: KeyShape) {
    func place(_ name: String) -> Int? { entry.columns.firstIndex(where: name.isSameName) }
    let names = shape.row.names
    let key = shape.columns.map { names.indices.contains($0) ? place(names[$0]) : nil }
    guard key.allSatisfy({ $0 != nil }) else { return nil }
    self.key = key.compactMap(\.self)
    if shape.columns.isEmpty {
      // The entry's key is the rowid: an INTEGER PRIMARY KEY, or the rowid of a table without a primary key.
      rowid = entry.key.first.flatMap(place)
    } else {
      rowid = entry.hidesRowid ? entry.columns.count - 1 : nil
    }
    guard shape.isWithoutRowid || rowid != nil else { return nil }
    let columns = names.map(place)
    self.columns = columns.contains(nil) ? nil : columns.compactMap(\.self)
    guard entry.kept != .rows || self.columns != nil else { return nil }
    self.names = Set(entry.visibleColumns.map(\.foldedName))
    (self.entry, self.shape, foldedName) = (entry, shape, entry.table.foldedName)
  }

  /// Reads the change in the current row of a statement. The first two columns of the row are the table and the kind.
  func change(_ kind: LoggedKind, of statement: PreparedStatement, valueCount: Int) -> LoggedRowValues {
    func values(from first: Int) -> [DatabaseValue?] {
      // A text that is not UTF-8 becomes nil.
      entry.columns.indices.map { try? statement.value(at: 2 + first + $0) }
    }
    let changed = values(from: 0)
    return switch kind {
    case .inserted: LoggedRowValues(table: self, change: .insert, old: nil, new: changed)
    case .deleted: LoggedRowValues(table: self, change: .delete, old: changed, new: nil)
    case .updated: LoggedRowValues(table: self, change: .update, old: values(from: valueCount), new: changed)
    }
  }
}

/// A logged change, in the forms that the loops of a pool need.
struct LoggedRowValues {
  fileprivate let table: LoggedRows
  fileprivate let change: Change
  /// The values before the change, in the order of the entry's columns; nil for an insert.
  fileprivate let old: [DatabaseValue?]?
  /// The values after the change; nil for a delete.
  fileprivate let new: [DatabaseValue?]?

  /// Returns the change as `changes(on:)` delivers it; nil if the key has a text that is not UTF-8.
  func row(named name: String, withValues: Bool) -> RowChange? {
    guard let after = new ?? old, let before = old ?? new else { return nil }
    func key(_ values: [DatabaseValue?]) -> [DatabaseValue] { table.key.compactMap { values[$0] } }
    func id(_ values: [DatabaseValue?], _ key: [DatabaseValue]) -> Int? {
      // A single integer key is the id, even if the rowid differs.
      if key.count == 1, case .integer(let id) = key[0] { return Int(id) }
      guard let rowid = table.rowid, case .integer(let id)? = values[rowid] else { return nil }
      return Int(id)
    }
    let (current, previous) = (key(after), key(before))
    guard current.count == table.key.count, previous.count == table.key.count else { return nil }
    let (id, previousId) = (id(after, current), id(before, previous))
    var row = RowChange(
      table: name, change: change, id: id ?? 0, previousId: previousId ?? 0, key: current, previousKey: previous,
      comparison: table.shape.comparison, hasId: id != nil, isKeyedById: table.key.isEmpty)
    if withValues { row.images = images }
    return row
  }

  /// Adds the change to `changes`. Live results use `changes` to decide whether to read the table again.
  func note(in changes: inout TableChanges, _ reading: ObservedTables.TableInterest) {
    if let old, let new {
      // Any update might have changed a column that the log does not keep.
      if !table.hasAllColumns { changes.columns.formUnion(reading.columns.subtracting(table.names)) }
      if let rowid = table.rowid, old[rowid] != new[rowid] { changes.isMembershipChanged = true }
      for (name, old, new) in zip3(table.entry.columns, old, new) where old == nil || old != new {
        let name = name.foldedName
        if reading.columns.contains(name) { changes.columns.insert(name) }
      }
    } else {
      changes.isMembershipChanged = true
    }
    changes.add { reading.wantsImages ? images : nil }
  }

  /// The values of all columns; nil in a log that does not keep all columns.
  private var images: RowImages? {
    guard let columns = table.columns else { return nil }
    func values(_ row: [DatabaseValue?]?) -> [DatabaseValue]? { row.map { row in columns.map { row[$0] ?? .null } } }
    func isWhole(_ row: [DatabaseValue?]?) -> Bool { row.map { row in columns.allSatisfy { row[$0] != nil } } ?? true }
    return RowImages(
      columns: table.shape.row.names, old: values(old), new: values(new), isWhole: isWhole(old) && isWhole(new),
      isNewWhole: isWhole(new))
  }
}

private func zip3<First, Second, Third>(
  _ first: [First], _ second: [Second], _ third: [Third]
) -> [(First, Second, Third)] {
  zip(first, zip(second, third)).map { ($0, $1.0, $1.1) }
}
