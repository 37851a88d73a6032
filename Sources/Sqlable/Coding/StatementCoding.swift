// The JSON form of statements: the tree with all keys, including those without a value. It can be stored and sent
// between processes of the same version; decoding checks a statement against its model.

/// A statement can be stored in a column, as its JSON text.
///
/// ```swift
/// static let search = column("search", Statement<Bicycle, [Bicycle]>.self)
/// ```
///
/// Reading it throws `.decoding` if it no longer fits its model, and storing it what encoding it throws. Every kind is
/// read that the column's type allows: a program that stores statements of others checks their `kind` first.
extension Statement: SqlJSON {
  public init(databaseValue: DatabaseValue) throws {
    do { self = try JSONText.decode(Statement.self, from: databaseValue) } catch let error as SqlError {
      if case .decoding = error.kind { throw error }
      throw SqlError.decoding(
        expected: "a statement of \(Model.self)", found: "one that does not fit: \(error.message)")
    }
  }
}

extension Statement: Codable {
  private enum Key: String, CodingKey, CaseIterable {
    case table, query, rows
  }

  /// Encodes the statement. Throws the error that running it would throw before SQLite sees it, such as for a column of
  /// another table or a value that can't be stored. Encode a change that returns rows as a ``ReturningStatement``.
  public func encode(to encoder: any Encoder) throws {
    guard !tree.returnsRows else {
      throw SqlError.invalidStatement(
        tree.returned == .rows
          ? "a change that returns rows must be encoded as a ReturningStatement"
          : "a change that returns terms can't be encoded")
    }
    try encodeChecked(to: encoder)
  }

  /// Decodes a statement. Throws `.invalidStatement` if it is for another table or of another kind, and `.schema` if it
  /// contains a column that the model does not have.
  ///
  /// Decode a change that returns rows as a ``ReturningStatement``. ``StatementRules`` can allow other tables and
  /// restrict the kinds.
  public init(from decoder: any Decoder) throws { try self.init(from: decoder, returning: false) }

  func encodeChecked(to encoder: any Encoder) throws {
    let table = try tree.table
    // Encoded columns are only names, so after decoding a column of another table could pass for one of this table.
    _ = try withValues()
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(table.name, forKey: .table)
    try container.encode(StatementForm(tree, of: Model.self, Output.self), forKey: .query)
    try container.encode(try storedRows().map { try $0.byName() }, forKey: .rows)
  }

  /// Decodes a change that returns rows if `returning` is true, otherwise any other statement.
  init(from decoder: any Decoder, returning: Bool) throws {
    let rules = try StatementRules.of(decoder)
    let container = try decoder.container(exactly: Key.self)
    let form = try container.decode(StatementForm.self, forKey: .query)
    let own = try TableInfo.of(Model.self).name
    let named = try container.decode(String.self, forKey: .table)
    guard named.isExactly(form.tableName ?? own) else {
      throw SqlError.invalidStatement("the statement is not for table \(own)").at(table: own)
    }
    // Checked before a table with a name from untrusted input is created, which is never freed.
    let tableName = try form.tableName.map { try rules.spelling(of: $0, own: own) }
    guard form.returning == returning else {
      throw SqlError.invalidStatement(
        returning
          ? "the statement returns no rows" : "a change that returns rows must be decoded as a ReturningStatement"
      ).at(table: own)
    }
    let stored = try container.decode([[String: DatabaseValue]].self, forKey: .rows)
    let tree = form.tree(of: tableName.map(TableInfo.unchecked(Model.self).named) ?? .unchecked(Model.self))
    let takesOneRow = tree.takesRows && form.kind != .insertMany
    guard form.gives(Output.self, of: Model.self), tree.takesRows || stored.isEmpty, !takesOneRow || stored.count == 1
    else { throw SqlError.invalidStatement("the statement is of another kind than its type").at(table: own) }
    self.tree = tree
    let all = stored.map { StoredRow($0) }
    rows = tree.takesRows ? .stored(all) : .none
    guard rules.kinds.contains(kind) else {
      throw SqlError.invalidStatement("the decoder does not allow statements of kind \(kind)").at(table: own)
    }
    try checkDecoded(all)
  }

  /// Renders the statement, which checks all names, values and modifiers.
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
      // Rows may still be streamed when it runs.
      writer.clear()
      for position in table.columns.indices where !table.cells[position].isGenerated { writer.put(.null, at: position) }
      let empty = writer
      // It owns memory that is accessed only through pointers.
      try withExtendedLifetime(empty) {
        try StatementWriter(table: table, sql: sql, parameters: buffer).write(tree, row: empty.values)
      }
    }
  }
}

/// A change that returns rows, for encoding and decoding.
///
/// A decoded ``Statement`` with the type of a read never changes anything, so changes that return rows have their own
/// type:
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

/// Encodes SQLite's built-in collations by name. Others throw, so that decoded input can't call collations that the
/// program registered.
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
    throw SqlError.invalidStatement("only SQLite's built-in collations can be encoded")
  }
}
