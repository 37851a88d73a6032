import Glibc

/// The changes of the open transaction, by savepoint, so that what is undone is forgotten.
final class ChangeBuffer: ChangeSink {
  /// A table that is observed, as the hook meets it.
  struct Table {
    let name: String
    /// The positions of the key's columns, where the key is not the row's id.
    let keyColumns: [Int]
    /// Whether the table has no rowid, so that the ids which SQLite tells mean nothing.
    let isWithoutRowid: Bool
    let cName: [CChar]

    init(name: String, keyColumns: [Int], isWithoutRowid: Bool) {
      self.name = name
      self.keyColumns = keyColumns
      self.isWithoutRowid = isWithoutRowid
      cName = name.utf8.map { CChar(bitPattern: $0) } + [0]
    }
  }

  private(set) var changes: [RowChange] = []
  /// The tables to record; with `recordsAll` any other one too, by its id.
  var tables: [Table] = []
  var recordsAll = false

  func willChange(_ row: HookedRow) {
    if let table = tables.first(where: { strcmp($0.cName, row.table) == 0 }) {
      record(row, of: table)
    } else if recordsAll {
      record(row, of: Table(name: String(cString: row.table), keyColumns: [], isWithoutRowid: false))
    }
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
    if !table.keyColumns.isEmpty {
      let old = table.keyColumns.compactMap { row.oldValue($0) }
      key = change == .delete ? old : table.keyColumns.compactMap { row.newValue($0) }
      previousKey = change == .insert ? key : old
    }
    var id = Int(change == .delete ? row.oldId : row.newId)
    var previousId = Int(change == .insert ? row.newId : row.oldId)
    if table.isWithoutRowid {
      id = ChangeBuffer.integer(key)
      previousId = ChangeBuffer.integer(previousKey)
    }
    changes.append(
      RowChange(
        table: table.name, change: change, id: id, previousId: previousId, key: key, previousKey: previousKey))
  }

  private static func integer(_ key: [SqlStorage]) -> Int {
    if key.count == 1, case .integer(let id) = key[0] { return Int(id) }
    return 0
  }

  /// How many changes are recorded; to be handed to `forget(after:)` when they are undone.
  var count: Int { changes.count }

  func forget(after count: Int) {
    if changes.count > count { changes.removeLast(changes.count - count) }
  }

  func takeAll() -> [RowChange] {
    defer { changes = [] }
    return changes
  }
}
