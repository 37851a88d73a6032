// Statements as data. The format is described in Docs/StatementFormat.md.

import FoundationEssentials

/// A decoded statement, before it is known whether it is of the right type.
struct DecodedStatement {
  let operation: DocumentOperation
  let tree: StatementTree
  let rows: [StoredRow]

  /// Reads a document.
  init(_ document: Document, by decoder: DocumentDecoder) throws {
    guard case .object(let members) = document else { throw decoder.failure("a statement must be an object") }
    guard case .integer(let version)? = members.first(where: { $0.key == "sqlable" })?.value, version > 0 else {
      throw decoder.failure(#"a statement must say its version: "sqlable": 1"#)
    }
    guard version <= Document.version else {
      throw decoder.failure("the statement has version \(version), but this library reads up to \(Document.version)")
    }
    guard members.count == 2, let body = members.first(where: { $0.key != "sqlable" }),
      let operation = DocumentOperation(rawValue: body.key)
    else { throw decoder.failure("besides its version a statement must have exactly one key, which says what it does") }
    self.operation = operation
    decoder.enter(operation.rawValue)
    switch operation {
    case .read, .first: (tree, rows) = (.select(try decoder.query(body.value, outer: nil)), [])
    case .count: (tree, rows) = (.select(try decoder.query(body.value, outer: nil, form: .count)), [])
    case .exists: (tree, rows) = (.select(try decoder.query(body.value, outer: nil, form: .exists)), [])
    case .insert, .save:
      let (query, rows) = try decoder.insert(body.value, isSave: operation == .save)
      (tree, self.rows) = (.insert(query), rows)
    case .update:
      let (query, rows) = try decoder.update(body.value)
      (tree, self.rows) = (.update(query), rows)
    case .delete:
      let (query, rows) = try decoder.delete(body.value)
      (tree, self.rows) = (.delete(query), rows)
    }
    decoder.leave()
  }
}

// MARK: - Statements of a model

extension Statement {
  /// The statement as JSON, which any process of any version from this one on can read.
  ///
  /// ```swift
  /// try Bicycle.read().filter(Bicycle.color == "red").json()
  /// // {"read":{"from":"bicycle","where":{"=":[{"column":"color"},"red"]}},"sqlable":1}
  /// ```
  ///
  /// It is canonical (RFC 8785): equal statements have equal bytes, so a hash of them identifies a statement. Throws
  /// the error that running the statement would throw before SQLite sees it. A change that returns rows is encoded as a
  /// ``ReturningStatement``.
  public func json() throws -> Data { Data(try document(returning: false).json) }

  /// Reads a statement from JSON and checks it: every table, column and function must exist, and every value must fit.
  ///
  /// ```swift
  /// let search = try Statement<Bicycle, [Bicycle]>(json: data)
  /// ```
  ///
  /// Throws `.invalidStatement` for text that is not JSON, is no statement, or is one of another table or kind,
  /// `.schema` for a column that the model does not have, and `.encoding` for a value that does not fit; the error's
  /// ``SqlError/documentPath`` says where. The rules name the models of other tables that the statement may use, and
  /// restrict what is accepted.
  public init(json: some ContiguousBytes, rules: StatementRules = StatementRules()) throws {
    try self.init(JSONReader.read(json), rules, returning: false)
  }

  /// The statement as a document, as a change that returns rows or as any other.
  func document(returning: Bool) throws -> Document {
    guard tree.returnsRows == returning else {
      throw SqlError.invalidStatement(
        returning
          ? "the statement returns no rows"
          : "a change that returns rows must be encoded as a ReturningStatement")
    }
    return try checkedDocument()
  }

  /// The statement as a document, after the checks that running it makes.
  func checkedDocument() throws -> Document {
    _ = try withValues()
    let operation: DocumentOperation =
      switch tree {
      case .select(let query):
        switch query.form {
        case .rows: Output.self == Model?.self ? .first : .read
        case .count: .count
        case .exists: .exists
        }
      case .insert(let query): query.form == .save ? .save : .insert
      case .update: .update
      case .delete: .delete
      }
    return try DocumentEncoder().statement(tree, operation, rows: storedRows())
  }

  init(_ document: Document, _ rules: StatementRules, returning: Bool) throws {
    let decoder = try DocumentDecoder([TableInfo.of(Model.self)] + rules.modelTables(), rules)
    self = try DocumentDecoder.placing(decoder) {
      let decoded = try DecodedStatement(document, by: decoder)
      guard decoded.tree.returnsRows == returning else {
        throw decoder.failure(
          returning
            ? "the statement returns no rows"
            : "a change that returns rows must be decoded as a ReturningStatement")
      }
      guard decoded.tree.returned ?? .rows == .rows else {
        throw decoder.failure("a change that returns terms must be decoded as a Returning")
      }
      return try Statement(decoded, decoder)
    }
  }

