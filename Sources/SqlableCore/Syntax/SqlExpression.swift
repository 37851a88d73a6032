/// An SQL expression: a column, a value, or an operator or function applied to expressions.
///
/// ```swift
/// Bicycle.color == "red" && Bicycle.id > 3        // "color" = ? AND "id" > ?
/// ```
///
/// An expression is an immutable value. In statements, Swift values are bound, except constant arguments such as a JSON
/// path, which become literals. In declarations, such as checks and views, all values become literals. As in SQL, most
/// operations on NULL return NULL, and a filter drops the rows for which its condition is NULL.
public struct SqlExpression: Sendable, Hashable {
  package let node: Node
  let size: Size

  package struct Size: Sendable, Hashable {
    package var depth: Int16 = 1
    /// The depth as SQLite counts it. A chain of ANDs is as deep as the chain is long.
    var height: Int16 = 1

    package init() {}

    init(depth: Int16, height: Int16) {
      self.depth = depth
      self.height = height
    }

    static let ofTwo = Size(depth: 2, height: 2)

    init(of terms: [SqlExpression]) { for term in terms { join(term.size) } }

    mutating func join(_ other: Size) {
      depth = Swift.max(depth, other.depth)
      height = Swift.max(height, other.height)
    }

    func joined(_ other: Size) -> Size {
      var size = self
      size.join(other)
      return size
    }
  }

  /// The tree of an expression. Columns and values, the most frequent nodes, are stored inline in their parent.
  package enum Node: Sendable {
    case column(ColumnReference)
    case value(DatabaseValue)
    case parameter(String)
    case all(TermChain)
    case any(TermChain)
    indirect case not(SqlExpression)
    indirect case negative(SqlExpression)
    case binary(BinaryTerm)
    indirect case isNull(SqlExpression)
    indirect case isNotNull(SqlExpression)
    indirect case between(SqlExpression, SqlExpression, SqlExpression)
    /// A value IN a list. For a row value, the list contains the values of all rows, row by row.
    indirect case isIn(SqlExpression, [DatabaseValue])
    /// An empty text means no escape character. With an optional, a decoder would accept a missing key.
    indirect case like(SqlExpression, SqlExpression, escape: String)
    indirect case collate(SqlExpression, Collate)
    /// A column of the table with this alias.
    indirect case qualified(alias: String, ColumnReference)
    indirect case call(Call)
    /// A term with its own SQL syntax, such as `CASE … END`.
    indirect case special(SyntaxTerm)
    /// `(SELECT …)`, `EXISTS (SELECT …)` or `… IN (SELECT …)`.
    indirect case query(QueryTerm)
    indirect case invalid(InvalidTerm)
  }

  /// The binary operators. The raw values are SQL.
  @usableFromInline
  package enum BinaryOperator: String, Sendable, Hashable, CaseIterable {
    case equal = "="
    case notEqual = "<>"
    case less = "<"
    case lessOrEqual = "<="
    case greater = ">"
    case greaterOrEqual = ">="
    case isSame = "IS"
    case isNotSame = "IS NOT"
    case plus = "+"
    case minus = "-"
    case times = "*"
    case divided = "/"
    case remainder = "%"
    case concatenated = "||"
    case bitAnd = "&"
    case bitOr = "|"
    case shiftedLeft = "<<"
    case shiftedRight = ">>"
    case matchesGlob = "GLOB"
    case matchesRegexp = "REGEXP"
    case json = "->"
    case jsonValue = "->>"

    package var isComparison: Bool {
      switch self {
      case .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual, .isSame, .isNotSame: true
      case .plus, .minus, .times, .divided, .remainder, .concatenated, .bitAnd, .bitOr, .shiftedLeft, .shiftedRight,
        .matchesGlob, .matchesRegexp, .json, .jsonValue:
        false
      }
    }

    /// The operator with spaces around it. A `StaticString` avoids building a string for each use.
    var sql: StaticString {
      switch self {
      case .equal: " = "
      case .notEqual: " <> "
      case .less: " < "
      case .lessOrEqual: " <= "
      case .greater: " > "
      case .greaterOrEqual: " >= "
      case .isSame: " IS "
      case .isNotSame: " IS NOT "
      case .plus: " + "
      case .minus: " - "
      case .times: " * "
      case .divided: " / "
      case .remainder: " % "
      case .concatenated: " || "
      case .bitAnd: " & "
      case .bitOr: " | "
      case .shiftedLeft: " << "
      case .shiftedRight: " >> "
      case .matchesGlob: " GLOB "
      case .matchesRegexp: " REGEXP "
      case .json: " -> "
      case .jsonValue: " ->> "
      }
    }
  }

