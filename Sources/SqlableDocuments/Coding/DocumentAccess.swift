import SqlableCore

/// The names that an untrusted document can use, and the limits on the document's size.
///
/// A name that is not allowed causes the same error as a name that does not exist.
package struct DocumentAccess: Sendable {
  package struct Table: Sendable {
    let info: TableInfo
    package var columns: [ByteComparedName: Column] = [:]

    package init(info: TableInfo) { self.info = info }
  }

  package var tables: [ByteComparedName: Table] = [:]
  /// The allowed SQLite functions, by their names in the statement format.
  package var functions: Set<String> = []
  /// The kinds of functions that a document can call.
  package var (allowsAggregates, allowsWindows, allowsJSON) = (false, false, false)
  package var allowsNamedQueries = false
  /// The allowed functions and collations that the program registered.
  package var registered: Set<String> = []
  package var maximumNodes = 0
  package var maximumDepth = 0
  package var maximumList = 0

  package init() {}

  package func allows(function name: String) -> Bool {
    if functions.contains(name) { return true }
    if name == "countRows" { return allowsAggregates }
    guard let facts = SqlExpression.Call.BuiltIn(rawValue: name)?.facts else { return false }
    let (isAggregate, isWindowFunction, isJSONFunction) = (
      facts.kind == .aggregate, facts.kind == .window, facts.has(.json)
    )
    return (isAggregate || isWindowFunction || isJSONFunction) && (allowsAggregates || !isAggregate)
      && (allowsWindows || !isWindowFunction) && (allowsJSON || !isJSONFunction)
  }

  package static let refusal = SqlError.invalidStatement("the policy does not allow this")
}
