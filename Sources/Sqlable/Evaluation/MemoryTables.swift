/// Tables in memory, made of arrays of structs, on which a query can be evaluated without a database.
///
/// ```swift
/// let tables = try MemoryTables(bikes, persons)
/// let owned = try Bicycle.join(Person.self, on: Bicycle.ownerId == Person.id).evaluate(over: tables)
/// ```
///
/// Each struct is converted to the values that an insert would store, with their defaults. An integer key that it
/// leaves out is the next free number. Constraints other than NOT NULL are not checked.
public struct MemoryTables: Sendable {
  private var tables: [Table] = []

  fileprivate struct Table: Sendable {
    let info: TableInfo
    var rows: [[DatabaseValue]] = []
    /// The number that the next row's integer key gets.
    var nextKey: Int64? = 1
  }

  /// Makes tables of these rows, named like those of their models.
  ///
  /// Throws what inserting them would throw: `.encoding` for a value that does not fit its column, and
  /// `.constraint(.notNull)` for a missing one.
  public init<each Model: Sqlable>(_ rows: repeat [each Model]) throws {
    repeat try insert(each rows)
  }

  /// Adds rows to the table of their model, or to another one with its layout.
  public mutating func insert<Model: Sqlable>(_ rows: some Sequence<Model>, into table: String? = nil) throws {
    try insert(rows, into: try table.map { try TableInfo.of(Model.self, named: $0) } ?? TableInfo.of(Model.self))
  }

  mutating func insert(_ rows: some Sequence<some Sqlable>, into info: TableInfo) throws {
    let index = tables.firstIndex { $0.info.name.isSameName(as: info.name) } ?? tables.count
    if index == tables.count { tables.append(Table(info: info)) }
    guard tables[index].info.isOfSameModel(as: info) else {
      throw SqlError.misuse("table \(info.name) already has rows of another model").at(table: info.name)
    }
    let buffer = ParameterBuffer()
    var writer = RowWriter(table: info, buffer: buffer)
    for row in rows {
      // Each row gets its own scope, so that a kept copy of an earlier row's writer can't change a later row.
      let mark = buffer.mark
      defer { buffer.release(to: mark) }
      try writer.take(row)
      try tables[index].add(writer.values)
    }
  }

  /// The columns and rows of a query's table. Throws `.schema` for a table that is missing or of another model.
  func contents(of table: TableInfo) throws -> (columns: [MemoryColumn], rows: [[MemoryValue]]) {
    if table.database != nil { throw MemoryPlanner.refusal("an attached database").at(table: table.name) }
    guard let own = tables.first(where: { $0.info.name.isSameName(as: table.name) }) else {
      throw SqlError(
        .schema(.missingTable(table.name)), message: "table \(table.name) is not among the tables in memory",
        table: table.name)
    }
    guard own.info.isOfSameModel(as: table) else {
      throw SqlError(
        .schema(.mismatch("table \(table.name) is of another model")),
        message: "table \(table.name) in memory is of another model than the query's", table: table.name)
    }
    if let column = table.columns.first(where: { $0.definition.options.generated != nil }) {
      throw MemoryPlanner.refusal("generated column \(column.name)").at(table: table.name, column: column.name)
    }
    let columns = try table.columns.map { column in
      MemoryColumn(
        affinity: MemoryAffinity(column.type.storageClass),
        collation: try column.definition.options.collation.map { try MemoryCollation($0) })
    }
    return (columns, own.rows.map { $0.map { MemoryValue($0) } })
  }
}

extension MemoryTables.Table {
  /// Adds the values that a struct wrote.
  fileprivate mutating func add(_ values: RowValues) throws {
    var row: [DatabaseValue] = []
    for (position, column) in info.columns.enumerated() {
      let value = DatabaseValue(values[position]) ?? .null
      let stored = values[position].isSet ? value : try missing(column, at: position)
      guard stored != .null || column.type.isNullable || column.definition.options.generated != nil else {
        throw SqlError(
          .constraint(.notNull), message: "NOT NULL constraint failed: \(info.name).\(column.name)", code: 19,
          extendedCode: 1299, table: info.name, column: column.name)
      }
      row.append(try MemoryValue(stored).converted(to: MemoryAffinity(column.type.storageClass)).databaseValue)
    }
    if info.keyIsRowid, case .integer(let key) = row[info.key[0]], let next = nextKey, key >= next {
      nextKey = key == .max ? nil : key + 1
    }
    rows.append(row)
  }

  /// The value of a column that a struct left out.
  private func missing(_ column: Column, at position: Int) throws -> DatabaseValue {
    if info.keyIsRowid, info.key[0] == position {
      guard let nextKey else { throw SqlError(.full, message: "database or disk is full", code: 13, table: info.name) }
      return .integer(nextKey)
    }
    return try column.definition.options.defaultValue?.value(in: column.type) ?? .null
  }
}
