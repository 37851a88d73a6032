import FoundationEssentials
import SqlableCore

/// The permissions of statements from untrusted documents. Anything that the policy does not allow is refused.
///
/// ```swift
/// let policy = StatementPolicy(
///   .table(Bicycle.self).reading(Bicycle.id, Bicycle.name, Bicycle.color).filtering(Bicycle.color, by: .equality)
///     .sorting(Bicycle.name).rows(where: Bicycle.ownerId == tenant))
/// let bikes = try policy.statement(Select<Bicycle>.self, json: body).run(db)
/// ```
///
/// A document can only read, unless `kinds` has other statements. A document without a limit gets one. Joins, nested
/// queries, groups and function calls need the policy's permission. The condition of ``TablePolicy/rows(where:)`` is
/// added wherever a document uses the table. A name that the policy does not allow is refused like a name that does not
/// exist.
///
/// A policy is a value; build one for each request, with the tenant's condition in it, or keep it.
public struct StatementPolicy: Sendable {
  let tables: [TablePolicy]
  /// The lookup data for documents, built once.
  let index: PolicyIndex
  /// The kinds of statements that are allowed.
  public var kinds: Set<StatementKind>
  /// The features that a document may use besides columns, values, and their comparisons.
  public var features: Set<Feature>
  /// SQLite's functions that a document may call, by their names in the format: `lower`, `substr`.
  public var functions: Set<String>
  /// Functions and collations that the program registered and that a document may name.
  public var registered: Set<String>
  /// The limits on a document's size, and on its reads.
  public var limits: Limits

  /// Creates a policy that allows a document to read these tables, and nothing else unless the other arguments allow
  /// more. A policy that has a table twice throws `.misuse` for every document.
  public init(
    _ tables: TablePolicy..., kinds: Set<StatementKind> = StatementKind.reads, features: Set<Feature> = [],
    functions: Set<String> = [], registered: Set<String> = [], limits: Limits = Limits()
  ) {
    self.tables = TablePolicy.each(tables)
    index = PolicyIndex(self.tables)
    self.kinds = kinds
    self.features = features
    self.functions = functions
    self.registered = registered
    self.limits = limits
  }

  /// Parts of queries, each of which a policy allows by itself.
  public enum Feature: Sendable, Hashable, CaseIterable {
    /// Several tables in a query.
    case joins
    /// Queries within terms: `IN (SELECT …)`, `EXISTS`, and as values.
    case subqueries
    /// Queries with a name, also recursive ones.
    case namedQueries
    /// UNION, INTERSECT and EXCEPT.
    case compounds
    /// Literal rows.
    case literalRows
    /// Aggregates, with GROUP BY and HAVING.
    case aggregates
    /// Window functions.
    case windows
    /// DISTINCT.
    case distinct
    /// Arithmetic, concatenation, operators on bits, CASE and casts.
    case arithmetic
    /// Parts of JSON: paths, and functions of JSON.
    case json
    /// Parts and formats of dates, and dates that are shifted.
    case dates
    /// Full-text search, without its excerpts of texts.
    case fullText
    /// Snippets and highlights of full-text search, which also needs `fullText`. Making an excerpt is a single step,
    /// which nothing can stop. The time grows with the square of the number of matches in the text. A text of one MiB
    /// in which every word matches takes half a minute to highlight. A snippet of such a text takes half an hour or
    /// more.
    case excerpts
    /// Regular expressions: REGEXP. Matching a text is a single step, which nothing can stop. The number of operations
    /// is the number of characters in the text, multiplied by up to 2,000.
    case regularExpressions
    /// Named parameters.
    case parameters
  }
}

/// A kind of condition on a column.
public enum FilterOperation: Sendable, Hashable, CaseIterable {
  /// `=`, `<>`, `IS`, `IN` and `IS NULL`, also by a join, a subquery, or the column by itself.
  case equality
  /// `<`, `<=`, `>`, `>=` and `BETWEEN`.
  case comparison
  /// `LIKE` and `GLOB`.
  case pattern
}

