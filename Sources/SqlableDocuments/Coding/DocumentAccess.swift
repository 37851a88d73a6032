import SqlableCore

/// The names that an untrusted document can use, and its size limits.
///
/// A name that is not allowed causes the same error as a name that does not exist.
struct DocumentAccess: Sendable {
  struct Table: Sendable {
    let info: TableInfo
    var columns: [ByteComparedName: Column] = [:]
  }

  var tables: [ByteComparedName: Table] = [:]
  /// The allowed SQLite functions, by their names in the statement format.
  var functions: Set<String> = []
  /// True if a document can call aggregates, window functions and JSON functions, respectively.
  var (allowsAggregates, allowsWindows, allowsJSON) = (false, false, false)
  var allowsNamedQueries = false
  /// The allowed functions and collations that the program registered.
  var registered: Set<String> = []
  var maximumNodes = 0
  var maximumDepth = 0
  var maximumList = 0

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
