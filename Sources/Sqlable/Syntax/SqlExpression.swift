/// A term of SQL: a column, a value, or what operators and functions make of them.
///
/// ```swift
/// Bicycle.color == "red" && Bicycle.id > 3        // "color" = ? AND "id" > ?
/// ```
///
/// It is a value: immutable, `Sendable`, `Hashable`, `Codable`. Values in it are bound, never written into the SQL.
/// Where NULL takes part the result is NULL, as SQL has it, and a filter drops the row.
public struct SqlExpression: Sendable, Hashable {
  let node: Node
  let size: Size

  /// How deep a tree of terms is.
  struct Size: Sendable, Hashable {
    /// How many terms lie upon one another.
    var depth: Int16 = 1
    /// The same as SQLite counts it: to it a chain of ANDs is as deep as it is long.
    var height: Int16 = 1

    init() {}

    init(depth: Int16, height: Int16) {
      self.depth = depth
      self.height = height
    }

    /// That of an operator between two terms that hold no other.
    static let ofTwo = Size(depth: 2, height: 2)

    /// The most of all of these terms.
    init(of terms: [SqlExpression]) { for term in terms { join(term.size) } }

    /// That of a chain of so many terms, or of one term, and another behind it; nil for what has to be counted.
    init?(chaining count: Int, _ left: SqlExpression, _ right: SqlExpression) {
      guard count < SqlExpression.maximumChain else { return nil }
      depth = Swift.max(left.size.depth + (count == 1 ? 1 : 0), right.size.depth + 1)
      height = Swift.max(left.size.height, right.size.height) + 1
    }

    /// Makes it as much as the other, where that is more.
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

  /// A closed tree: it can be compared, sent and decoded, and every form is known to the renderer.
  ///
  /// Columns and values, of which there are most, lie in their parent's memory instead of in some of their own.
  enum Node: Sendable {
    case column(ColumnReference)
    case value(DatabaseValue)
    /// A value that a prepared statement is given, by its name.
    case parameter(String)
    /// AND of two or more terms.
    case all([SqlExpression])
    /// OR of two or more terms.
    case any([SqlExpression])
    indirect case not(SqlExpression)
    indirect case negative(SqlExpression)
    indirect case binary(BinaryOperator, SqlExpression, SqlExpression)
    indirect case isNull(SqlExpression)
    indirect case isNotNull(SqlExpression)
    indirect case between(SqlExpression, SqlExpression, SqlExpression)
    indirect case isIn(SqlExpression, [DatabaseValue])
    /// Without an escape it is empty: optional, it would be forgotten by a decoder that does not find it.
    indirect case like(SqlExpression, SqlExpression, escape: String)
    indirect case collate(SqlExpression, Collate)
    /// A column of the table that goes by an alias.
    indirect case qualified(alias: String, ColumnReference)
    /// A function with all that may follow its arguments.
    indirect case call(Call)
    /// What SQL spells in a way of its own, such as `CASE … END`.
    indirect case special(SpecialForm)
    /// `(SELECT …)`, `EXISTS (SELECT …)` or `… IN (SELECT …)`.
    indirect case query(QueryTerm)
    /// What can't be said in SQL; the statement throws the reason when it is run.
    indirect case invalid(InvalidTerm)
  }

  /// The operators between two terms, by their SQL.
  @usableFromInline
  enum BinaryOperator: String, Sendable, Hashable, Codable {
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
    case json = "->"
    case jsonValue = "->>"

    var isComparison: Bool {
      switch self {
      case .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual, .isSame, .isNotSame: true
      case .plus, .minus, .times, .divided, .remainder, .concatenated, .bitAnd, .bitOr, .shiftedLeft, .shiftedRight,
        .matchesGlob, .json, .jsonValue:
        false
      }
    }

