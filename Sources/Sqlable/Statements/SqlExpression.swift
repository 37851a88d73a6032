/// A term of SQL: a column, a value, or what operators and functions make of them.
///
/// ```swift
/// Bicycle.color == "red" && Bicycle.id > 3        // "color" = ? AND "id" > ?
/// ```
///
/// It is a value: immutable, `Sendable`, `Hashable`, `Codable`. Values in it are bound, never written into the SQL. Where
/// NULL takes part the result is NULL, as SQL has it, and a filter drops the row.
public struct SqlExpression: Sendable, Hashable {
  let node: Node
  /// How many terms lie upon one another.
  let depth: Int

  /// A closed tree: it can be compared, sent and decoded, and every form is known to the renderer.
  indirect enum Node: Sendable, Hashable, Codable {
    case column(ColumnReference)
    case value(SqlStorage)
    /// AND of two or more terms.
    case all([SqlExpression])
    /// OR of two or more terms.
    case any([SqlExpression])
    case not(SqlExpression)
    case negative(SqlExpression)
    case binary(BinaryOperator, SqlExpression, SqlExpression)
    case isNull(SqlExpression)
    case isNotNull(SqlExpression)
    case between(SqlExpression, SqlExpression, SqlExpression)
    case isIn(SqlExpression, [SqlStorage])
    case like(SqlExpression, SqlExpression, escape: String?)
    case function(Function, [SqlExpression])
    case collate(SqlExpression, Collate)
    /// What can't be said in SQL; the statement throws the reason when it is run.
    case invalid(InvalidTerm)
  }

  /// The operators between two terms, by their SQL.
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
      }
    }
  }

  enum Function: String, Sendable, Hashable, Codable {
    case lower, upper, length, abs
  }

  /// Why a term can't be run. Not an `Error` here: an operator does not throw.
  struct InvalidTerm: Sendable, Hashable {
    let error: SqlError
  }

  /// SQLite refuses expressions that are deeper than 1000, and a tree without limit would end in a stack overflow.
  static let maximumDepth = 900

  init(_ node: Node) {
    let depth = 1 + node.depthOfTerms
    if depth > SqlExpression.maximumDepth {
      let message = "an expression is more than \(SqlExpression.maximumDepth) terms deep"
      self.node = .invalid(InvalidTerm(error: .invalidStatement(message)))
      self.depth = 1
    } else {
      self.node = node
      self.depth = depth
    }
  }

  init(_ value: SqlStorage) {
    node = .value(value)
    depth = 1
  }

  init(invalid error: any Error) {
    let error = error as? SqlError ?? .invalidStatement("a value of the statement can't be stored")
    node = .invalid(InvalidTerm(error: error))
    depth = 1
  }

  /// A value that stands for itself.
  init(_ value: any SqlValue) {
    do { self.init(try value.sqlStorage) } catch { self.init(invalid: error) }
  }

  /// A value that is compared with, or stored in, a column, in the form that the column has.
  init(_ value: any SqlValue, for column: Column, comparing: Bool = true) {
    do {
      let storage = try value.sqlStorage(in: column.type)
      let fits =
        comparing ? column.type.compares(with: storage.storageClass) : column.type.stores(storage.storageClass)
      guard fits else {
        throw SqlError.encoding(expected: column.type.name, found: "\(storage.storageClass)")
      }
      self.init(storage)
    } catch {
      self.init(invalid: SqlExpression.located(error, column: column))
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

extension SqlExpression.Node {
  fileprivate var depthOfTerms: Int {
    switch self {
    case .column, .value, .invalid: 0
    case .all(let terms), .any(let terms), .function(_, let terms): terms.reduce(0) { max($0, $1.depth) }
    case .not(let term), .negative(let term), .isNull(let term), .isNotNull(let term), .isIn(let term, _),
      .collate(let term, _):
      term.depth
    case .binary(_, let left, let right), .like(let left, let right, _): max(left.depth, right.depth)
    case .between(let term, let low, let high): max(term.depth, low.depth, high.depth)
    }
  }
}

/// A column as an expression names it; two are equal when their names are.
struct ColumnReference: Sendable, Hashable {
  let name: String
  /// The declaration; nil in a statement that was decoded, until it is checked against its model.
  let definition: ColumnDefinition?

  init(_ column: Column) {
    name = column.name
    definition = column.definition
  }

  init(name: String) {
    self.name = name
    definition = nil
  }

  static func == (left: ColumnReference, right: ColumnReference) -> Bool { left.name == right.name }
  func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

/// A term whose values have a Swift type, made of typed columns.
///
/// ```swift
/// Car.price * 2          // TypedExpression<Double>
/// ```
public struct TypedExpression<Value: SqlValue>: Sendable, Hashable {
  public let expression: SqlExpression
}
