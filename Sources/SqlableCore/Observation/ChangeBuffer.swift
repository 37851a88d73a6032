import Glibc

/// A buffer of the open transaction's changes. Changes of a rolled-back savepoint are removed.
final class ChangeBuffer: ChangeSink {
  /// The properties of an observed table that the hook needs.
  final class Table: Sendable {
    /// The name that the table's observers use.
    let name: String
    let key: KeyShape
    let nameInDatabase: String
    let keepsRows: Bool
    let keepsValues: Bool
    /// The columns that live results read, and whether live results request the changed rows. Nil if no live result
    /// reads the table.
    fileprivate let read: (columns: [RowShape.Column], wantsImages: Bool)?
    fileprivate let columnNames: [String]
    fileprivate let isWhole: Bool
    fileprivate let cName: [CChar]

    /// Nil if the table is not observed.
    init?(nameInDatabase: String, _ interest: ObservedTables, key: () throws -> KeyShape) rethrows {
      let (folded, name) = (nameInDatabase.foldedName, interest.name(ofTable: nameInDatabase))
      let reading = interest.read[folded]
      guard name != nil || reading != nil else { return nil }
      let shape = try key()
      self.name = name ?? nameInDatabase
      self.key = shape
      self.nameInDatabase = nameInDatabase
      keepsRows = name != nil
      keepsValues = interest.valued.contains(folded)
      read = reading.map { reading in
        (shape.row.columns.filter { reading.columns.contains($0.name.foldedName) }, reading.wantsImages)
      }
      columnNames = shape.row.names
      isWhole = shape.row.isWhole
      cName = nameInDatabase.utf8.map { CChar(bitPattern: $0) } + [0]
    }
  }

  private struct State {
    var changes: [RowChange] = []
    var tables: [Table] = []
    /// The index of the table of the latest change. Consecutive changes usually affect the same table.
    var latest = 0
    /// The changes for live results, in the order of `tables`; nil for a table without such changes.
    var summaries: [TableChanges?] = []
    /// The changes that were recorded before `tables` was last set, keyed by the table's folded name.
    var earlier: [[UInt8]: TableChanges] = [:]
  }

  @exclusivity(unchecked) private var state = State()

  private var changes: [RowChange] { state.changes }

  var tables: [Table] {
    get { state.tables }
    set {
      state.earlier = summaries
      state.tables = newValue
      state.latest = 0
      state.summaries = newValue.map { _ in nil }
    }
  }

  /// The changes for live results, keyed by the table's folded name. Can include changes of a rolled-back statement.
  private var summaries: [[UInt8]: TableChanges] {
    var all = state.earlier
    for (table, summary) in zip(state.tables, state.summaries) {
      guard let summary else { continue }
      all[table.nameInDatabase.foldedName, default: TableChanges()].formUnion(summary)
    }
    return all
  }

  /// A snapshot of the changes to tables that live results read. Contains only the number of changed rows: if the
  /// snapshot retained the rows, adding a row would copy all rows.
  struct Summarized {
    fileprivate let tables: [Table]
    fileprivate let latest: [(change: TableChanges, imageCount: Int?)?]
    fileprivate let earlier: [[UInt8]: TableChanges]
  }

  var summarized: Summarized {
    let latest = state.summaries.map { $0.map { ($0.withoutImages, $0.images?.count) } }
    return Summarized(tables: state.tables, latest: latest, earlier: state.earlier)
  }

  /// Discards the changes since `summarized` was made, and keeps the earlier changes. If `tables` was set after that
  /// time, the rows of the earlier changes become unknown.
  func goBack(to summarized: Summarized) {
    let (indices, isSame) = (state.summaries.indices, summarized.tables.elementsEqual(tables, by: ===))
    state.earlier = summarized.earlier
    for index in indices {
      guard isSame, let before = summarized.latest[index] else {
        state.summaries[index] = nil
        continue
      }
      state.summaries[index]?.goBack(to: before.change, imageCount: before.imageCount)
    }
    guard !isSame else { return }
    for case (let table, let before?) in zip(summarized.tables, summarized.latest) {
      state.earlier[table.nameInDatabase.foldedName, default: TableChanges()].formUnion(before.change)
    }
  }

  func willChange(_ row: PreupdateRow) {
    guard !tables.isEmpty else { return }
    if strcmp(tables[state.latest].cName, row.table) != 0 {
      guard let index = tables.firstIndex(where: { strcmp($0.cName, row.table) == 0 }) else { return }
      state.latest = index
    }
    // The table needs no reference count, because only a later refresh replaces the tables.
    Unmanaged.passUnretained(tables[state.latest])._withUnsafeGuaranteedRef { table in
      if table.keepsRows { record(row, of: table) }
      if let read = table.read { note(row, of: table, read.columns, wantsImages: read.wantsImages) }
    }
  }

  // MARK: For live results

  /// Records a change, so that live results can check whether the change affects them.
  private func note(_ row: PreupdateRow, of table: Table, _ columns: [RowShape.Column], wantsImages: Bool) {
    let index = state.latest
    var summary = state.summaries[index] ?? TableChanges()
    state.summaries[index] = nil
    if row.operation == .update {
      // Without the pre-update hook, SQLite reports only one id and no values, so every column is treated as changed.
      if row.oldId != row.newId { summary.isMembershipChanged = true }
      for column in columns {
        let name = column.foldedName
        guard !summary.columns.contains(name) else { continue }
        if let positions = column.positions, !row.changes(old: positions.old, new: positions.updated),
          !column.mayHideDefault || row.oldValue(positions.old) != .null
        {
          continue
        }
        summary.columns.insert(name)
      }
    } else {
      summary.isMembershipChanged = true
    }
    summary.add { wantsImages && row.hasValues ? images(row, of: table) : nil }
    state.summaries[index] = summary
  }