    /// The operator with a blank on either side; the raw values are texts that would be made anew for every use.
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
      case .json: " -> "
      case .jsonValue: " ->> "
      }
    }
  }

  /// Why a term can't be run. Not an `Error` here: an operator does not throw.
  struct InvalidTerm: Sendable, Hashable {
    let error: SqlError
    /// The column that the error names: the query knows the table that it is of.
    var column: ColumnReference?
  }

  /// Trees are walked by recursion, and this many levels fit into half a megabyte of stack, even in a debug build that
  /// encodes them as JSON.
  static let maximumDepth: Int16 = 100
  /// SQLite refuses expressions that are deeper than 1000, and counts those in a subquery twice.
  static let maximumHeight: Int16 = 480
  /// A flat chain of ANDs is a tree as deep as it is long to SQLite: longer ones are balanced.
  static let maximumChain = 100

  /// A term, whose size may be known.
  init(_ node: Node, size: Size? = nil) {
    let size = size ?? node.size
    let message: String? =
      if size.depth > SqlExpression.maximumDepth {
        "an expression is more than \(SqlExpression.maximumDepth) terms deep"
      } else if size.height > SqlExpression.maximumHeight {
        "an expression nests deeper than SQLite's limits"
      } else { nil }
    self.node = message.map { .invalid(InvalidTerm(error: .invalidStatement($0))) } ?? node
    self.size = message == nil ? size : Size()
  }

  init(_ value: DatabaseValue) {
    node = .value(value)
    size = Size()
  }

  /// A value that stands for itself.
  init(_ value: any SqlValue) {
    do { self.init(try value.databaseValue.checked()) } catch { self.init(invalid: error) }
  }

  /// A value that is compared with, or stored in, a column, in the form that the column has.
  init(_ value: any SqlValue, for column: Column, comparing: Bool = true) {
    do {
      let type = column.type
      let storage = try (comparing ? type.comparable(value) : value.databaseValue(in: type)).checked()
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
  /// The forms of terms, by their names in JSON. An elementary call has one of its own there.
  enum Form: String, CodingKey {
    case column, value, parameter, all, any, not, negative, binary, isNull, isNotNull, between, isIn, like, function
    case collate, qualified, call, special, query, invalid
  }

  var form: Form {
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
    case .call(let call): call.elementary == nil ? .call : .function
    case .special: .special
    case .query: .query
    case .invalid: .invalid
    }
  }

  /// The terms that this one is made of; of a subquery none.
  var terms: [SqlExpression] {
    switch self {
    case .column, .value, .parameter, .qualified, .invalid: []
    case .call(let call): call.terms
    case .special(let special): special.terms
    case .query(let query): query.term.map { [$0] } ?? []
    case .all(let terms), .any(let terms): terms
    case .not(let term), .negative(let term), .isNull(let term), .isNotNull(let term), .isIn(let term, _),
      .collate(let term, _):
      [term]
    case .binary(_, let left, let right), .like(let left, let right, _): [left, right]
    case .between(let term, let low, let high): [term, low, high]
    }
  }

  /// Whether its SQL has a `?`: two of it are not the same to SQLite, which has not seen the values.
  var bindsValues: Bool {
    switch self {
    case .value, .parameter, .isIn, .like, .query: true
    case .special(let special): special.form.bindsValues || terms.contains { $0.node.bindsValues }
    default: terms.contains { $0.node.bindsValues }
    }
  }

  /// What it is made of beside the terms that are compared by themselves.
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

  /// The terms that are compared by themselves. What is in the rest too would be compared twice at every level: a depth
  /// of 60 would never come to an end.
  private var ownTerms: [SqlExpression] {
    switch self {
    case .call, .query: []
    default: terms
    }
  }

  // By hand: the compiler's own code for so many cases takes more stack a level than a deep tree has.

  static func == (left: Self, right: Self) -> Bool {
    left.form == right.form && left.rest == right.rest && left.ownTerms == right.ownTerms
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(form)
    hasher.combine(rest)
    hasher.combine(ownTerms)
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
    case .all(let terms), .any(let terms):
      let depth = terms.reduce(0) { Swift.max($0, $1.size.depth) }
      return SqlExpression.Size(depth: depth + 1, height: SqlExpression.heightOfChain(terms[...]))
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
  /// The size of the parts that a chain longer than `maximumChain` is cut into: as many as a chain may have, so that
  /// one of thousands adds one or two levels.
  static func sizeOfParts(_ count: Int) -> Int { Swift.max(maximumChain, (count + maximumChain - 1) / maximumChain) }

  /// The height of `((a AND b) AND c) AND d`: every term is one above the one before.
  fileprivate static func heightOfChain(_ terms: ArraySlice<SqlExpression>) -> Int16 {
    var height: Int16 = 0
    guard terms.count > maximumChain else {
      for term in terms { height = height == 0 ? term.size.height : Swift.max(height, term.size.height) + 1 }
      return height
    }
    let size = sizeOfParts(terms.count)
    var rest = terms
    while !rest.isEmpty {
      let part = heightOfChain(rest.prefix(size))
      height = height == 0 ? part : Swift.max(height, part) + 1
      rest = rest.dropFirst(size)
    }
    return height
  }
}

/// A term whose values have a Swift type, made of typed columns.
///
/// ```swift
/// Car.price * 2          // TypedExpression<Double>
/// ```
public struct TypedExpression<Value: SqlValue>: Sendable, Hashable {
  public let expression: SqlExpression
}

extension TypedExpression {
  /// A value as a term, bound as all values are: for a column of a query that is the same in all rows.
  public init(_ value: Value) { expression = SqlExpression(value) }
}
