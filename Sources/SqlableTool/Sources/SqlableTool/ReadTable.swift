import Sqlable

/// A table or view of a database, with the types of its values.
struct ReadTable {
  enum Kind {
    case table(DatabaseSchema.Table)
    case fullText(FullTextArguments)
    /// A virtual table of a module other than FTS5.
    case virtual(SchemaText)
    case view(DatabaseSchema.View)
  }

  struct Column {
    let row: ColumnRow
    let schema: DatabaseSchema.Column?
    let type: ValueType
    let hasNull: Bool
    let defaultValue: ColumnDefault
  }

  let name: String
  let kind: Kind
  private(set) var columns: [Column] = []
  private(set) var keyIsRowid = false
  private(set) var keyIndex = KeyIndex.none
  private(set) var lacksColumns = false
  /// The reason why a view or virtual table can't be read; nil if it can be read.
  private(set) var problem: String?

  var isReadOnly: Bool {
    switch kind {
    case .table, .fullText: false
    case .virtual, .view: true
    }
  }

  var table: DatabaseSchema.Table? { if case .table(let table) = kind { table } else { nil } }

  init(_ table: DatabaseSchema.Table, in db: SqliteDatabase, sample: Int?) throws {
    name = table.name
    if let arguments = FullTextArguments(table.module) {
      kind = .fullText(arguments)
    } else {
      kind = table.module.map { .virtual($0) } ?? .table(table)
    }
    try read(db, sample)
  }

  init(_ view: DatabaseSchema.View, in db: SqliteDatabase, sample: Int?) throws {
    name = view.name
    kind = .view(view)
    try read(db, sample)
  }

  private mutating func read(_ db: SqliteDatabase, _ sample: Int?) throws {
    do {
      // A model can't declare a column with an empty name.
      let all = try ColumnRow.all(of: name, in: db)
      var rows = all.filter { !$0.name.isEmpty }
      lacksColumns = rows.count < all.count
      if case .fullText = kind { rows.insert(ColumnRow.rowid, at: 0) }
      if table != nil {
        keyIndex = try KeyIndex(of: name, in: db)
        let key = rows.filter { $0.key > 0 }
        keyIsRowid = key.count == 1 && keyIndex == .none
      }
      let profiles = try db.profiles(of: rows.map(\.name), in: name, sample: sample)
      columns = try zip(rows, profiles).map { try Column($0, $1, in: self, db) }
    } catch let error as SqlError where table == nil && error.kind != .corrupt {
      // Store the message instead of throwing, because the view or virtual table might use a missing function, module
      // or table.
      problem = error.message
    }
  }
}

extension ReadTable {
  /// Returns true if SQLite treats the declared type and the model's type alike.
  func isDeclared(_ type: String, as column: Column) -> Bool {
    let modelType = column.type.sqlName
    if SchemaText(type) == SchemaText(modelType) { return true }
    // A key is the rowid only if its type is exactly INTEGER.
    let isOnlyKey = column.row.key > 0 && columns.count { $0.row.key > 0 } == 1
    if isOnlyKey, modelType == "INTEGER" { return false }
    guard table?.isStrict == true else { return TypeAffinity.isSame(type, modelType) }
    return modelType == "INTEGER" && SchemaText(type) == "INT"
  }
}

extension ReadTable.Column {
  fileprivate init(_ row: ColumnRow, _ profile: ColumnProfile, in table: ReadTable, _ db: SqliteDatabase) throws {
    self.row = row
    schema = table.table?[column: row.name]
    hasNull = profile.hasNull
    defaultValue = try ColumnDefault(schema?.defaultValue, db)
    let refers = row.key > 0 || table.table?.refers(row.name) == true
    var type = ValueType(profile, declared: row.type, refers: refers, hasOtherDefault: defaultValue.isNoTruth)
    if case .fullText(let arguments) = table.kind, row.key == 0 {
      // FTS5 searches only text.
      let isSearched = !arguments.unindexed.contains(row.name)
      let isText = profile.classes.isSubset(of: [.text]) && !profile.hasBrokenText
      if isText, isSearched || profile.classes.isEmpty {
        type = ValueType(base: .text)
      } else if isSearched {
        type = .any(.text, holding: profile.classes)
      }
    }
    self.type = type
  }

  var name: String { row.name }
}

extension DatabaseSchema.Table {
  fileprivate func refers(_ column: String) -> Bool {
    foreignKeys.contains { $0.columns.contains { $0.isName(column) } }
  }
}