  private func images(_ row: PreupdateRow, of table: Table) -> RowImages {
    var isWhole = table.isWhole
    func values(_ position: (RowShape.Positions) -> Int, _ read: (Int) -> DatabaseValue?) -> [DatabaseValue] {
      table.key.row.columns.map { column in
        guard let positions = column.positions, let value = read(position(positions)).flatMap(column.affinity.value)
        else {
          isWhole = false
          return .null
        }
        return value
      }
    }
    let old = row.operation == .insert ? nil : values(\.old, row.exactOldValue)
    let hidesDefault = old.map { zip(table.key.row.columns, $0).contains { $0.mayHideDefault && $1 == .null } } ?? false
    let new: [DatabaseValue]? =
      switch row.operation {
      case .insert: values(\.inserted, row.exactNewValue)
      case .update: values(\.updated, row.exactNewValue)
      case .delete: nil
      }
    return RowImages(
      columns: table.columnNames, old: old, new: new, isWhole: isWhole && !hidesDefault, isNewWhole: isWhole)
  }

  // MARK: For observers of rows

  private func record(_ row: PreupdateRow, of table: Table) {
    let change: Change
    switch row.operation {
    case .insert: change = .insert
    case .update: change = .update
    case .delete: change = .delete
    }
    var key: [DatabaseValue] = []
    var previousKey: [DatabaseValue] = []
    if !table.key.columns.isEmpty {
      let shape = table.key
      if change != .insert { previousKey = values(of: shape, at: shape.old) { row.oldValue($0) } }
      switch change {
      case .insert:
        key = values(of: shape, at: shape.inserted) { row.newValue($0) }
        previousKey = key
      case .update: key = values(of: shape, at: shape.updated) { row.newValue($0) }
      case .delete: key = previousKey
      }
    }
    // The id of the change is the row's key if the key is a single integer, even if the rowid differs. Otherwise the id
    // is the rowid. A WITHOUT ROWID table has no rowid: the number that SQLite reports is meaningless.
    let hasRowid = !table.key.isWithoutRowid
    let id = integer(key) ?? (hasRowid ? Int(change == .delete ? row.oldId : row.newId) : nil)
    let previousId = integer(previousKey) ?? (hasRowid ? Int(change == .insert ? row.newId : row.oldId) : nil)
    state.changes.append(
      RowChange(
        table: table.name, change: change, id: id ?? 0, previousId: previousId ?? 0, key: key, previousKey: previousKey,
        comparison: table.key.comparison, hasId: id != nil, isKeyedById: table.key.columns.isEmpty,
        images: table.keepsValues && row.hasValues ? images(row, of: table) : nil))
  }

  // MARK: For live results and observers of rows

  /// Records an incremental write of a column as an update of the row. Consecutive writes of one row are recorded as
  /// one update.
  func didWrite(_ column: String, of table: Table, id: Int64, key: [DatabaseValue]) {
    guard let index = tables.firstIndex(where: { $0 === table }) else { return }
    if let read = table.read {
      var summary = state.summaries[index] ?? TableChanges()
      let name = column.foldedName
      if read.columns.contains(where: { $0.foldedName == name }) { summary.columns.insert(name) }
      summary.add { nil }
      state.summaries[index] = summary
    }
    guard table.keepsRows else { return }
    let row = integer(key) ?? Int(id)
    let change = RowChange(
      table: table.name, change: .update, id: row, previousId: row, key: key, previousKey: key,
      comparison: table.key.comparison, hasId: true, isKeyedById: table.key.columns.isEmpty)
    if state.changes.last != change { state.changes.append(change) }
  }

  private func values(of key: KeyShape, at positions: [Int], _ read: (Int) -> DatabaseValue?) -> [DatabaseValue] {
    var values: [DatabaseValue] = []
    for (position, affinity) in zip(positions, key.affinities) {
      // If one value is unknown, return no key instead of a partial key.
      guard let value = read(position).flatMap(affinity.value) else { return [] }
      values.append(value)
    }
    return values
  }

  private func integer(_ key: [DatabaseValue]) -> Int? {
    if key.count == 1, case .integer(let id) = key[0] { return Int(id) }
    return nil
  }

  /// The number of recorded changes. A later `forget(after:)` removes the changes that were recorded after this number.
  var count: Int { changes.count }

  /// Keeps the first `count` changes, and removes later changes to tables that no longer exist.
  func forget(after count: Int, ofTables isGone: (Table) -> Bool) {
    guard self.count > count else { return }
    // Compare bytes. `==` treats the two encodings of é as equal, but SQLite treats tables with these names as
    // different.
    let gone = Set(tables.filter(isGone).map { Array($0.name.utf8) })
    guard !gone.isEmpty else { return }
    let kept = state.changes[count...].filter { !gone.contains(Array($0.table.utf8)) }
    state.changes.replaceSubrange(count..., with: kept)
  }

  func forget(after count: Int) {
    if self.count > count { state.changes.removeLast(self.count - count) }
  }

  var isEmpty: Bool {
    state.changes.isEmpty && state.earlier.isEmpty && !state.summaries.contains { $0 != nil }
  }

  /// Removes and returns the recorded changes. Call after the transaction has ended.
  func takeAll() -> CommittedChanges {
    defer { forgetAll() }
    return CommittedChanges(rows: changes, tables: summaries)
  }

  func forgetAll() {
    state.changes = []
    state.earlier = [:]
    for index in state.summaries.indices { state.summaries[index] = nil }
  }
}
