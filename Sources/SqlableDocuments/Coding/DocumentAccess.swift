import SqlableCore

/// What a document may name and how large it may be, for documents that are not trusted.
///
/// A name that is not here is refused like one that does not exist: neither the error nor the look-up tells them apart.
struct DocumentAccess: Sendable {
  /// The columns of a table that a document may name, by their names.
  struct Table: Sendable {
    let info: TableInfo
    var columns: [ByBytes: Column] = [:]
  }

  var tables: [ByBytes: Table] = [:]
  /// SQLite's functions, by the names of the format.
  var functions: Set<String> = []
  /// Whether it may call the aggregates, the window functions and the functions of JSON.
  var (allowsAggregates, allowsWindows, allowsJSON) = (false, false, false)
  /// Whether it may have queries with a name.
  var allowsNamedQueries = false
  /// Functions and collations that the program registered.
  var registered: Set<String> = []
  var maximumNodes = 0
  var maximumDepth = 0
  var maximumList = 0

  /// Whether a document may call a function of SQLite: by its name, or as one of the allowed sorts, all that it is of.
  func allows(function name: String) -> Bool {
    if functions.contains(name) { return true }
    if name == "countRows" { return allowsAggregates }
    guard let facts = SqlExpression.Call.BuiltIn(rawValue: name)?.facts else { return false }
    let (isAggregate, isOfWindow, isOfJSON) = (facts.kind == .aggregate, facts.kind == .window, facts.has(.json))
    return (isAggregate || isOfWindow || isOfJSON) && (allowsAggregates || !isAggregate)
      && (allowsWindows || !isOfWindow) && (allowsJSON || !isOfJSON)
  }

  static let refusal = SqlError.invalidStatement("the policy does not allow this")
}
