/// The CREATE statements of a model.
struct TableDefinition {
  private let table: TableInfo

  init(_ table: TableInfo) { self.table = table }

  /// `connection` finds the literals for numbers.
  ///
  /// - Parameters:
  ///   - name: The table's name; nil for its own.
  ///   - others: The declarations of further columns, and further constraints.
  func createTable(
    for connection: Connection, named name: String? = nil,
    with others: (columns: [String], constraints: [String]) = ([], [])
  ) throws -> String {
    var parts = try table.columns.map { try definition(of: $0) { try connection.literal($0, isConstant: false) } }
    parts += others.columns
    let constraints = table.constraints
    if !constraints.primaryKey.isEmpty { parts.append("PRIMARY KEY (\(try list(constraints.primaryKey)))") }
    for columns in constraints.unique { parts.append("UNIQUE (\(try list(columns)))") }
    for check in constraints.checks { parts.append("CHECK (\(check))") }
    for (columns, reference) in constraints.foreignKeys {
      let names = try columns.map { try quotedColumn($0) }.joined(separator: ", ")
      parts.append("FOREIGN KEY (\(names)) \(try references(reference, count: columns.count))")
    }
    parts += others.constraints
    var options: [String] = []
    if table.options.contains(.strict) { options.append("STRICT") }
    if table.options.contains(.withoutRowid) { options.append("WITHOUT ROWID") }
    let tail = options.isEmpty ? "" : " " + options.joined(separator: ", ")
    return "CREATE TABLE \((name ?? table.name).quotedName) (\(parts.joined(separator: ", ")))\(tail)"
  }

  func create(_ index: Index) throws -> String {
    let name = index.name(inTable: table.name).quotedName
    let kind = index.isUnique ? "UNIQUE INDEX" : "INDEX"
    return "CREATE \(kind) \(name) ON \(table.name.quotedName) (\(try list(index.columns)))"
  }

  /// Throws `.schema(.mismatch)` for a column that SQLite can't add to a table that may have rows.
  func addColumn(_ column: Column, for connection: Connection) throws -> String {
    let options = column.definition.options
    let hasDefault = try options.defaultValue.map { try $0.value(in: column.type) != .null } ?? false
    let reason: String? =
      if isKey(column) { "it is part of the primary key" } else if options.isUnique {
        "it is unique"
      } else if options.generated?.isStored == true {
        "it is generated and stored"
      } else if !column.type.isNullable, !hasDefault, options.generated == nil {
        "it can't be NULL and has no default for existing rows"
      } else if options.foreignKey != nil, hasDefault {
        "its default would refer to a row that may not exist"
      } else { nil }
    if let reason {
      let message = "column \(table.name).\(column.name) can't be added to the existing table: \(reason)"
      throw SqlError(.schema(.mismatch(message)), message: message, table: table.name, column: column.name)
    }
    return "ALTER TABLE \(table.name.quotedName) ADD COLUMN "
      + (try definition(of: column) { try connection.literal($0, isConstant: true) })
  }

  private func isKey(_ column: Column) -> Bool {
    table.key.contains { table.columns[$0].name.isExactly(column.name) }
  }

  private func definition(of column: Column, real: (Double) throws -> String) throws -> String {
    let options = column.definition.options
    var text = "\(column.name.quotedName) \(column.type.sqlName)"
    if let key = options.primaryKey {
      text += " PRIMARY KEY" + (key.isDescending ? " DESC" : "")
      if key.autoincrement {
        guard table.keyIsRowid, !key.isDescending else {
          throw SqlError.misuse("only an ascending integer key can have autoincrement")
            .at(table: table.name, column: column.name)
        }
        text += " AUTOINCREMENT"
      }
    }
    // SQLite allows NULL in every primary key except an integer one: an old bug, kept for compatibility. A struct's
    // row with such a key could not be found again, so a key is NOT NULL even if its column is nullable.
    if isKey(column) ? !table.keyIsRowid : !column.type.isNullable { text += " NOT NULL" }
    if options.isUnique { text += " UNIQUE" }
    if let value = options.defaultValue {
      do { text += " DEFAULT \(try value.value(in: column.type).literal(real: real))" } catch {
        throw Default.located(error, table: table.name, column: column)
      }
    }
    if let collation = options.collation { text += " COLLATE \(String(decoding: collation.sql, as: UTF8.self))" }
    if let check = options.check { text += " CHECK (\(check))" }
    if let generated = options.generated {
      text += " GENERATED ALWAYS AS (\(generated.sql)) \(generated.isStored ? "STORED" : "VIRTUAL")"
    }
    if let reference = options.foreignKey { text += " \(try references(reference, count: 1))" }
    return text
  }

  private func references(_ reference: ForeignKeyReference, count: Int) throws -> String {
    let columns = try reference.columns() ?? reference.primaryKey()
    guard columns.count == count else {
      throw SqlError.misuse(
        "a foreign key of \(count) columns can't refer to \(columns.count) columns of \(reference.table())"
      ).at(table: table.name)
    }
    var text = "REFERENCES \(reference.table().quotedName) (\(columns.map(\.quotedName).joined(separator: ", ")))"
    if reference.onDelete != .noAction { text += " ON DELETE \(reference.onDelete.rawValue)" }
    if reference.onUpdate != .noAction { text += " ON UPDATE \(reference.onUpdate.rawValue)" }
    if reference.isDeferred { text += " DEFERRABLE INITIALLY DEFERRED" }
    return text
  }

  private func list(_ columns: [IndexColumn]) throws -> String {
    try columns.map { try quotedColumn($0.name) + ($0.isDescending ? " DESC" : "") }.joined(separator: ", ")
  }

  private func quotedColumn(_ name: String) throws -> String {
    guard table.position(named: name) != nil else {
      throw SqlError.misuse("a constraint or index names column \(name), which the table does not have")
        .at(table: table.name, column: name)
    }
    return name.quotedName
  }
}

extension DatabaseValue {
  /// The value as SQL text, for what can't bind values, such as a CREATE TABLE.
  func literal(real spelling: (Double) throws -> String) throws -> String {
    switch self {
    case .null: return "NULL"
    case .integer(let integer): return integer < 0 ? "(\(integer))" : "\(integer)"
    case .real(let real): return try spelling(real)
    case .text(let text):
      // A NUL byte would end the statement's text.
      guard !text.utf8.contains(0) else { return "(CAST(\(DatabaseValue.hexadecimal(text.utf8)) AS TEXT))" }
      return text.quotedText
    case .blob(let data): return DatabaseValue.hexadecimal(data)
    }
  }

  private static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
    let digits = Array("0123456789abcdef".utf8)
    var text = Array("x'".utf8)
    for byte in bytes { text += [digits[Int(byte >> 4)], digits[Int(byte & 15)]] }
    return String(decoding: text + [UInt8(ascii: "'")], as: UTF8.self)
  }
}
