import SqlableCore

/// The names that an untrusted document may use, and its size limits.
///
/// A name that is not allowed is refused like a name that does not exist. Neither the error nor the lookup shows the
/// difference.
struct DocumentAccess: Sendable {
  /// The columns of a table that a document may name, by their names.
  struct Table: Sendable {
    let info: TableInfo
    var columns: [ByteComparedName: Column] = [:]
  }

  var tables: [ByteComparedName: Table] = [:]
  /// SQLite's functions, by their names in the format.
  var functions: Set<String> = []
  /// True if a document may call the aggregates, the window functions and the functions of JSON.
  var (allowsAggregates, allowsWindows, allowsJSON) = (false, false, false)
  /// True if a document may have named queries.
  var allowsNamedQueries = false
  /// Functions and collations that the program registered.
  var registered: Set<String> = []
  var maximumNodes = 0
  var maximumDepth = 0
  var maximumList = 0

  /// True if a document may call a function of SQLite. Either `functions` has the function's name, or the function has
  /// categories (aggregate, window, JSON) and all of them are allowed.
  func allows(function name: String) -> Bool {
    if functions.contains(name) { return true }
    if name == "countRows" { return allowsAggregates }
    guard let facts = SqlExpression.Call.BuiltIn(rawValue: name)?.facts else { return false }
    let (isAggregate, isWindowFunction, isJSONFunction) = (
      facts.kind == .aggregate, facts.kind == .window, facts.has(.json)
    )
    return (isAggregate || isWindowFunction || isJSONFunction) && (allowsAggregates || !isAggregate)
      && (allowsWindows || !isWindowFunction) && (allowsJSON || !isJSONFunction)
  }

  static let refusal = SqlError.invalidStatement("the policy does not allow this")
}
