import FoundationEssentials
import SqlableCore
import SqlableDocuments

/// The permissions of statements from untrusted documents. Anything that the policy does not allow is refused.
///
/// ```swift
/// let policy = StatementPolicy(
///   .table(Bicycle.self).reading(Bicycle.id, Bicycle.name, Bicycle.color).filtering(Bicycle.color, by: .equality)
///     .sorting(Bicycle.name).rows(where: Bicycle.ownerId == tenant))
/// let bikes = try policy.statement(Select<Bicycle>.self, json: body).run(db)
/// ```
///
/// A document can only read, unless `kinds` contains other kinds. A document without a limit gets the policy's limit.
/// Joins, nested queries, groups and function calls need the policy's permission. The condition of
/// ``TablePolicy/rows(where:)`` is added to every use of the table. A name that is not allowed causes the same error as
/// a name that does not exist.
///
/// A policy is a value. Build a policy for each request, with the tenant's condition, or reuse one policy.
public struct StatementPolicy: Sendable {
  let tables: [TablePolicy]
  /// The index of the policy's tables and columns, built once per policy.
  let index: PolicyIndex
  /// The allowed kinds of statements.
  public var kinds: Set<StatementKind>
  /// The allowed features, in addition to columns, values and comparisons.
  public var features: Set<Feature>
  /// The allowed SQLite functions, by their names in the statement format: `lower`, `substr`.
  public var functions: Set<String>
  /// The allowed functions and collations that the program registered.
  public var registered: Set<String>
  /// The limits on a document's size and on the run of its statement.
  public var limits: Limits

  /// Creates a policy that allows a document to read these tables. Further arguments allow more kinds, features and
  /// functions. If a table appears twice, checking any document throws `.misuse`.
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

  /// Features of queries. A policy allows each feature separately.
  public enum Feature: Sendable, Hashable, CaseIterable {
    /// Several tables in a query.
    case joins
    /// Queries inside terms: in `IN (SELECT …)`, in `EXISTS`, and as values.
    case subqueries
    /// Named queries, including recursive queries.
    case namedQueries
    /// UNION, INTERSECT and EXCEPT.
    case compounds
    /// Rows whose values are in the document: `VALUES (…), (…)`.
    case literalRows
    /// Aggregates, with GROUP BY and HAVING.
    case aggregates
    /// Window functions.
    case windows
    /// DISTINCT.
    case distinct
    /// Arithmetic, concatenation, bit operators, CASE and casts.
    case arithmetic
    /// JSON paths and JSON functions.
    case json
    /// Parts, formats and shifts of dates.
    case dates
    /// Full-text search without excerpts.
    case fullText
    /// Snippets and highlights of full-text search, which also need `fullText`. An excerpt is created in a single step,
    /// which can't be interrupted. The time grows with the square of the number of matches in the text. Suppose that
    /// every word of a text of one MiB matches. A highlight then takes half a minute, and a snippet half an hour or
    /// more.
    case excerpts
    /// Regular expressions: REGEXP. A match of a text is a single step, which can't be interrupted. The number of
    /// operations is up to 2,000 times the number of characters in the text.
    case regularExpressions
    /// Named parameters.
    case parameters
  }
}

/// A kind of condition on a column.
public enum FilterOperation: Sendable, Hashable, CaseIterable {
  /// `=`, `<>`, `IS`, `IN` and `IS NULL`, also in a join or subquery. Also the column alone as a condition.
  case equality
  /// `<`, `<=`, `>`, `>=` and `BETWEEN`.
  case comparison
  /// `LIKE`, `GLOB` and `REGEXP`. A full-text search needs `pattern` on all columns of the index.
  case pattern
}

/// The permissions of documents for the table of a model.
///
/// ```swift
/// TablePolicy(Bicycle.self).reading(Bicycle.id, Bicycle.color).filtering(Bicycle.color, by: .equality, .pattern)
/// ```
///
/// A document can use only columns that a method of the policy names. Any other column is treated as missing.
public struct TablePolicy: Sendable {
  let table: TableInfo
  var readable: Set<Int> = []
  var sortable: Set<Int> = []
  var settable: Set<Int> = []
  var filterable: [Int: Set<FilterOperation>] = [:]
  var condition: SqlExpression?
  var defect: SqlError?

  public init(_ model: (some Sqlable).Type) {
    self.init(table: TableInfo.unchecked(model))
    defect = table.defect
  }

  init(table: TableInfo) { self.table = table }

  @inline(never)
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

  /// Allows these columns in results. A complete model can be read only if all of its columns are allowed.
  public func reading(_ columns: any ColumnConvertible...) -> TablePolicy {
    with(columns) { $0.readable.insert($1) }
  }

  /// Allows all columns in results.
  public func readingAll() -> TablePolicy { with(table.columns) { $0.readable.insert($1) } }

  /// Allows conditions on a column with these kinds of operators.
  ///
  /// A client that can filter by a column but not read it can infer the column's values by repeated queries. Such
  /// queries expose only values in rows that the policy shows.
  public func filtering(
    _ column: any ColumnConvertible, _ others: any ColumnConvertible..., by operations: FilterOperation...
  ) -> TablePolicy {
    with([column] + others) { $0.filterable[$1, default: []].formUnion(operations) }
  }

  /// Allows these columns in an order.
  public func sorting(_ columns: any ColumnConvertible...) -> TablePolicy {
    with(columns) { $0.sortable.insert($1) }
  }

  /// Allows inserts and updates to set these columns, if the policy's kinds allow inserts and updates.
  public func setting(_ columns: any ColumnConvertible...) -> TablePolicy {
    with(columns) { $0.settable.insert($1) }
  }

  /// Restricts every use of the table to the rows that match a condition, such as the rows of a tenant.
  ///
  /// The condition is added to the WHERE clause of each query, update and delete, or to the ON condition of a left
  /// join. A document can't bypass the condition. A document can't insert into the table.
  public func rows(where condition: any SqlCondition) -> TablePolicy {
    var policy = self
    policy.condition.and(condition.expression)
    return policy
  }

  /// Returns the rules of all tables. Marks a repeated table as an error. Otherwise, the condition of one entry would
  /// apply to the columns that the other entry allows.
  fileprivate static func each(_ all: [TablePolicy]) -> [TablePolicy] {
    var names: Set<[UInt8]> = []
    return all.map { rules in
      guard !names.insert(rules.table.name.foldedName).inserted else { return rules }
      var repeated = rules
      repeated.defect = SqlError.misuse("the policy has table \(rules.table.name) twice").at(table: rules.table.name)
      return repeated
    }
  }

  /// Throws `.misuse` if the condition on the rows is invalid: an error of the program, not of the document.
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