  /// An error that running the statement throws. The term stores the error, because operators can't throw.
  package struct InvalidTerm: Sendable, Hashable {
    package let error: SqlError
    /// The column that the error names. The column's table is known only when the query is rendered.
    var column: ColumnReference?
  }

  /// The maximum depth of a tree. Trees are walked by recursion, and this depth fits into half a megabyte of stack,
  /// even for JSON in a debug build.
  package static let maximumDepth: Int16 = 100
  /// The maximum depth as SQLite counts it. SQLite rejects expressions deeper than 1000, and counts the depth of a
  /// subquery twice.
  static let maximumHeight: Int16 = 480
  /// The maximum number of terms that are joined by AND or OR without parentheses. SQLite's tree for such a chain is as
  /// deep as the chain is long, so longer chains become balanced trees.
  static let maximumChain = 100

  package init(_ node: Node) {
    let size = node.size
    let message: String? =
      if size.depth > SqlExpression.maximumDepth {
        "an expression is more than \(SqlExpression.maximumDepth) terms deep"
      } else if size.height > SqlExpression.maximumHeight {
        "an expression is nested too deeply for SQLite"
      } else { nil }
    self.node = message.map { .invalid(InvalidTerm(error: .invalidStatement($0))) } ?? node
    self.size = message == nil ? size : Size()
  }

  package init(_ value: DatabaseValue) { self.init(leaf: .value(value)) }

  /// Creates a term without subterms, whose size needs no check.
  package init(leaf: Node) {
    node = leaf
    size = Size()
  }

  init(comparison: BinaryTerm) {
    node = .binary(comparison)
    size = .ofTwo
  }

  package init(_ value: any SqlValue) {
    do { self.init(try value.databaseValue.checked()) } catch { self.init(invalid: error) }
  }

  /// Creates a term from a value that is converted to a column's type. `side` is the direction in which a comparison
  /// rounds the value; nil if the column must be able to store the value exactly.
  init(_ value: any SqlValue, for column: Column, comparing: Bool = true, _ side: RoundingSide? = nil) {
    do {
      let type = column.type
      let storage = try (comparing ? type.comparable(value, side) : value.databaseValue(in: type)).checked()
      let fits = comparing ? type.compares(with: storage.storageClass) : type.stores(storage)
      guard fits else { throw type.mismatch(storage.storageClass) }
      self.init(storage)
    } catch {
      self.init(invalid: error, column: column)
    }
  }

  static func located(_ error: any Error, column: Column) -> any Error {
    guard var error = (error as? SqlError)?.at(table: nil, column: column.name) else { return error }
    if case .encoding(let mismatch) = error.kind {
      error.message = "column \(column.name) takes \(mismatch.expected), but was given \(mismatch.found)"
    }
    return error
  }
}

extension SqlExpression.Node: Hashable {
  private enum Form {
    case column, value, parameter, all, any, not, negative, binary, isNull, isNotNull, between, isIn, like, collate
    case qualified, call, special, query, invalid
  }

  private var form: Form {
    switch self {
    case .column: .column
    case .value: .value
    case .parameter: .parameter
    case .all: .all
    case .any: .any
    case .not: .not
    case .negative: .negative
    case .binary: .binary
    case .isNull: .isNull
    case .isNotNull: .isNotNull
    case .between: .between
    case .isIn: .isIn
    case .like: .like
    case .collate: .collate
    case .qualified: .qualified
    case .call: .call
    case .special: .special
    case .query: .query
    case .invalid: .invalid
    }
  }

  /// The direct subterms, without the terms of subqueries.
  package var terms: [SqlExpression] {
    switch self {
    case .column, .value, .parameter, .qualified, .invalid: []
    case .call(let call): call.terms
    case .special(let special): special.terms
    case .query(let query): query.term.map { [$0] } ?? []
    case .all(let terms), .any(let terms): Array(terms)
    case .not(let term), .negative(let term), .isNull(let term), .isNotNull(let term), .isIn(let term, _),
      .collate(let term, _):
      [term]
    case .binary(let term): [term.left, term.right]
    case .like(let left, let right, _): [left, right]
    case .between(let term, let low, let high): [term, low, high]
    }
  }

