// The JSON form of statements: the tree as it is, with every key, empty ones too. It can be stored and sent between
// processes of the same version; a decoded statement is checked against its model before anybody can run it.

extension Statement: Codable {
  private enum Key: String, CodingKey, CaseIterable {
    case table, query, rows
  }

  /// Throws what running the statement would throw before SQLite sees it: a column of another table, a value that can't
  /// be stored. A change that returns rows is encoded as a ``ReturningStatement``.
  public func encode(to encoder: any Encoder) throws {
    guard !tree.returnsRows else {
      throw SqlError.invalidStatement(
        tree.returned == .rows
          ? "a change that returns rows is encoded as a ReturningStatement"
          : "a change that returns terms has no form as data")
    }
    try encodeChecked(to: encoder)
  }

  /// Throws `.invalidStatement` when the statement is of another table or of another kind, and `.schema` when it names
  /// a column that the model has not.
  ///
  /// A change that returns rows is decoded as a ``ReturningStatement``. ``StatementRules`` allow other tables and fewer
  /// kinds.
  public init(from decoder: any Decoder) throws { try self.init(from: decoder, returning: false) }

  func encodeChecked(to encoder: any Encoder) throws {
    let table = try tree.table
    // Columns are known by their names on the other side, where one of another table could pass for this one's.
    _ = try withValues()
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(table.name, forKey: .table)
    try container.encode(StatementForm(tree, of: Model.self, Output.self), forKey: .query)
    try container.encode(try storedRows().map { try $0.byName() }, forKey: .rows)
  }

  /// Decodes a change that returns rows, or a statement of any other kind.
  init(from decoder: any Decoder, returning: Bool) throws {
    let rules = try StatementRules.of(decoder)
    let container = try decoder.container(exactly: Key.self)
    let form = try container.decode(StatementForm.self, forKey: .query)
    let own = try TableInfo.of(Model.self).name
    let named = try container.decode(String.self, forKey: .table)
    guard named.isExactly(form.tableName ?? own) else {
      throw SqlError.invalidStatement("the statement is of another table than \(own)").at(table: own)
    }
    // Before anything is kept of a table whose name comes from outside.
    let tableName = try form.tableName.map { try rules.spelling(of: $0, own: own) }
    guard form.returning == returning else {
      throw SqlError.invalidStatement(
        returning
          ? "the statement returns no rows" : "a change that returns rows is decoded as a ReturningStatement"
      ).at(table: own)
    }
    let stored = try container.decode([[String: DatabaseValue]].self, forKey: .rows)
    let tree = form.tree(of: tableName.map(TableInfo.unchecked(Model.self).named) ?? .unchecked(Model.self))
    let isAtomic = tree.takesRows && form.kind != .insertMany
    guard form.gives(Output.self, of: Model.self), tree.takesRows || stored.isEmpty, !isAtomic || stored.count == 1
    else { throw SqlError.invalidStatement("the statement is of another kind").at(table: own) }
    self.tree = tree
    let all = stored.map { StoredRow($0) }
    rows = tree.takesRows ? .stored(all) : .none
    guard rules.kinds.contains(kind) else {
      throw SqlError.invalidStatement("the decoder does not allow statements that \(kind)").at(table: own)
    }
    try checkDecoded(all)
  }

  /// Renders the statement, which checks every name and value, and every rule that a modifier must keep.
  private func checkDecoded(_ stored: [StoredRow]) throws {
    let table = try tree.table
    try tree.checkValues(of: table)
    let (sql, buffer) = (SqlBuffer(), ParameterBuffer())
    try withExtendedLifetime(buffer) {
      var writer = RowWriter(table: table, buffer: buffer)
      for row in stored.dropFirst() { try writer.take(row) }
      guard tree.takesRows, stored.isEmpty else {
        _ = try withValues()
        return
      }
      // Structs may still come, from a stream.
      writer.clear()
      for position in table.columns.indices where !table.cells[position].isGenerated { writer.put(.null, at: position) }
      let empty = writer
      // It owns memory that is reached by its address only.
      try withExtendedLifetime(empty) {
        try StatementWriter(table: table, sql: sql, parameters: buffer).write(tree, row: empty.values)
      }
    }
  }
}

/// A change that returns the rows that it changed, as data.
///
/// A decoded ``Statement`` changes nothing where its type is that of a read, so these have a type of their own:
///
/// ```swift
/// let change = ReturningStatement(Bicycle.delete(Bicycle.color == "red").returning())
/// let data = try JSONEncoder().encode(change)
/// let same = try JSONDecoder().decode(ReturningStatement<Bicycle, [Bicycle]>.self, from: data)
/// let gone = try same.statement.run(db)     // [Bicycle]
/// ```
///
/// Encoding or decoding a statement that returns no rows throws `.invalidStatement`.
public struct ReturningStatement<Model: Sqlable, Output>: Sendable, Hashable {
  public let statement: Statement<Model, Output>

  public init(_ statement: Statement<Model, Output>) { self.statement = statement }
}

extension ReturningStatement: Codable {
  public func encode(to encoder: any Encoder) throws {
    guard statement.tree.returnsRows else { throw SqlError.invalidStatement("the statement returns no rows") }
    try statement.encodeChecked(to: encoder)
  }

  public init(from decoder: any Decoder) throws { statement = try Statement(from: decoder, returning: true) }
}

extension Upsert: Codable {
  private enum Key: String, CodingKey, CaseIterable {
    case target, columns, assignments, condition
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(exactly: Key.self)
    target = try container.decode([ColumnReference]?.self, forKey: .target)
    columns = try container.decode([ColumnReference]?.self, forKey: .columns)
    assignments = try container.decode([Assignment].self, forKey: .assignments)
    condition = try container.decode(SqlExpression?.self, forKey: .condition)
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(target, forKey: .target)
    try container.encode(columns, forKey: .columns)
    try container.encode(assignments, forKey: .assignments)
    try container.encode(condition, forKey: .condition)
  }
}

extension Assignment: Codable {
  private enum Key: String, CodingKey, CaseIterable {
    case column, value
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(exactly: Key.self)
    column = try container.decode(ColumnReference.self, forKey: .column)
    value = try container.decode(SqlExpression.self, forKey: .value)
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(column, forKey: .column)
    try container.encode(value, forKey: .value)
  }
}

extension OrderTerm: Codable {
  private enum Key: String, CodingKey, CaseIterable {
    case expression, order
  }

  @usableFromInline
  init(from decoder: any Decoder) throws {
    let container = try decoder.container(exactly: Key.self)
    expression = try container.decode(SqlExpression.self, forKey: .expression)
    direction = try container.decode(Direction.self, forKey: .order)
  }

  @usableFromInline
  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(expression, forKey: .expression)
    try container.encode(direction, forKey: .order)
  }
}

extension ColumnReference: Codable {
  init(from decoder: any Decoder) throws {
    self = .named(try decoder.singleValueContainer().decode(String.self))
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(name)
  }
}

/// SQLite's own, by their names: what comes from elsewhere calls nothing that the program has registered.
extension Collate: Codable {
  public init(from decoder: any Decoder) throws {
    self.init(rawValue: try decoder.singleValueContainer().decode(String.self))
    try checkHasForm()
  }

  public func encode(to encoder: any Encoder) throws {
    try checkHasForm()
    var container = encoder.singleValueContainer()
    try container.encode(rawValue)
  }

  private func checkHasForm() throws {
    guard case .named = self else { return }
    throw SqlError.invalidStatement("a collation that is not SQLite's own has no form as data")
  }
}
