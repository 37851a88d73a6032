import SqlableCore

extension SqlExpression: Codable {
  /// Encodes the term. Columns are encoded by name.
  public func encode(to encoder: any Encoder) throws {
    try DocumentEncoder().term(self, Scope()).encode(to: encoder)
  }

  /// Decodes a term. Columns are decoded as names, which are resolved when a statement with the term runs.
  public init(from decoder: any Decoder) throws {
    let rules = try StatementRules.of(decoder)
    let reader = try DocumentDecoder(rules.modelTables(), rules)
    let document = try Document(from: decoder)
    self = try reader.locatingErrors { try reader.term(document, Scope()) }
  }
}

extension Assignment: Codable {
  private enum Key: String, CodingKey, CaseIterable {
    case column, to
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(exactly: Key.self)
    self.init(
      column: .named(try container.decode(String.self, forKey: .column)),
      value: try container.decode(SqlExpression.self, forKey: .to))
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(column.name, forKey: .column)
    try container.encode(value, forKey: .to)
  }
}

extension Collate: Codable {}