  /// Returns true if the predicate is true for a direct subterm. Unlike `terms`, this method allocates no array.
  @inline(never)
  package func hasTerm(where predicate: (SqlExpression) -> Bool) -> Bool {
    switch self {
    case .column, .value, .parameter, .qualified, .invalid: false
    case .call, .special: terms.contains(where: predicate)
    case .query(let query): query.term.map(predicate) ?? false
    case .all(let terms), .any(let terms): terms.contains(where: predicate)
    case .not(let term), .negative(let term), .isNull(let term), .isNotNull(let term), .isIn(let term, _),
      .collate(let term, _):
      predicate(term)
    case .binary(let term): predicate(term.left) || predicate(term.right)
    case .like(let left, let right, _): predicate(left) || predicate(right)
    case .between(let term, let low, let high): predicate(term) || predicate(low) || predicate(high)
    }
  }

  /// True if the SQL can contain a `?`. SQLite treats two equal terms with a `?` as different, because SQLite compares
  /// terms before values are bound.
  var bindsValues: Bool {
    switch self {
    case .value, .parameter, .isIn, .like, .query: true
    case .special(let special): special.form.bindsValues || terms.contains { $0.node.bindsValues }
    default: terms.contains { $0.node.bindsValues }
    }
  }

  /// The case's associated values, without `comparedTerms`.
  private var rest: AnyHashable? {
    switch self {
    case .all, .any, .not, .negative, .isNull, .isNotNull, .between: nil
    case .column(let column): column
    case .value(let value): value
    case .parameter(let name): name
    case .binary(let term): term.operation
    case .isIn(_, let values): values
    case .like(_, _, let escape): DatabaseValue.text(escape)
    case .collate(_, let collation): collation
    case .qualified(let alias, let column): [AnyHashable(DatabaseValue.text(alias)), AnyHashable(column)]
    case .call(let call): call
    case .special(let special): special.form
    case .query(let query): query
    case .invalid(let term): term
    }
  }

  /// The subterms that `rest` does not contain. If `==` compared subterms twice at each level, its time would be
  /// exponential: a depth of 60 would never finish.
  private var comparedTerms: [SqlExpression] {
    switch self {
    case .call, .query: []
    default: terms
    }
  }

  // Written by hand, because the synthesized code for so many cases uses too much stack at each level of a deep tree.

  package static func == (left: Self, right: Self) -> Bool {
    left.form == right.form && left.rest == right.rest && left.comparedTerms == right.comparedTerms
  }

  @inline(never)
  package func hash(into hasher: inout Hasher) {
    hasher.combine(form)
    hasher.combine(rest)
    hasher.combine(comparedTerms)
  }
}

extension SqlExpression.Node {
  fileprivate var size: SqlExpression.Size {
    var size: SqlExpression.Size
    switch self {
    case .column, .value, .parameter, .qualified, .invalid: return SqlExpression.Size()
    case .call(let call): size = SqlExpression.Size(of: call.terms)
    case .special(let special): size = SqlExpression.Size(of: special.terms)
    case .query(let query):
      size = query.query.clauses.size
      if let term = query.term { size = size.joined(term.size) }
    case .all(let terms), .any(let terms): return terms.size
    case .not(let term), .negative(let term), .isNull(let term), .isNotNull(let term), .isIn(let term, _),
      .collate(let term, _):
      size = term.size
    case .binary(let term): size = term.left.size.joined(term.right.size)
    case .like(let left, let right, _): size = left.size.joined(right.size)
    case .between(let term, let low, let high): size = term.size.joined(low.size).joined(high.size)
    }
    size.depth += 1
    size.height += 1
    return size
  }
}

extension SqlExpression {
  /// Returns the number of terms in each part of a chain that is longer than `maximumChain`. The chain is split because
  /// SQLite's tree for `((a AND b) AND c) AND d` is as high as the chain is long. A part contains `maximumChain` terms,
  /// or `maximumChain` smaller parts.
  static func sizeOfParts(_ count: Int) -> Int {
    count <= maximumChain * maximumChain ? maximumChain : maximumChain * maximumChain
  }

  /// The maximum depth of a chain that is split into parts: small parts contain terms, and large parts contain small
  /// parts.
  static let chainLevels = 2
}

/// An expression with a Swift type, built from typed columns.
///
/// ```swift
/// Car.price * 2          // TypedExpression<Double>
/// ```
public struct TypedExpression<Value: SqlValue>: Sendable {
  public let expression: SqlExpression

  /// Makes a term from an expression. Like `typed(as:)`, does not check the type of the expression.
  public init(expression: SqlExpression) {
    self.expression = expression
  }
}

extension TypedExpression {
  /// Creates a term from a value that is bound. As a result column, the term has the same value in all rows.
  public init(_ value: Value) { expression = SqlExpression(value) }
}