  /// A decoded statement, if it is of this type. Throws for any other.
  init(_ decoded: DecodedStatement, _ decoder: DocumentDecoder) throws {
    let own = try TableInfo.of(Model.self)
    tree = decoded.tree
    guard tree.tableInfo.isOfSameModel(as: own) else {
      throw decoder.failure("the statement is not for table \(own.name)").at(table: own.name)
    }
    guard decoded.gives(Output.self, of: Model.self) else {
      throw decoder.failure("the statement is of another kind than its type").at(table: own.name)
    }
    rows = tree.takesRows ? .stored(decoded.rows) : .none
    guard decoder.rules.kinds.contains(kind) else {
      throw decoder.failure("the decoder does not allow statements of kind \(kind)").at(table: own.name)
    }
    try checkDecoded(decoded.rows)
  }

  /// Renders the statement, which checks all modifiers.
  private func checkDecoded(_ stored: [StoredRow]) throws {
    let table = try tree.table
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

extension DecodedStatement {
  /// Whether running the statement gives a value of this type.
  fileprivate func gives<Output, Model>(_ output: Output.Type, of model: Model.Type) -> Bool {
    // A closed table of all kinds: no decoded statement has any other output type.
    if tree.returnsRows { return output == [Model].self || output == Model?.self }
    return switch tree {
    case .select(let query) where !query.isOfOneModel: false
    case .select(let query):
      switch operation {
      case .first: output == Model?.self && query.limit.map { $0 <= 1 } == true
      case .count: output == Int.self
      case .exists: output == Bool.self
      default: output == [Model].self
      }
    case .insert(let query): query.form == .rows ? output == [Int].self : output == Int.self
    case .update, .delete: output == Int.self
    }
  }
}

extension SelectQuery {
  /// Whether it reads whole rows of one table, with at most a filter, an order and a limit.
  fileprivate var isOfOneModel: Bool {
    guard !isPlain else { return true }
    let clauses = clauses
    guard clauses.sources.count == 1, case .table = clauses.sources[0].kind else { return false }
    return clauses.sources[0].alias == nil && !clauses.sources[0].isSearched && clauses.results == [.model(0)]
      && !clauses.isDistinct && clauses.groups.isEmpty && clauses.having == nil && clauses.compounds.isEmpty
  }
}

extension Statement: Codable {
  /// Encodes the statement, in the form of ``json()``.
  public func encode(to encoder: any Encoder) throws { try document(returning: false).encode(to: encoder) }

  /// Decodes a statement, as ``init(json:rules:)`` does. The decoder's ``Foundation/CodingUserInfoKey/statementRules``
  /// are its rules.
  public init(from decoder: any Decoder) throws {
    try self.init(Document(from: decoder), StatementRules.of(decoder), returning: false)
  }
}

/// A statement can be stored in a column, as its JSON.
///
/// ```swift
/// static let search = column("search", Statement<Bicycle, [Bicycle]>.self)
/// ```
///
/// Reading it throws `.decoding` if it no longer fits its model, and storing it what encoding it throws. Every kind is
/// read that the column's type allows: a program that stores statements of others checks their `kind` first.
extension Statement: SqlJSON {
  public var databaseValue: DatabaseValue {
    get throws { .text(String(decoding: try document(returning: false).json, as: UTF8.self)) }
  }

  public init(databaseValue: DatabaseValue) throws {
    let text = try String(databaseValue: databaseValue)
    do { try self.init(json: Array(text.utf8)) } catch let error as SqlError {
      throw SqlError.decoding(
        expected: "a statement of \(Model.self)", found: "one that does not fit: \(error.message)")
    }
  }
}

// MARK: - Changes that return rows

/// A change that returns rows, for encoding and decoding.
///
/// A decoded ``Statement`` with the type of a read never changes anything, so changes that return rows have their own
/// type:
///
/// ```swift
/// let change = ReturningStatement(Bicycle.delete(Bicycle.color == "red").returning())
/// let same = try ReturningStatement<Bicycle, [Bicycle]>(json: change.json())
/// let gone = try same.statement.run(db)     // [Bicycle]
/// ```
///
/// Encoding or decoding a statement that returns no rows throws `.invalidStatement`.
public struct ReturningStatement<Model: Sqlable, Output>: Sendable, Hashable {
  public let statement: Statement<Model, Output>

  public init(_ statement: Statement<Model, Output>) { self.statement = statement }
}

extension ReturningStatement: Codable {
  /// The change as JSON; see ``Statement/json()``.
  public func json() throws -> Data { Data(try statement.document(returning: true).json) }

  /// Reads a change from JSON; see ``Statement/init(json:rules:)``.
  public init(json: some ContiguousBytes, rules: StatementRules = StatementRules()) throws {
    statement = try Statement(JSONReader.read(json), rules, returning: true)
  }

  public func encode(to encoder: any Encoder) throws { try statement.document(returning: true).encode(to: encoder) }

  public init(from decoder: any Decoder) throws {
    statement = try Statement(Document(from: decoder), StatementRules.of(decoder), returning: true)
  }
}

extension Returning {
  /// The change as JSON; see ``Statement/json()``.
  public func json() throws -> Data { Data(try change.checkedDocument().json) }

  /// Reads a change that returns a value or model of each row from JSON; see ``Statement/init(json:rules:)``.
  public init(json: some ContiguousBytes, rules: StatementRules = StatementRules()) throws where Row: SelectOutput {
    let change = try Self.change(json, rules) { try Row.describe(in: &$0) }
    self.init(decoded: change) { try Row.next(of: &$0) }
  }

  /// Reads a change that returns several values of each row from JSON; see ``Statement/init(json:rules:)``.
  @_disfavoredOverload
  public init<each Value: SelectOutput>(json: some ContiguousBytes, rules: StatementRules = StatementRules()) throws
  where Row == (repeat each Value) {
    let change = try Self.change(json, rules) { description in
      repeat try (each Value).describe(in: &description)
    }
    self.init(decoded: change) { (repeat try (each Value).next(of: &$0)) }
  }

  private static func change(
    _ json: some ContiguousBytes, _ rules: StatementRules, _ describe: (inout ResultDescription) throws -> Void
  ) throws -> Statement<Model, [Model]> {
    var description = ResultDescription()
    try describe(&description)
    let document = try JSONReader.read(json)
    let decoder = try DocumentDecoder([TableInfo.of(Model.self)] + rules.modelTables(), rules)
    return try DocumentDecoder.placing(decoder) {
      let statement = try Statement<Model, [Model]>(DecodedStatement(document, by: decoder), decoder)
      guard case .terms(let terms) = statement.tree.returned else {
        throw decoder.failure("the statement does not return terms")
      }
      try description.check(terms.map { ResultColumn(type: $0.columnDefinition?.type) }, decoder)
      return statement
    }
  }
}

// MARK: - Queries

extension Select {
  /// The query as JSON; see ``Statement/json()``.
  ///
  /// ```swift
  /// try Car.select(Car.name, Car.price).filter(Car.price < 20_000).json()
  /// // {"read":{"from":"car","select":[{"column":"name"},{"column":"price"}],"where":{"<":[{"column":"price"},{"real":20000}]}},"sqlable":1}
  /// ```
  public func json() throws -> Data { Data(try document().json) }

  /// Reads a query of a value or model for each row from JSON; see ``Statement/init(json:rules:)``.
  ///
  /// The models of the rows are known; the rules name those of other tables. Throws `.invalidStatement` for a query
  /// whose columns are not those of the row.
  public init(json: some ContiguousBytes, rules: StatementRules = StatementRules()) throws where Row: SelectOutput {
    try self.init(JSONReader.read(json), rules)
  }

  /// Reads a query of several values and models for each row from JSON.
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

  func document() throws -> Document {
    _ = try query.withValues()
    return try DocumentEncoder().statement(.select(query), .read, rows: [])
  }

  private static func query(
    _ document: Document, _ rules: StatementRules, _ describe: (inout ResultDescription) throws -> Void
  ) throws -> SelectQuery {
    var description = ResultDescription()
    try describe(&description)
    let decoder = try DocumentDecoder(description.models + rules.modelTables(), rules)
    return try DocumentDecoder.placing(decoder) {
      let decoded = try DecodedStatement(document, by: decoder)
      guard case .select(let query) = decoded.tree, decoded.operation == .read, rules.kinds.contains(.read) else {
        throw decoder.failure("the statement is not a query, or the decoder does not allow queries")
      }
      try description.check(query.clauses.columns, decoder)
      _ = try query.withValues()
      return query
    }
  }
}

extension ResultDescription {
  /// Throws unless these columns are those that are read.
  fileprivate func check(_ found: [ResultColumn], _ decoder: DocumentDecoder) throws {
    let unknown = ResultColumn().identity
    let isSame =
      (takesRest ? columns.count <= found.count : columns.count == found.count)
      && zip(columns, found).allSatisfy { $0.identity == unknown || $0.identity == $1.identity }
    guard isSame else { throw decoder.failure("the columns of the query are not those of its type") }
  }
}

extension Select: Encodable {
  public func encode(to encoder: any Encoder) throws { try document().encode(to: encoder) }
}

extension Select: Decodable where Row: SelectOutput {
  public init(from decoder: any Decoder) throws { try self.init(Document(from: decoder), StatementRules.of(decoder)) }
}

/// A query of several values and models for each row, for encoding and decoding: a tuple can't be `Codable` itself.
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

// MARK: - Terms

extension SqlExpression: Codable {
  /// Encodes the term; its columns are written as their names.
  public func encode(to encoder: any Encoder) throws {
    try DocumentEncoder().term(self, Scope()).encode(to: encoder)
  }

  /// Decodes a term. Its columns are only names, which are looked up when a statement with it runs.
  public init(from decoder: any Decoder) throws {
    let rules = try StatementRules.of(decoder)
    let reader = try DocumentDecoder(rules.modelTables(), rules)
    let document = try Document(from: decoder)
    self = try DocumentDecoder.placing(reader) { try reader.term(document, Scope()) }
  }
}

extension Assignment: Codable {
  private enum Key: String, CodingKey {
    case column, to
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    column = .named(try container.decode(String.self, forKey: .column))
    value = try container.decode(SqlExpression.self, forKey: .to)
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(column.name, forKey: .column)
    try container.encode(value, forKey: .to)
  }
}

/// Encoded as its name.
extension Collate: Codable {}
