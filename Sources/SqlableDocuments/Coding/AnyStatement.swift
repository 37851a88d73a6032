import FoundationEssentials
import SqlableCore

/// A statement or query of any type. `AnyStatement` decodes a document if the Swift type of its statement is unknown:
/// in a tool, a queue of statements, or an endpoint for all kinds of statements.
///
/// ```swift
/// let statement = try AnyStatement(json: body, rules: StatementRules(models: [Bicycle.self, Person.self]))
/// switch try statement.run(pool) {
/// case .rows(let rows): …          // [DynamicRow]
/// case .number(let number): …      // a count, a number of changed rows, or an id
/// case .ids(let ids): …
/// case .exists(let exists): …
/// }
/// ```
public struct AnyStatement: Sendable {
  package let decoded: DecodedStatement
  private let content: Content

  /// The result of running a statement.
  public enum Output: Sendable, Hashable {
    /// The rows of a read, or the rows that a change returns.
    case rows([DynamicRow])
    /// A count, the number of changed rows, or the id of an inserted row.
    case number(Int)
    /// The ids of inserted rows.
    case ids([Int])
    /// True if the read has rows.
    case exists(Bool)
  }

  private enum Content: Sendable {
    case rows(any Runnable<[DynamicRow]> & StatementTrees)
    case number(any Runnable<Int> & StatementTrees)
    case ids(any Runnable<[Int]> & StatementTrees)
    case exists(any Runnable<Bool> & StatementTrees)

    var runnable: any Runnable & StatementTrees {
      switch self {
      case .rows(let work): work
      case .number(let work): work
      case .ids(let work): work
      case .exists(let work): work
      }
    }
  }

  /// Decodes a statement of one of the rules' models from JSON; see ``Statement/init(json:rules:)``. Decoding allocates
  /// at most 64 KiB plus a hundred bytes per byte of the text.
  public init(json: some ContiguousBytes, rules: StatementRules) throws {
    try self.init(JSONReader.read(json), rules)
  }

  init(_ document: Document, _ rules: StatementRules) throws {
    let decoder = try DocumentDecoder(rules.modelTables(), rules)
    self = try decoder.locatingErrors {
      try AnyStatement(DecodedStatement(document, by: decoder), decoder)
    }
  }

  package init(_ decoded: DecodedStatement, _ decoder: DocumentDecoder) throws {
    decoder.enter(decoded.operation.rawValue)
    guard decoder.rules.kinds.contains(decoded.kind) else {
      throw decoder.failure("the decoder does not allow statements of kind \(decoded.kind)")
    }
    guard decoded.isComplete else {
      throw decoder.failure(
        "the operation \(decoded.operation) can only have one table, a filter, an order and a limit; the limit of "
          + "the operation \"first\" must be 1")
    }
    func content<Model: Sqlable>(_ model: Model.Type) throws -> Content {
      let rows: StatementRows<Model> = decoded.tree.takesRows ? .stored(decoded.rows) : .none
      var tree = decoded.tree
      if let returned = tree.returned {
        if returned == .rows {
          tree.give(.terms(tree.tableInfo.columns.map(\.expression)))
        }
        let change = Statement<Model, [Model]>(tree, rows: rows)
        try change.checkDecoded(decoded.rows)
        return .rows(Returning<Model, DynamicRow>(decoded: change) { try DynamicRow.next(of: &$0) })
      }
      switch tree {
      case .select(let query) where query.form == .rows:
        _ = try query.withValues()
        return .rows(Select<DynamicRow>(query))
      case .select(let query) where query.form == .exists:
        return .exists(try checked(Statement<Model, Bool>(tree), decoded))
      case .insert(let query) where query.form == .rows:
        return .ids(try checked(Statement<Model, [Int]>(tree, rows: rows), decoded))
      default: return .number(try checked(Statement<Model, Int>(tree, rows: rows), decoded))
      }
    }
    func checked<Model, Result>(
      _ statement: Statement<Model, Result>, _ decoded: DecodedStatement
    ) throws -> Statement<Model, Result> {
      try statement.checkDecoded(decoded.rows)
      return statement
    }
    self.decoded = decoded
    self.content = try content(decoded.tree.tableInfo.modelType)
  }

  /// The kind of the statement.
  public var kind: StatementKind { decoded.kind }

  /// The statement as JSON; see ``Statement/json()``.
  public func json() throws -> Data { Data(try document.json) }

  package var document: Document {
    get throws { try DocumentEncoder().statement(decoded.tree, decoded.operation, rows: decoded.rows) }
  }
}

extension AnyStatement: Runnable {
  public var sql: String { content.runnable.sql }
  public var isReadOnly: Bool { content.runnable.isReadOnly }
  public func requests() throws -> [SqlRequest] { try content.runnable.requests() }

  @discardableResult
  public func run(_ db: SqliteDatabase) throws -> Output {
    switch content {
    case .rows(let work): .rows(try work.run(db))
    case .number(let work): .number(try work.run(db))
    case .ids(let work): .ids(try work.run(db))
    case .exists(let work): .exists(try work.run(db))
    }
  }

  public func run(over transport: some SqlTransport) async throws -> Output {
    switch content {
    case .rows(let work): .rows(try await work.run(over: transport))
    case .number(let work): .number(try await work.run(over: transport))
    case .ids(let work): .ids(try await work.run(over: transport))
    case .exists(let work): .exists(try await work.run(over: transport))
    }
  }
}

extension AnyStatement: StatementTrees {
  package func statements() throws -> [TreeStatement] { try content.runnable.statements() }
}

extension AnyStatement: Hashable {
  public static func == (left: AnyStatement, right: AnyStatement) -> Bool {
    left.decoded.operation == right.decoded.operation && left.decoded.tree == right.decoded.tree
      && left.decoded.rows == right.decoded.rows
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(decoded.tree)
    hasher.combine(decoded.rows)
  }
}

extension AnyStatement: Codable {
  public func encode(to encoder: any Encoder) throws { try document.encode(to: encoder) }

  /// Decodes a statement. The models come from the decoder's `userInfo[.statementRules]`.
  public init(from decoder: any Decoder) throws {
    try self.init(Document(from: decoder), StatementRules.of(decoder))
  }
}