/// The permissions of documents for the table of a model.
///
/// ```swift
/// TablePolicy(Bicycle.self).reading(Bicycle.id, Bicycle.color).filtering(Bicycle.color, by: .equality, .pattern)
/// ```
///
/// A column that no method of the policy names does not exist for a document.
public struct TablePolicy: Sendable {
  let table: TableInfo
  var readable: Set<Int> = []
  var sortable: Set<Int> = []
  var settable: Set<Int> = []
  var filterable: [Int: Set<FilterOperation>] = [:]
  var condition: SqlExpression?
  /// The error of the rules, such as a column that is not in the table; nil if there is none.
  var defect: SqlError?

  public init(_ model: (some Sqlable).Type) {
    self.init(table: TableInfo.unchecked(model))
    defect = table.defect
  }

  init(table: TableInfo) { self.table = table }

  private func with(_ columns: [any ColumnConvertible], _ change: (inout TablePolicy, Int) -> Void) -> TablePolicy {
    var policy = self
    for column in columns {
      guard let position = table.position(of: column.column.definition) else {
        policy.defect =
          SqlError.misuse("column \(column.column.name) is not in the layout of table \(table.name)").at(
            table: table.name, column: column.column.name)
        continue
      }
      change(&policy, position)
    }
    return policy
  }

  /// Allows results with these columns. A whole model is read only where all of its columns are allowed.
  public func reading(_ columns: any ColumnConvertible...) -> TablePolicy {
    with(columns) { $0.readable.insert($1) }
  }

  /// Allows results with all columns.
  public func readingAll() -> TablePolicy { with(table.columns) { $0.readable.insert($1) } }

  /// Allows conditions on a column, by these kinds of operators.
  ///
  /// A document that may filter by a column but not read it can infer the column's values by repeated queries. Only
  /// rows that the policy shows are exposed in this way.
  public func filtering(
    _ column: any ColumnConvertible, _ others: any ColumnConvertible..., by operations: FilterOperation...
  ) -> TablePolicy {
    with([column] + others) { $0.filterable[$1, default: []].formUnion(operations) }
  }

  /// Allows an order by these columns.
  public func sorting(_ columns: any ColumnConvertible...) -> TablePolicy {
    with(columns) { $0.sortable.insert($1) }
  }

  /// Allows inserts and updates to give these columns values, where the policy's kinds allow such statements.
  public func setting(_ columns: any ColumnConvertible...) -> TablePolicy {
    with(columns) { $0.settable.insert($1) }
  }

  /// Restricts every use of the table to the rows that match a condition, such as those of a tenant.
  ///
  /// The condition is added to the WHERE of each query, update and delete, or to the ON of a left join. Nothing in a
  /// document can widen the condition. A document can't insert into such a table.
  public func rows(where condition: any SqlCondition) -> TablePolicy {
    var policy = self
    policy.condition.and(condition.expression)
    return policy
  }

  /// Returns the rules of tables, with a defect for each table that appears again. Otherwise the condition of one entry
  /// could stand beside the columns of another.
  fileprivate static func each(_ all: [TablePolicy]) -> [TablePolicy] {
    var names: Set<[UInt8]> = []
    return all.map { rules in
      guard !names.insert(rules.table.name.foldedName).inserted else { return rules }
      var repeated = rules
      repeated.defect = SqlError.misuse("the policy has table \(rules.table.name) twice").at(table: rules.table.name)
      return repeated
    }
  }

  /// Throws `.misuse` if the table can't use the condition on its rows, which is not a document's fault.
  func checkCondition() throws {
    guard let condition else { return }
    var query = SelectQuery(.count, of: table)
    query.filter(condition)
    do { _ = try query.withValues() } catch let error as SqlError {
      throw SqlError.misuse("the policy's condition on the rows of table \(table.name) can't be used: \(error.message)")
        .at(table: table.name)
    }
  }
}

extension TablePolicy {
  /// Returns the permissions of documents for the table of a model: `.table(Bicycle.self).readingAll()`.
  public static func table(_ model: (some Sqlable).Type) -> TablePolicy { TablePolicy(model) }
}
