/// What a statement does, as far as a decoder tells one from another.
public enum StatementKind: String, Sendable, Hashable, CaseIterable {
  /// `read()`
  case read
  /// `first()` and `byId()`
  case first
  case count
  case exists
  /// Of one struct or many. With an answer to a conflict it replaces or updates the rows that are in the way.
  case insert
  /// Inserts a struct, or updates the row that has its key.
  case save
  /// Of the row of a struct, or of all that meet a filter.
  case update
  /// Of the row of a struct, or of all that meet a filter.
  case delete

  /// The kinds that change nothing.
  public static let reads: Set<StatementKind> = [.read, .first, .count, .exists]
}

extension Statement {
  /// What the statement does.
  public var kind: StatementKind {
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
  }
}

/// Which statements a decoder accepts: of which kinds, and of which tables beside the model's own.
///
/// ```swift
/// let decoder = JSONDecoder()
/// decoder.userInfo[.statementRules] = StatementRules(kinds: [.count], tables: ["archive"])
/// let count = try decoder.decode(Statement<Bicycle, Int>.self, from: data)
/// ```
///
/// Without rules a decoder accepts every kind that gives what the Swift type says, and the model's own table alone.
/// What the rules do not allow throws `.invalidStatement`. They hold for every statement that the decoder meets, also
/// inside other types.
public struct StatementRules: Sendable, Hashable {
  public var kinds: Set<StatementKind>
  /// The tables that a statement may be about by `in`. SQLite takes A to Z and a to z in a name for the same, and so
  /// does the decoder: the statement gets the name as it is spelled here.
  public var tables: Set<String>

  public init(kinds: Set<StatementKind> = Set(StatementKind.allCases), tables: Set<String> = []) {
    self.kinds = kinds
    self.tables = tables
  }
}

extension CodingUserInfoKey {
  /// The ``StatementRules`` of a decoder.
  // It is nil for no name: the failable initializer is its protocol's.
  public static let statementRules = CodingUserInfoKey(rawValue: "Sqlable.StatementRules").unsafelyUnwrapped
}

extension StatementRules {
  static func of(_ decoder: any Decoder) throws -> StatementRules {
    guard let value = decoder.userInfo[.statementRules] else { return StatementRules() }
    guard let rules = value as? StatementRules else {
      throw SqlError.misuse("the decoder's userInfo has something else than StatementRules for .statementRules")
    }
    return rules
  }

  /// The name of a table as the program spells it. Throws for one that is neither the model's own nor allowed.
  func spelling(of name: String, own: String) throws -> String {
    if name.isSameName(as: own) { return own }
    if tables.contains(where: name.isExactly) { return name }
    // Of several spellings the least, so that the answer does not depend on the order of a set.
    guard let spelling = tables.filter(name.isSameName(as:)).min() else {
      throw SqlError.invalidStatement("the statement is of a table that the decoder does not allow").at(table: own)
    }
    return spelling
  }
}
