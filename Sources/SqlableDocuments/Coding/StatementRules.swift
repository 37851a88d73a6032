import SqlableCore

/// The kinds of statements that a decoder distinguishes.
public enum StatementKind: String, Sendable, Hashable, CaseIterable {
  /// `read()`
  case read
  /// `first()` and `byId()`
  case first
  case count
  case exists
  /// An insert of one or several structs. With a conflict policy or upsert, the insert can replace or update
  /// conflicting rows.
  case insert
  /// An insert of a struct, or an update of the row whose key equals the struct's key.
  case save
  /// An update of a struct's row, or of all rows that match a filter.
  case update
  /// An update of every row of the table.
  case updateAll
  /// A delete of a struct's row, or of all rows that match a filter.
  case delete
  /// A delete of every row of the table.
  case deleteAll

  /// The kinds that only read.
  public static let reads: Set<StatementKind> = [.read, .first, .count, .exists]
}

extension Statement {
  /// The kind of the statement.
  public var kind: StatementKind { tree.kind(isFirst: Output.self == Model?.self) }
}

extension StatementTree {
  func kind(isFirst: Bool) -> StatementKind {
    switch self {
    case .select(let query):
      switch query.form {
      case .rows: isFirst ? .first : .read
      case .count: .count
      case .exists: .exists
      }
    case .insert(let query): query.form == .save ? .save : .insert
    case .update(let query): query.extent == .all ? .updateAll : .update
    case .delete(let query): query.extent == .all ? .deleteAll : .delete
    }
  }
}

/// The kinds of statements that a decoder accepts, and the additional tables that statements can use.
///
/// ```swift
/// let decoder = JSONDecoder()
/// decoder.userInfo[.statementRules] = StatementRules(kinds: [.count], tables: ["archive"])
/// let count = try decoder.decode(Statement<Bicycle, Int>.self, from: data)
/// ```
///
/// Without rules, a decoder accepts every kind that matches the Swift type, but only the model's own table. A statement
/// that the rules do not allow throws `.invalidStatement`. The rules apply to all statements that the decoder decodes,
/// including statements inside other types.
public struct StatementRules: Sendable {
  public var kinds: Set<StatementKind>
  /// The models whose tables a statement can use in joins and subqueries, in addition to the model in the statement's
  /// Swift type.
  public var models: [any Sqlable.Type]
  /// The tables that a statement can use with `in`. As in SQLite, names are compared without regard to the case of A to
  /// Z. The decoded statement uses the spelling in this set.
  public var tables: Set<String>

  public init(
    kinds: Set<StatementKind> = Set(StatementKind.allCases), models: [any Sqlable.Type] = [], tables: Set<String> = []
  ) {
    self.kinds = kinds
    self.models = models
    self.tables = tables
  }

  package func modelTables() throws -> [TableInfo] { try models.map { try TableInfo.of($0) } }
}

extension StatementRules: Hashable {
  public static func == (left: StatementRules, right: StatementRules) -> Bool {
    left.kinds == right.kinds && left.tables == right.tables
      && left.models.map { ObjectIdentifier($0) } == right.models.map { ObjectIdentifier($0) }
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(kinds)
    hasher.combine(tables)
    for model in models { hasher.combine(ObjectIdentifier(model)) }
  }
}

extension CodingUserInfoKey {
  /// The ``StatementRules`` of a decoder.
  // The value is never nil, but the protocol requires the failable initializer.
  public static let statementRules = CodingUserInfoKey(rawValue: "Sqlable.StatementRules").unsafelyUnwrapped
}

extension StatementRules {
  static func of(_ decoder: any Decoder) throws -> StatementRules {
    guard let value = decoder.userInfo[.statementRules] else { return StatementRules() }
    guard let rules = value as? StatementRules else {
      throw SqlError.misuse("the decoder's userInfo[.statementRules] is not a StatementRules value")
    }
    return rules
  }

  /// Returns the table's name in the program's spelling. Throws if the table is neither the model's table nor allowed.
  func spelling(of name: String, modelTable: String) throws -> String {
    if name.isSameName(as: modelTable) { return modelTable }
    if tables.contains(where: name.isExactly) { return name }
    // The smallest of several spellings is used, so that the result does not depend on the order of a set.
    guard let spelling = tables.filter(name.isSameName(as:)).min() else {
      throw SqlError.invalidStatement("the decoder does not allow the statement's table").at(table: modelTable)
    }
    return spelling
  }
}

extension DecodedStatement {
  package var kind: StatementKind { tree.kind(isFirst: operation == .first) }
}
