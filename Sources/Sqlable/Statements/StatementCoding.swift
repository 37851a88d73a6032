// The JSON form of statements: the tree as it is. It can be stored and sent between processes of the same version; a
// decoded statement is checked against its model before anybody can run it.

extension Statement: Codable {
  private enum Key: String, CodingKey {
    case table, query, rows
  }

  /// Throws what running the statement would throw before SQLite sees it: a column of another table, a value that can't
  /// be stored.
  public func encode(to encoder: any Encoder) throws {
    let table = try TableInfo.of(Model.self)
    // Columns are known by their names on the other side, where one of another table could pass for this one's.
    _ = try rendered()
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(table.name, forKey: .table)
    try container.encode(query, forKey: .query)
    let rows = try storedRows()
    if !rows.isEmpty { try container.encode(rows.map(\.values), forKey: .rows) }
  }

  /// Throws `.invalidStatement` when the statement is of another table or of another kind, and `.schema` when it names a
  /// column that the model has not.
  public init(from decoder: any Decoder) throws {
    let table = try TableInfo.of(Model.self)
    let container = try decoder.container(keyedBy: Key.self)
    let name = try container.decode(String.self, forKey: .table)
    guard name == table.name else {
      throw SqlError.invalidStatement("the statement is of another table than \(table.name)").at(table: table.name)
    }
    query = try container.decode(Query.self, forKey: .query)
    let stored = try container.decodeIfPresent([[String: SqlStorage]].self, forKey: .rows) ?? []
    rows = query.kind.takesRows ? .stored(stored.map { StoredRow(values: $0) }) : .none
    guard query.kind.gives(Output.self, of: Model.self), query.kind.takesRows || stored.isEmpty,
      query.kind == .insertMany || !query.kind.takesRows || stored.count == 1
    else { throw SqlError.invalidStatement("the statement is of another kind").at(table: table.name) }
    // Rendering checks every name and value, and every rule that a modifier must keep.
    if rows.count > 0 || !query.kind.takesRows { _ = try rendered() }
    var writer = RowWriter(table: table, buffer: ParameterBuffer())
    for row in stored.dropFirst() { try writer.take(StoredRow(values: row)) }
  }
}

extension Query.Kind {
  fileprivate func gives<Output, Model>(_ output: Output.Type, of model: Model.Type) -> Bool {
    switch self {
    case .read: output == [Model].self
    case .first: output == Model?.self
    case .exists: output == Bool.self
    case .insertMany: output == [Int].self
    case .count, .insert, .save, .update, .assign, .deleteRow, .delete: output == Int.self
    }
  }
}

extension ColumnReference: Codable {
  init(from decoder: any Decoder) throws {
    self.init(name: try decoder.singleValueContainer().decode(String.self))
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(name)
  }
}

extension SqlExpression: Codable {
  public init(from decoder: any Decoder) throws {
    // A tree is made from its leaves up: without a look at the way down to here the stack would end first.
    let path = decoder.codingPath
    if path.count > SqlExpression.maximumDepth,
      path.count(where: { $0.intValue == nil && !$0.stringValue.hasPrefix("_") }) > SqlExpression.maximumDepth + 10
    {
      throw SqlError.invalidStatement("an expression is more than \(SqlExpression.maximumDepth) terms deep")
    }
    self.init(try Node(from: decoder))
  }

  public func encode(to encoder: any Encoder) throws { try node.encode(to: encoder) }
}

extension SqlExpression.InvalidTerm: Codable {
  init(from decoder: any Decoder) throws {
    throw SqlError.invalidStatement("the statement holds a term that can't be run")
  }

  func encode(to encoder: any Encoder) throws { throw error }
}

extension Collate: Codable {}
