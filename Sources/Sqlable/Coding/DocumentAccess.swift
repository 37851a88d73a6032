/// What a document may name and how large it may be, for documents that are not trusted.
///
/// A name that is not here is refused like one that does not exist: neither the error nor the work that it takes tells
/// them apart.
struct DocumentAccess: Sendable {
  /// The columns of a table that a document may name, by their names.
  struct Table: Sendable {
    let info: TableInfo
    var columns: [ByBytes: Column] = [:]
  }

  var tables: [ByBytes: Table] = [:]
  /// SQLite's functions, by the names of the format.
  var functions: Set<String> = []
  /// Functions and collations that the program registered.
  var registered: Set<String> = []
  var maximumNodes = 0
  var maximumDepth = 0
  var maximumList = 0

  static let refusal = SqlError.invalidStatement("the policy does not allow this")
}
