import FoundationEssentials
import SqlableCore

/// A change that returns rows, for encoding and decoding.
///
/// A ``Statement`` with the type of a read can't be decoded from a change, so that the decoded statement never changes
/// anything. So changes that return rows have a separate type:
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

  /// Decodes a change from JSON; see ``Statement/init(json:rules:)``.
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

  /// Decodes, from JSON, a change that returns a value or a model per row; see ``Statement/init(json:rules:)``.
  public init(json: some ContiguousBytes, rules: StatementRules = StatementRules()) throws where Row: SelectOutput {
    let change = try Self.change(json, rules) { try Row.describe(in: &$0) }
    self.init(decoded: change) { try Row.next(of: &$0) }
  }

  /// Decodes, from JSON, a change that returns several values per row; see ``Statement/init(json:rules:)``.
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
    return try decoder.locatingErrors {
      let statement = try Statement<Model, [Model]>(DecodedStatement(document, by: decoder), decoder)
      guard case .terms(let terms) = statement.tree.returned else {
        throw decoder.failure(
          "the key \"returning\" has no list of terms; decode the document as Statement or ReturningStatement")
      }
      try description.check(terms.map { ResultColumn(type: $0.columnDefinition?.type) }, decoder)
      return statement
    }
  }
}
