/// An SQL expression: a column, a value, or an operator or function applied to expressions.
///
/// ```swift
/// Bicycle.color == "red" && Bicycle.id > 3        // "color" = ? AND "id" > ?
/// ```
///
/// It is an immutable value, `Sendable`, `Hashable` and `Codable`. Values in it are bound, not written into the SQL. As
/// in SQL, most operations on NULL are NULL, and a filter drops rows for which its condition is NULL.
public struct SqlExpression: Sendable, Hashable {
  package let node: Node
  let size: Size

  /// The depth of a tree of terms.
  package struct Size: Sendable, Hashable {
    /// The number of nested terms.
    package var depth: Int16 = 1
    /// The depth as SQLite counts it: a chain of ANDs is as deep as it is long.
    var height: Int16 = 1

    package init() {}

    init(depth: Int16, height: Int16) {
      self.depth = depth
      self.height = height
    }

    /// The size of an operator between two leaves.
    static let ofTwo = Size(depth: 2, height: 2)

    /// The maximum of these terms.
    init(of terms: [SqlExpression]) { for term in terms { join(term.size) } }

    /// Raises it to the maximum of both.
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

  /// A closed tree, so that it can be compared, sent and decoded, and the renderer knows all of its forms.
  ///
  /// Columns and values, the most frequent nodes, are stored inline in their parent.
  package enum Node: Sendable {
    case column(ColumnReference)
    case value(DatabaseValue)
    /// A named value that is passed to a prepared statement.
    case parameter(String)
    /// AND of two or more terms.
    case all(TermChain)
    /// OR of two or more terms.
    case any(TermChain)
    indirect case not(SqlExpression)
    indirect case negative(SqlExpression)
    indirect case binary(BinaryOperator, SqlExpression, SqlExpression)
    indirect case isNull(SqlExpression)
    indirect case isNotNull(SqlExpression)
    indirect case between(SqlExpression, SqlExpression, SqlExpression)
    indirect case isIn(SqlExpression, [DatabaseValue])
    /// The escape is empty if there is none: as an optional, a decoder would not notice a missing key.
    indirect case like(SqlExpression, SqlExpression, escape: String)
    indirect case collate(SqlExpression, Collate)
    /// A column of the table with an alias.
    indirect case qualified(alias: String, ColumnReference)
    /// A function call with its optional clauses.
    indirect case call(Call)
    /// A term with its own SQL syntax, such as `CASE … END`.
    indirect case special(SyntaxTerm)
    /// `(SELECT …)`, `EXISTS (SELECT …)` or `… IN (SELECT …)`.
    indirect case query(QueryTerm)
    /// An invalid term; running the statement throws its error.
    indirect case invalid(InvalidTerm)
  }

  /// The binary operators, by their SQL.
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

    /// The operator with spaces around it. The raw values are strings that would be built for each use.
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

  /// The error that running a term throws. It is stored because operators can't throw.
  package struct InvalidTerm: Sendable, Hashable {
    package let error: SqlError
    /// The column that the error names; its table is known only when the query is rendered.
    var column: ColumnReference?
  }

  /// Trees are walked by recursion. This many levels fit into half a megabyte of stack, even when a debug build encodes
  /// them as JSON.
  package static let maximumDepth: Int16 = 100
  /// SQLite rejects expressions deeper than 1000, and counts those in a subquery twice.
  static let maximumHeight: Int16 = 480
  /// To SQLite a chain of ANDs is a tree as deep as the chain is long, so longer chains are balanced.
  static let maximumChain = 100

  /// A term, with its size if that is known.
  package init(_ node: Node, size: Size? = nil) {
    let size = size ?? node.size
    let message: String? =
      if size.depth > SqlExpression.maximumDepth {
        "an expression is more than \(SqlExpression.maximumDepth) terms deep"
      } else if size.height > SqlExpression.maximumHeight {
        "an expression is nested too deeply for SQLite"
      } else { nil }
    self.node = message.map { .invalid(InvalidTerm(error: .invalidStatement($0))) } ?? node
    self.size = message == nil ? size : Size()
  }

  package init(_ value: DatabaseValue) {
    node = .value(value)
    size = Size()
  }

  /// A value that belongs to no column.
  package init(_ value: any SqlValue) {
    do { self.init(try value.databaseValue.checked()) } catch { self.init(invalid: error) }
  }

  /// A value to compare with or store in a column, in the form that the column stores.
  ///
  /// - Parameter side: How it is compared; without one it must be a value that the column could hold.
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
  /// The forms of terms, to tell them apart.
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

  /// The direct subterms; a subquery's own terms are not included.
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
    case .binary(_, let left, let right), .like(let left, let right, _): [left, right]
    case .between(let term, let low, let high): [term, low, high]
    }
  }

  /// True if one of its direct subterms is of a kind. Unlike `terms` it makes no array.
  package func hasTerm(where predicate: (SqlExpression) -> Bool) -> Bool {
    switch self {
    case .column, .value, .parameter, .qualified, .invalid: false
    case .call, .special: terms.contains(where: predicate)
    case .query(let query): query.term.map(predicate) ?? false
    case .all(let terms), .any(let terms): terms.contains(where: predicate)
    case .not(let term), .negative(let term), .isNull(let term), .isNotNull(let term), .isIn(let term, _),
      .collate(let term, _):
      predicate(term)
    case .binary(_, let left, let right), .like(let left, let right, _): predicate(left) || predicate(right)
    case .between(let term, let low, let high): predicate(term) || predicate(low) || predicate(high)
    }
  }

  /// True if its SQL has a `?`: SQLite, which does not know the values, does not treat two such terms as equal.
  var bindsValues: Bool {
    switch self {
    case .value, .parameter, .isIn, .like, .query: true
    case .special(let special): special.form.bindsValues || terms.contains { $0.node.bindsValues }
    default: terms.contains { $0.node.bindsValues }
    }
  }

  /// The content other than the subterms that are compared separately.
  private var rest: AnyHashable? {
    switch self {
    case .all, .any, .not, .negative, .isNull, .isNotNull, .between: nil
    case .column(let column): column
    case .value(let value): value
    case .parameter(let name): name
    case .binary(let operation, _, _): operation
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

  /// The subterms that are compared separately. Terms that are also in `rest` would be compared twice at each level,
  /// which is exponential: a depth of 60 would never finish.
  private var comparedTerms: [SqlExpression] {
    switch self {
    case .call, .query: []
    default: terms
    }
  }

  // Written by hand: the synthesized code for so many cases uses more stack per level than a deep tree leaves.

  package static func == (left: Self, right: Self) -> Bool {
    left.form == right.form && left.rest == right.rest && left.comparedTerms == right.comparedTerms
  }

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
    case .binary(_, let left, let right), .like(let left, let right, _): size = left.size.joined(right.size)
    case .between(let term, let low, let high): size = term.size.joined(low.size).joined(high.size)
    }
    size.depth += 1
    size.height += 1
    return size
  }
}

extension SqlExpression {
  /// The size of the parts into which a chain longer than `maximumChain` is split: `((a AND b) AND c) AND d` is as high
  /// as it is long, so a part has `maximumChain` terms, or as many such parts.
  static func sizeOfParts(_ count: Int) -> Int {
    count <= maximumChain * maximumChain ? maximumChain : maximumChain * maximumChain
  }

  /// The largest number of levels of parts that a chain has.
  static let chainLevels = 2
}

/// An expression whose values have a Swift type, built from typed columns.
///
/// ```swift
/// Car.price * 2          // TypedExpression<Double>
/// ```
public struct TypedExpression<Value: SqlValue>: Sendable, Hashable {
  public let expression: SqlExpression

  package init(expression: SqlExpression) {
    self.expression = expression
  }
}

extension TypedExpression {
  /// Makes a term from a value, which is bound, for a result column with the same value in all rows.
  public init(_ value: Value) { expression = SqlExpression(value) }
}
