import SqlableCore
import SqlableQueries

// Tests/Record has this file and what it uses in one target.
#if canImport(SqlableTestSupport) && !RECORD
@testable import SqlableTestSupport
#endif

/// An abstract query of the property tests. The library's query, SQL text and the evaluation in plain Swift are
/// derived from it independently.
struct RandomQuery {
  var sources: [Source]
  var results: [RandomTerm] = []
  var isDistinct = false
  var filter: RandomTerm?
  var groups: [RandomTerm] = []
  var having: RandomTerm?
  var compounds: [(operation: Operation, query: RandomQuery)] = []
  var order: [Ordering] = []
  var limit: Int?
  var offset: Int?

  enum Operation: String, CaseIterable {
    case union = "UNION"
    case unionAll = "UNION ALL"
    case intersect = "INTERSECT"
    case except = "EXCEPT"
  }

  /// An order by a column of the result or by any term.
  struct Ordering {
    enum Key {
      case result(Int)
      case term(RandomTerm)
    }

    let key: Key
    let isDescending: Bool
  }

  /// A source of rows. Each `QueryWorld` turns its number into a name.
  struct Source {
    enum Kind {
      case table(Int)
      /// A named query without a model, one with a model, and rows of values.
      case named(RandomQuery)
      case alias(RandomQuery)
      case values([[RandomValue]])
      /// The elements of a JSON array.
      case elements(RandomTerm)
    }

    enum Join: String {
      case inner = "JOIN"
      case left = "LEFT JOIN"
      case cross = "CROSS JOIN"
    }

    let id: Int
    let kind: Kind
    /// True for a table without an alias.
    var isBare = false
    var join = Join.inner
    var condition: RandomTerm?
  }
}

/// A value. Texts have numbers, so that a query runs with harmless and with hostile texts.
enum RandomValue: Hashable {
  case null
  case number(Int)
  case text(Int)
  case list([Int?])
}

indirect enum RandomTerm {
  enum Comparison: String, CaseIterable {
    case equal = "="
    case notEqual = "<>"
    case less = "<"
    case lessOrEqual = "<="
    case greater = ">"
    case greaterOrEqual = ">="
    case same = "IS"
    case notSame = "IS NOT"
  }

  enum Aggregate: String, CaseIterable {
    case count, sum, total, avg, min, max
  }

  enum Ranking: String, CaseIterable {
    case rowNumber = "row_number"
    case rank
    case denseRank = "dense_rank"
  }

  enum Subquery {
    case exists, scalar
    case isIn(RandomTerm)
  }

  /// A column of a source, by its number and position.
  case column(Int, Int)
  case value(RandomValue)
  case comparison(Comparison, RandomTerm, RandomTerm)
  case plus(RandomTerm, RandomTerm)
  case minus(RandomTerm, RandomTerm)
  case times(RandomTerm, RandomTerm)
  case concatenation(RandomTerm, RandomTerm)
  case and(RandomTerm, RandomTerm)
  case or(RandomTerm, RandomTerm)
  case not(RandomTerm)
  case isNull(RandomTerm)
  case between(RandomTerm, RandomTerm, RandomTerm)
  case isIn(RandomTerm, [RandomValue])
  case choice([(RandomTerm, RandomTerm)], otherwise: RandomTerm?)
  case coalesce(RandomTerm, RandomTerm)
  case nullIf(RandomTerm, RandomTerm)
  case countAll(filter: RandomTerm?)
  case aggregate(Aggregate, RandomTerm, isDistinct: Bool, filter: RandomTerm?)
  case ranking(Ranking, partition: [RandomTerm], order: [(RandomTerm, isDescending: Bool)])
  case running(Aggregate, RandomTerm, partition: [RandomTerm], order: [RandomTerm], rows: Int?)
  case query(Subquery, RandomQuery)
}

/// Names and texts for random queries, which must not change a query's meaning.
struct QueryWorld: Sendable {
  let tables: [any QueryModel.Type]
  let texts: [String]
  let aliases: @Sendable (Int) -> String

  func storage(_ value: RandomValue) -> DatabaseValue {
    switch value {
    case .null: .null
    case .number(let number): .integer(Int64(number))
    case .text(let index): .text(texts[index])
    case .list(let list): .text("[\(list.map { $0.map(String.init) ?? "null" }.joined(separator: ","))]")
    }
  }

  func value(_ value: RandomValue) -> any SqlValue {
    switch storage(value) {
    case .integer(let number): number
    case .text(let text): text
    default: Null()
    }
  }

  static let harmless = QueryWorld(
    tables: [QueryRow<HarmlessLeft>.self, QueryRow<HarmlessRight>.self], texts: ["", "a", "B", "ab", "c"],
    aliases: { "s\($0)" })

  static let hostile = QueryWorld(
    tables: [QueryRow<HostileLeft>.self, QueryRow<HostileRight>.self],
    texts: ["'; DROP TABLE person; --", "\"", "a\0b", "%_\\?1 :x", "日本 e\u{301} é\n/*"],
    aliases: { index in
      ["\"; DROP TABLE x --", "select", "a.b \n'?1'", "日本 [😀] é", "/* \\", "rowid"][index % 6] + "\(index)"
    })
}

protocol QueryModel: Sqlable {
  static var columns: [Column] { get }
}

protocol QueryNames: Sendable {
  static var tableName: String { get }
  static var columns: [Column] { get }
}

/// A row of one of the tables: an id, two numbers, a text and a JSON array of numbers.
struct QueryRow<Names: QueryNames>: QueryModel {
  static var tableName: String { Names.tableName }
  static var columns: [Column] { Names.columns }
  static var tableLayout: [Column] { Names.columns }
  let values: [DatabaseValue]

  init(row: ReadRow) throws {
    let numbers = try Names.columns[..<3].map { try row.get($0) as Int? }
    let texts = try Names.columns[3...].map { try row.get($0) as String? }
    values = numbers.map { $0.map { .integer(Int64($0)) } ?? .null } + texts.map { $0.map { .text($0) } ?? .null }
  }

  func write(to row: inout RowWriter) throws {
    for (column, value) in zip(Names.columns, values) {
      switch value {
      case .integer(let integer): row.set(column, integer)
      case .text(let text): row.set(column, text)
      default: row.set(column, String?.none)
      }
    }
  }
}

enum HarmlessLeft: QueryNames {
  static let tableName = "left_one"
  static let columns = queryColumns("id", "a", "b", "t", "j")
}

enum HarmlessRight: QueryNames {
  static let tableName = "right_one"
  static let columns = queryColumns("id", "a", "b", "t", "j")
}

enum HostileLeft: QueryNames {
  static let tableName = #"order "x"; DROP TABLE person; --"#
  static let columns = queryColumns("group", "a'b\"c` [d] /* -- \n?1 :x", "naïve 日本 😀", "select", "\"\"'")
}

enum HostileRight: QueryNames {
  static let tableName = "values (1) -- '"
  static let columns = queryColumns("count(*)", "e\u{301}", "é", "?1", " ")
}

private func queryColumns(_ id: String, _ a: String, _ b: String, _ t: String, _ j: String) -> [Column] {
  [
    Column(id, .integer, PrimaryKey()), Column(a, .nullable(.integer)), Column(b, .nullable(.integer)),
    Column(t, .nullable(.text)), Column(j, .nullable(.text)),
  ]
}

/// The model of aliased queries: two numbers.
enum QueryPair: TableDeclaration {
  static let name = "query_pair"
  static let (first, second) = (Column("first", .nullable(.integer)), Column("second", .nullable(.integer)))
  static let columns = [first, second]
}
