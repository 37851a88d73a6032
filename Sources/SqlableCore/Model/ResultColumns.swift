extension ResultColumn {
  init(_ column: Column) { self.init(identity: column.identity, type: column.type) }

  /// Makes a column that is a single value, not part of a model.
  package init(type: ColumnType? = nil) { self.init(identity: Column.unknown.identity, type: type) }
}

extension ResultDescription {
  @usableFromInline
  mutating func addValue() throws { try add([ResultColumn()]) }

  @usableFromInline
  mutating func add(_ model: (some Sqlable).Type) throws {
    let table = try TableInfo.of(model)
    models.append(ObjectIdentifier(model))
    modelColumns.append(ModelColumns(start: columns.count, table: table.name, names: table.columnNames))
    try add(table.columns.map { ResultColumn($0) })
  }
}

extension ReadRow {
  @inlinable
  init(_ row: ResultRow) {
    state = row.state
    generation = row.generation
  }
}

extension ResultRow {
  @inlinable
  package init(_ row: ReadRow, types: UnsafePointer<ColumnType?>) {
    state = row.state
    generation = row.generation
    self.types = types
  }

  @inlinable var row: ReadRow { ReadRow(self) }

  @inlinable
  mutating func value<Value: SqlValue>() throws -> Value {
    defer { position += 1 }
    return try row.value(at: position, type: types[position] ?? Value.columnType)
  }

  @inlinable
  mutating func model<Model: Sqlable>() throws -> Model {
    let count = try TableInfo.of(Model.self).count
    row.beginModel(at: position, count: count)
    position += count
    return try row.model()
  }

  /// Skips the next `count` columns if all of these columns are NULL. Returns true if the columns were skipped.
  @usableFromInline
  mutating func skipNulls(_ count: Int) -> Bool {
    for index in position..<(position + count) where !row.isNull(at: index) { return false }
    position += count
    return true
  }
}

extension SqlValue {
  @inlinable
  public static func next(of row: inout ResultRow) throws -> Self { try row.value() }

  @inlinable
  public static func isAbsent(in row: inout ResultRow) throws -> Bool { row.skipNulls(1) }

  @inlinable
  public static func describe(in description: inout ResultDescription) throws { try description.addValue() }
}

extension Sqlable {
  @inlinable
  public static func next(of row: inout ResultRow) throws -> Self { try row.model() }

  @inlinable
  public static func isAbsent(in row: inout ResultRow) throws -> Bool {
    row.skipNulls(try TableInfo.of(Self.self).count)
  }

  @inlinable
  public static func describe(in description: inout ResultDescription) throws { try description.add(Self.self) }
}
