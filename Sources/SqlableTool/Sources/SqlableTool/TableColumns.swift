import Sqlable

/// A row of `PRAGMA table_xinfo`.
struct ColumnRow {
  let name: String
  let type: String
  /// True if the column is NOT NULL or part of the primary key.
  let isRequired: Bool
  /// The position in the primary key, from 1; 0 if the column is not part of the key.
  let key: Int
  let isGenerated: Bool

  /// The rowid of a full-text table.
  static let rowid = ColumnRow(name: "rowid", type: "INTEGER", isRequired: true, key: 1, isGenerated: false)

  static func all(of table: String, in db: SqliteDatabase) throws -> [ColumnRow] {
    try db.query("PRAGMA main.table_xinfo(\(table: table))") { row in
      let hidden = try row.get("hidden", as: Int.self)
      let key = try row.get("pk", as: Int.self)
      // 1 is a hidden column of a virtual table; 2 and 3 are generated columns.
      return hidden == 1
        ? nil
        : ColumnRow(
          name: try row.get("name"), type: try row.get("type", as: String?.self) ?? "",
          isRequired: try row.get("notnull", as: Int.self) != 0 || key > 0, key: key, isGenerated: hidden > 1)
    }.compactMap { $0 }
  }

  /// The type that a model would declare for the column's affinity.
  ///
  /// The schema does not show how numbers or texts store dates. NUMERIC is the affinity of every unknown type name.
  /// Names with DATE or TIME usually mean text, and other names mean numbers.
  var columnType: ColumnType {
    let affinity = Affinity(of: type)
    let name = type.uppercased()
    return affinity == .numeric && (name.contains("DATE") || name.contains("TIME")) ? .text : affinity.columnType
  }
}

enum KeyIndex {
  /// The key is the rowid, or there is no key.
  case none
  case ownIndex
  /// The table is a WITHOUT ROWID table. SQLite stores its rows in the index of the key.
  case table

  init(of table: String, in db: SqliteDatabase) throws {
    let indexes = try db.query("PRAGMA main.index_list(\(table: table))") { row in
      (name: try row.get("name", as: String.self), origin: try row.get("origin", as: String.self))
    }
    guard let index = indexes.first(where: { $0.origin == "pk" }) else {
      self = .none
      return
    }
    // In a table with a rowid, the last column of each index is the rowid, column -1.
    let columns = try db.query("PRAGMA main.index_xinfo(\(table: index.name))") { try $0.get("cid", as: Int.self) }
    self = columns.contains(-1) ? .ownIndex : .table
  }
}
