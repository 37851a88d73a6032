import FoundationEssentials
import SqlableCore

extension Select {
  /// The query as JSON; see ``Statement/json()``.
  ///
  /// ```swift
  /// try Car.select(Car.name, Car.price).filter(Car.price < 20_000).json()
  /// // {"read":{"from":"car","select":[{"column":"name"},{"column":"price"}],
  /// //   "where":{"<":[{"column":"price"},{"real":20000}]}},"sqlable":1}
  /// ```
  public func json() throws -> Data { Data(try document().json) }

  /// Decodes, from JSON, a query that returns a value or a model per row; see ``Statement/init(json:rules:)``.
  ///
  /// The models of the rows are known from the type; the rules name the models of other tables. Throws
  /// `.invalidStatement` if the columns of the query do not match the row type.
  public init(json: some ContiguousBytes, rules: StatementRules = StatementRules()) throws where Row: SelectOutput {
    try self.init(JSONReader.read(json), rules)
  }

  /// Decodes, from JSON, a query that returns several values and models per row.
  ///
  /// ```swift
  /// let prices = try Select<(String, Double)>(json: data, rules: StatementRules(models: [Car.self]))
  /// ```
  @_disfavoredOverload
  public init<each Value: SelectOutput>(json: some ContiguousBytes, rules: StatementRules = StatementRules()) throws
  where Row == (repeat each Value) {
    try self.init(tuples: JSONReader.read(json), rules)
  }

  init(_ document: Document, _ rules: StatementRules) throws where Row: SelectOutput {
    self.init(try Self.query(document, rules) { try Row.describe(in: &$0) })
  }

  init<each Value: SelectOutput>(tuples document: Document, _ rules: StatementRules) throws
  where Row == (repeat each Value) {
    let query = try Self.query(document, rules) { description in
      repeat try (each Value).describe(in: &description)
    }
    self.init(tuples: query)
  }

  package func document() throws -> Document {
    _ = try query.withValues()
    return try DocumentEncoder().statement(.select(query), .read, rows: [])
  }

  private static func query(
    _ document: Document, _ rules: StatementRules, _ describe: (inout ResultDescription) throws -> Void
  ) throws -> SelectQuery {
    var description = ResultDescription()
    try describe(&description)
    let decoder = try DocumentDecoder(description.models.compactMap(TableInfo.known) + rules.modelTables(), rules)
    return try decoder.locatingErrors {
      try decoder.query(DecodedStatement(document, by: decoder), description)
    }
  }
}

extension DocumentDecoder {
  package func query(_ decoded: DecodedStatement, _ description: ResultDescription) throws -> SelectQuery {
    enter(decoded.operation.rawValue)
    guard case .select(let query) = decoded.tree, decoded.operation == .read else {
      throw failure("the document is not a read; decode the document as a Statement or an AnyStatement")
    }
    guard rules.kinds.contains(.read) else { throw failure("the decoder does not allow queries") }
    try description.check(query.clauses.columns, self)
    _ = try query.withValues()
    return query
  }
}

extension ResultDescription {
  func check(_ actualColumns: [ResultColumn], _ decoder: DocumentDecoder) throws {
    let unknown = ResultColumn().identity
    let isSame =
      (takesRest ? columns.count <= actualColumns.count : columns.count == actualColumns.count)
      && zip(columns, actualColumns).allSatisfy { $0.identity == unknown || $0.identity == $1.identity }
    guard isSame else {
      throw decoder.failure("the columns of the query do not match the Swift type that decodes the query")
    }
  }
}

extension Select: Encodable {
  public func encode(to encoder: any Encoder) throws { try document().encode(to: encoder) }
}

extension Select: Decodable where Row: SelectOutput {
  public init(from decoder: any Decoder) throws { try self.init(Document(from: decoder), StatementRules.of(decoder)) }
}

extension ScalarQuery: Encodable {
  /// The query as JSON, like the ``Select`` of one row; see ``Statement/json()``.
  public func json() throws -> Data { try select.json() }

  public func encode(to encoder: any Encoder) throws { try select.encode(to: encoder) }
}

/// A query that returns several values and models per row, for encoding and decoding. A tuple itself can't be
/// `Codable`.
///
/// ```swift
/// struct Report: Codable { var title: String; var rows: CodableSelect<String, Double> }
/// let report = Report(title: "Prices", rows: CodableSelect(Car.select(Car.name, Car.price)))
/// ```
public struct CodableSelect<each Value: SelectOutput>: Sendable, Hashable, Codable {
  public let select: Select<(repeat each Value)>

  public init(_ select: Select<(repeat each Value)>) { self.select = select }

  public init(from decoder: any Decoder) throws {
    select = try Select(tuples: Document(from: decoder), StatementRules.of(decoder))
  }

  public func encode(to encoder: any Encoder) throws { try select.encode(to: encoder) }
}
