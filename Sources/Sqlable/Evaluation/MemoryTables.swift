import SqlableCore
import SqlableSchema

/// Tables made of arrays of structs. A query can be evaluated on these tables without a database.
///
/// ```swift
/// let tables = try MemoryTables(bikes, persons)
/// let owned = try Bicycle.join(Person.self, on: Bicycle.ownerId == Person.id).evaluate(over: tables)
/// ```
///
/// Each struct is converted to the values that an insert would store, including defaults. If a struct leaves out an
/// integer key, the row gets the next free number. A default that is an SQL expression or the current time is computed
/// in each evaluation. Constraints other than NOT NULL are not checked, unless the model has a full-text index.
public struct MemoryTables: Sendable {
  fileprivate var tables: [Table] = []
  fileprivate var functions: FunctionRegistry?

  fileprivate struct Table: Sendable {
    let info: TableInfo
    /// The values by column; nil for a default that SQLite computes.
    var rows: [[DatabaseValue?]] = []
    /// The key of the next row that leaves out its integer key; nil if the largest key is in use.
    var nextKey: Int64? = 1
  }

  /// Creates tables that contain these rows. The tables have the names of the models' tables.
  ///
  /// Throws `.encoding` for a value that does not fit its column.
  public init<each Model: Sqlable>(_ rows: repeat [each Model]) throws {
    repeat try insert(each rows)
  }

  /// Adds rows to the table of their model, or to the table named `table`, which gets the model's columns.
  ///
  /// Throws `.misuse` if the table contains rows of another model, and `.encoding` for a value that does not fit its
  /// column.
  public mutating func insert<Model: Sqlable>(_ rows: some Sequence<Model>, into table: String? = nil) throws {
    try insert(rows, into: try table.map { try TableInfo.of(Model.self, named: $0) } ?? TableInfo.of(Model.self))
  }

  /// Lets evaluated queries use the functions, collations and tokenizers of a handle.
  public mutating func useFunctions(of db: SqliteDatabase) { functions = db.functions }

  mutating func insert(_ rows: some Sequence<some Sqlable>, into info: TableInfo) throws {
    let index = tables.firstIndex { $0.info.name.isSameName(as: info.name) } ?? tables.count
    if index == tables.count { tables.append(Table(info: info)) }
    guard tables[index].info.hasSameModel(as: info) else {
      throw SqlError.misuse("table \(info.name) already has rows of another model").at(table: info.name)
    }
    let buffer = ParameterBuffer()
    var writer = RowWriter(table: info, buffer: buffer)
    for row in rows {
      // Each row gets its own mark. If `write(to:)` of an earlier row kept a copy of the writer, `release(to:)` has
      // made that copy invalid, so the copy can't change this row.
      let mark = buffer.mark
      defer { buffer.release(to: mark) }
      try writer.take(row)
      try tables[index].add(writer.values)
    }
  }

  func reading<Value>(_ body: (SqliteDatabase) throws -> Value) throws -> Value {
    let database = try MemoryDatabase.take(for: self)
    return try database.db.running { connection in
      try connection.run(.beginDeferred)
      let result = Result {
        for table in tables { try table.fill(connection) }
        return try body(database.db)
      }
      // If the rollback fails because an error has ended the transaction, the database is not reused.
      if (try? connection.run(.rollback)) != nil { MemoryDatabase.giveBack(database) }
      return try result.get()
    }
  }
}

extension MemoryTables.Table {
  fileprivate mutating func add(_ values: RowValues) throws {
    var row: [DatabaseValue?] = []
    for (position, column) in info.columns.enumerated() {
      let isSet = values[position].isSet
      row.append(isSet ? DatabaseValue(values[position]) ?? .null : try missing(column, at: position))
    }
    if info.keyIsRowid, case .integer(let key) = row[info.key[0]], let next = nextKey, key >= next {
      nextKey = key == .max ? nil : key + 1
    }
    rows.append(row)
  }

  /// Returns the value of a column that a struct left out; nil for a default that SQLite computes.
  private func missing(_ column: Column, at position: Int) throws -> DatabaseValue? {
    if info.keyIsRowid, info.key[0] == position {
      guard let nextKey else { throw SqlError(.full, message: "database or disk is full", code: 13, table: info.name) }
      return .integer(nextKey)
    }
    guard let value = column.definition.options.defaultValue else { return .null }
    return try value.constant(in: column.type)
  }

  fileprivate func create(in db: SqliteDatabase) throws {
    if let fullText = info.fullText, !fullText.isExternal {
      _ = try db.createFullTextTable(fullText)
      return
    }
    let definition = TableDefinition(info)
    let hasIndex = info.fullText != nil
    try db.running { connection in
      try db.execute(
        SQL(
          verbatim: try hasIndex
            ? definition.createTable(for: connection) : definition.createTableWithoutConstraints(for: connection)))
    }
    if let fullText = info.fullText { _ = try db.createFullTextIndex(fullText, isNewTable: true) }
  }

  fileprivate func fill(_ connection: Connection) throws {
    guard !rows.isEmpty else { return }
    let positions = info.columns.indices.filter { info.columns[$0].definition.options.generated == nil }
    let statement = try insert(positions, connection)
    defer { statement.reset() }
    for row in rows {
      guard row.contains(nil) else {
        try fill(statement, row, positions)
        continue
      }
      let positions = positions.filter { row[$0] != nil }
      let statement = try insert(positions, connection)
      defer { statement.reset() }
      try fill(statement, row, positions)
    }
  }

  private func insert(_ positions: [Int], _ connection: Connection) throws -> PreparedStatement {
    let names = positions.map { info.columns[$0].name.quotedName }.joined(separator: ", ")
    let holders = [String](repeating: "?", count: positions.count).joined(separator: ", ")
    let values = positions.isEmpty ? "DEFAULT VALUES" : "(\(names)) VALUES (\(holders))"
    return try connection.prepareText("INSERT INTO \(info.name.quotedName) \(values)")
  }

  private func fill(_ statement: PreparedStatement, _ row: [DatabaseValue?], _ positions: [Int]) throws {
    statement.rewind()
    for (number, position) in positions.enumerated() {
      try statement.bindCopy(row[position] ?? .null, at: Int32(number + 1))
    }
    _ = try statement.step()
  }
}

/// A database in memory with empty tables for an evaluation. Later evaluations on the same tables reuse the database.
private struct MemoryDatabase: Sendable {
  let db: SqliteDatabase
  private let tables: [TableInfo]
  private let functions: FunctionRegistry?

  private static let free = LockedValue<[MemoryDatabase]>([])
  private static let maximumFree = 8

  private init(for tables: MemoryTables) throws {
    db = try .inMemory(functions: tables.functions)
    self.tables = tables.tables.map(\.info)
    functions = tables.functions
    for table in tables.tables { try table.create(in: db) }
  }

  private func fits(_ tables: MemoryTables) -> Bool {
    functions === tables.functions && self.tables.elementsEqual(tables.tables.map(\.info), by: ===)
  }

  static func take(for tables: MemoryTables) throws -> MemoryDatabase {
    let reusable = free.withLock { free in free.lastIndex { $0.fits(tables) }.map { free.remove(at: $0) } }
    if let reusable, !reusable.db.isForked { return reusable }
    return try MemoryDatabase(for: tables)
  }

  static func giveBack(_ database: MemoryDatabase) {
    free.withLock { free in
      if free.count == maximumFree { free.removeFirst() }
      free.append(database)
    }
  }
}
