import FoundationEssentials
import SqlableCore

/// What statements from untrusted documents may do. Whatever it does not allow is refused.
///
/// ```swift
/// let policy = StatementPolicy(
///   .table(Bicycle.self).reading(Bicycle.id, Bicycle.name, Bicycle.color).filtering(Bicycle.color, by: .equality)
///     .sorting(Bicycle.name).rows(where: Bicycle.ownerId == tenant))
/// let bikes = try policy.statement(Select<Bicycle>.self, json: body).run(db)
/// ```
///
/// A document reads only, unless `kinds` has others; it gets a limit if it has none; it may not join, nest, group or
/// call functions, unless the policy says so. The condition of ``TablePolicy/rows(where:)`` is added wherever a
/// document uses the table. A name that the policy does not allow is refused like one that does not exist.
///
/// A policy is a value; build one for each request, with the tenant's condition in it, or keep it.
public struct StatementPolicy: Sendable {
  let tables: [TableRules]
  /// What is looked up for each document, made once.
  let index: PolicyIndex
  /// The kinds of statements that are allowed.
  public var kinds: Set<StatementKind>
  /// What a document may use besides columns, values, and their comparisons.
  public var features: Set<Feature>
  /// SQLite's functions that a document may call, by the names of the format: `lower`, `substr`.
  public var functions: Set<String>
  /// Functions and collations of the program's own that a document may name.
  public var registered: Set<String>
  /// The largest size of a document, and of what it reads.
  public var limits: Limits

  /// Allows a document to use these tables, to read them, and nothing else. A policy that has a table twice throws
  /// `.misuse` for every document.
  public init(
    _ tables: any PolicyTable..., kinds: Set<StatementKind> = StatementKind.reads, features: Set<Feature> = [],
    functions: Set<String> = [], registered: Set<String> = [], limits: Limits = Limits()
  ) {
    self.tables = TableRules.each(tables.map(\.rules))
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
    /// Snippets and highlights of full-text search, which also needs `fullText`. To make one is a single step, which
    /// nothing can stop: it takes the square of the number of matches in the text. A text of one MiB in which every
    /// word matches takes half a minute to highlight, and half an hour or more for a snippet.
    case excerpts
    /// Regular expressions: REGEXP. To match one to a text is a single step, which nothing can stop: it takes as many
    /// operations as the text has characters, multiplied by up to 2,000.
    case regularExpressions
    /// Named parameters.
    case parameters
  }
}

/// The rules of a table, for a ``StatementPolicy``. ``TablePolicy`` is the only one.
public protocol PolicyTable: Sendable {
  var rules: TableRules { get }
}

/// The rules of a table, without the type of its model.
public struct TableRules: Sendable {
  let table: TableInfo
  var readable: Set<Int> = []
  var sortable: Set<Int> = []
  var settable: Set<Int> = []
  var filterable: [Int: Set<FilterOperation>] = [:]
  var condition: SqlExpression?
  /// The error of a column that is not the table's.
  var defect: SqlError?

  /// The rules of tables, each of which may have them once: the condition of one could stand beside the columns of
  /// another.
  fileprivate static func each(_ all: [TableRules]) -> [TableRules] {
    var names: Set<[UInt8]> = []
    return all.map { rules in
      guard !names.insert(rules.table.name.foldedName).inserted else { return rules }
      var repeated = rules
      repeated.defect = SqlError.misuse("the policy has table \(rules.table.name) twice").at(table: rules.table.name)
      return repeated
    }
  }

  /// Throws `.misuse` if the condition on the rows can't be one of the table, which is not a document's fault.
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

/// A kind of condition on a column.
public enum FilterOperation: Sendable, Hashable, CaseIterable {
  /// `=`, `<>`, `IS`, `IN` and `IS NULL`, also by a join, a subquery, or the column by itself.
  case equality
  /// `<`, `<=`, `>`, `>=` and `BETWEEN`.
  case comparison
  /// `LIKE` and `GLOB`.
  case pattern
}

/// What a document may do with the table of a model.
///
/// ```swift
/// TablePolicy(Bicycle.self).reading(Bicycle.id, Bicycle.color).filtering(Bicycle.color, by: .equality, .pattern)
/// ```
///
/// A column that none of its methods names does not exist for a document.
public struct TablePolicy<Model: Sqlable>: PolicyTable {
  public private(set) var rules: TableRules

  public init(_ model: Model.Type) {
    rules = TableRules(table: TableInfo.unchecked(model))
    rules.defect = rules.table.defect
  }

  private func with(_ columns: [any ColumnConvertible], _ change: (inout TableRules, Int) -> Void) -> TablePolicy {
    var policy = self
    for column in columns {
      guard let position = rules.table.position(of: column.column.definition) else {
        policy.rules.defect =
          SqlError.misuse("column \(column.column.name) is not in the layout of table \(rules.table.name)").at(
            table: rules.table.name, column: column.column.name)
        continue
      }
      change(&policy.rules, position)
    }
    return policy
  }

  /// Allows results with these columns. A whole model is read only where all of its columns are allowed.
  public func reading(_ columns: any ColumnConvertible...) -> TablePolicy {
    with(columns) { $0.readable.insert($1) }
  }

  /// Allows results with all columns.
  public func readingAll() -> TablePolicy { with(rules.table.columns) { $0.readable.insert($1) } }

  /// Allows conditions on a column, by these kinds of operators.
  ///
  /// A document that may filter by a column can find out its values, also without reading it, in the rows that the
  /// policy lets it see.
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
  /// It is added to the WHERE of each query, or to the ON of a left join, of every update and delete. Nothing in a
  /// document can widen it. A document can't insert into such a table.
  public func rows(where condition: any SqlCondition) -> TablePolicy {
    var policy = self
    policy.rules.condition.and(condition.expression)
    return policy
  }
}

extension PolicyTable {
  /// What a document may do with the table of a model: `.table(Bicycle.self).readingAll()`.
  public static func table<Model: Sqlable>(_ model: Model.Type) -> TablePolicy<Model>
  where Self == TablePolicy<Model> { TablePolicy(model) }
}
