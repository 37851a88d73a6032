import ArgumentParser
import Sqlable

/// A table of the database in the form of a model's declaration.
struct DeclaredTable {
  let name: String
  let columns: [Column]
  let key: [Column]
  let options: [TableOption]
  let fullText: FullTextIndex

  /// The column types that the user specified, by table and column.
  typealias Types = [String: [String: ColumnType]]

  static func all(in db: SqliteDatabase, _ types: Types) throws -> [DeclaredTable] {
    let rows = try db.query(
      "SELECT name, coalesce(sql, '') FROM main.sqlite_schema WHERE type IN ('table', 'view')", as: String.self,
      String.self)
    let tables = rows.filter { !$0.0.lowercased().hasPrefix("sqlite_") }
    // Allow duplicate keys, because `==` can treat two names as equal that SQLite treats as different.
    let definitions = Dictionary(tables.map { ($0.0, $0.1) }) { first, _ in first }
    for (table, columns) in types {
      guard definitions[table] != nil else { throw ValidationError("--column: no such table: \(table)") }
      let names = try ColumnRow.all(of: table, in: db).map(\.name)
      for column in columns.keys where !names.contains(column) {
        throw ValidationError("--column: table \(table) has no column \(column)")
      }
    }
    // Give each column a different line number. Otherwise columns of two tables with the same name and type are equal.
    var line: UInt = 0
    return try tables.map { name, sql in
      try DeclaredTable(name, sql: sql, indexSQL: definitions[name + "_fulltext"], types[name] ?? [:], db, &line)
    }
  }

  private init(
    _ name: String, sql: String, indexSQL: String?, _ types: [String: ColumnType], _ db: SqliteDatabase,
    _ line: inout UInt
  ) throws {
    self.name = name
    let rows = try ColumnRow.all(of: name, in: db)
    let keyIndex = try KeyIndex(of: name, in: db)
    let isFullText = sql.isFullTextTable
    var columns: [Column] = []
    var key: [(order: Int, column: Column)] = []
    let keyCount = rows.count { $0.key > 0 }
    if isFullText {
      line += 1
      columns.append(Column("rowid", .integer, PrimaryKey(), line: line))
    }
    for row in rows {
      line += 1
      var options = ColumnOptionList()
      if row.isGenerated { options.add(Generated("")) }
      if row.key > 0, keyCount == 1 {
        // SQLite creates a separate index for a key that is declared INTEGER and descending.
        options.add(PrimaryKey(descending: keyIndex == .ownIndex && row.type.uppercased() == "INTEGER"))
      }
      let type = types[row.name] ?? (isFullText ? .text : row.columnType)
      // A full-text index contains only text, so no other column is indexed.
      if isFullText, type != .text { options.add(Unindexed()) }
      let column = Column(row.name, row.isRequired ? type : .nullable(type), options, line: line)
      columns.append(column)
      if row.key > 0 { key.append((row.key, column)) }
    }
    self.columns = columns
    self.key = keyCount > 1 ? key.sorted { $0.order < $1.order }.map(\.column) : []
    options = (keyIndex == .table ? [.withoutRowid] : []) + (isFullText ? [.fullText()] : [])
    fullText = try indexSQL.map { try DeclaredTable.index($0, besides: name, columns, db) } ?? FullTextIndex()
  }

  /// Returns the full-text index of a table: the FTS5 table whose name is the table's name plus `_fulltext`.
  private static func index(
    _ sql: String, besides table: String, _ columns: [Column], _ db: SqliteDatabase
  ) throws -> FullTextIndex {
    guard sql.isFullTextTable else { return FullTextIndex() }
    let names = try ColumnRow.all(of: table + "_fulltext", in: db).map(\.name)
    let indexed = names.compactMap { name in columns.first { $0.name == name } }
    return indexed.count == names.count ? FullTextIndex(columns: indexed) : FullTextIndex()
  }
}

private struct ColumnOptionList: AppliedOption {
  private var options: [any ColumnOption] = []

  mutating func add(_ option: some ColumnOption) { options.append(option) }

  func apply(to options: inout ColumnOptions) {
    for option in self.options { (option as? any AppliedOption)?.apply(to: &options) }
  }
}

extension String {
  fileprivate var isFullTextTable: Bool { virtualTableModule.map { $0 == Array("fts5".utf8) } ?? false }
}
