import Glibc

/// The changes of the open transaction, by savepoint, so that what is undone is forgotten.
final class ChangeBuffer: ChangeSink {
  /// A table that is observed, as the hook meets it.
  final class Table: Sendable {
    /// What its observers call it.
    let name: String
    let key: KeyShape
    /// What the database calls it.
    let nameInDatabase: String
    fileprivate let cName: [CChar]

    init(name: String, nameInDatabase: String, key: KeyShape) {
      self.name = name
      self.key = key
      self.nameInDatabase = nameInDatabase
      cName = nameInDatabase.utf8.map { CChar(bitPattern: $0) } + [0]
    }
  }

  private struct State {
    var changes: [RowChange] = []
    var tables: [Table] = []
    /// Which of them was changed last: rows of one table come in a row.
    var latest = 0
  }

  private let state = Unchecked(State())

  deinit { state.free() }

  private var changes: [RowChange] { state.value.changes }

  /// The tables to record.
  var tables: [Table] {
    get { state.value.tables }
    set {
      state.value.tables = newValue
      state.value.latest = 0
    }
  }

  func willChange(_ row: HookedRow) {
    guard !tables.isEmpty else { return }
    if strcmp(tables[state.value.latest].cName, row.table) != 0 {
      guard let index = tables.firstIndex(where: { strcmp($0.cName, row.table) == 0 }) else { return }
      state.value.latest = index
    }
    record(row, of: tables[state.value.latest])
  }

  private func record(_ row: HookedRow, of table: Table) {
    let change: Change
    switch row.operation {
    case .insert: change = .insert
    case .update: change = .update
    case .delete: change = .delete
    }
    var key: [SqlStorage] = []
    var previousKey: [SqlStorage] = []
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
    // A single integer is the id, even where the rowid is another. The rowid that SQLite tells of a table without is none.
    let hasRowid = !table.key.isWithoutRowid
    let id = integer(key) ?? (hasRowid ? Int(change == .delete ? row.oldId : row.newId) : nil)
    let previousId = integer(previousKey) ?? (hasRowid ? Int(change == .insert ? row.newId : row.oldId) : nil)
    state.value.changes.append(
      RowChange(
        table: table.name, change: change, id: id ?? 0, previousId: previousId ?? 0, key: key, previousKey: previousKey,
        hasId: id != nil))
  }

  private func values(of key: KeyShape, at positions: [Int], _ read: (Int) -> SqlStorage?) -> [SqlStorage] {
    var values: [SqlStorage] = []
    for (position, affinity) in zip(positions, key.affinities) {
      // Nothing of the key rather than a part of it.
      guard let value = read(position).flatMap(affinity.value) else { return [] }
      values.append(value)
    }
    return values
  }

  private func integer(_ key: [SqlStorage]) -> Int? {
    if key.count == 1, case .integer(let id) = key[0] { return Int(id) }
    return nil
  }

  /// How many changes are recorded; to be handed to `forget(after:)` when they are undone.
  var count: Int { changes.count }

  /// The rows that came or went since `count`, by table and key, with whether they are to be there now; not those that
  /// came and went again.
  func comingsAndGoings(after count: Int) -> [(table: Table, key: [SqlStorage], isThere: Bool)] {
    struct Place: Hashable {
      let table: String
      let key: [SqlStorage]
    }
    var was: [Place: Bool] = [:]
    var now: [Place: Bool] = [:]
    func note(_ place: Place, from: Bool, to: Bool) {
      if was[place] == nil { was[place] = from }
      now[place] = to
    }
    for row in changes.dropFirst(count) {
      let place = Place(table: row.table, key: row.key.isEmpty ? [.integer(Int64(row.id))] : row.key)
      let previous = Place(
        table: row.table, key: row.previousKey.isEmpty ? [.integer(Int64(row.previousId))] : row.previousKey)
      switch row.change {
      case .insert: note(place, from: false, to: true)
      case .delete: note(place, from: true, to: false)
      case .update where place != previous:
        note(previous, from: true, to: false)
        note(place, from: false, to: true)
      case .update: note(place, from: true, to: true)
      }
    }
    return now.compactMap { place, isThere in
      guard was[place] != isThere, let table = tables.first(where: { $0.name == place.table }) else { return nil }
      return (table, place.key, isThere)
    }
  }

  func forget(after count: Int) {
    if self.count > count { state.value.changes.removeLast(self.count - count) }
  }

  func takeAll() -> [RowChange] {
    defer { state.value.changes = [] }
    return changes
  }
}
