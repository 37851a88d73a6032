import SqlableCore
import SqlableQueries

@testable import SqlableTestSupport

/// An expression of the property tests, which can be evaluated in Swift and built with the library's operators.
indirect enum OracleTerm {
  enum Operand {
    case value(OracleValue)
    case term(OracleTerm)
  }

  enum Comparison: CaseIterable {
    case equal, notEqual, less, lessOrEqual, greater, greaterOrEqual

    func holds(_ order: Int) -> Bool {
      switch self {
      case .equal: order == 0
      case .notEqual: order != 0
      case .less: order < 0
      case .lessOrEqual: order <= 0
      case .greater: order > 0
      case .greaterOrEqual: order >= 0
      }
    }
  }

  enum Function: CaseIterable {
    case lower, upper, length, abs
  }

  case column(Int)
  /// `.all([])` and `.any([])`
  case constant(Bool)
  case compare(Comparison, OracleTerm, Operand)
  case both([OracleTerm])
  case either([OracleTerm])
  /// Written with `.all` and `.any` instead of `&&` and `||`.
  case all([OracleTerm])
  case any([OracleTerm])
  case not(OracleTerm)
  case negative(OracleTerm)
  case arithmetic(Character, OracleTerm, Operand)
  case concatenated(OracleTerm, Operand)
  case isNull(OracleTerm)
  case isNotNull(OracleTerm)
  case between(OracleTerm, OracleValue, OracleValue)
  case isIn(OracleTerm, [OracleValue], negated: Bool)
  case same(OracleTerm, OracleValue, negated: Bool)
  case like(OracleTerm, String, escape: Character?)
  case function(Function, OracleTerm)
  case collate(OracleTerm, OracleCollation)
}

/// A column as SQLite declares it.
struct OracleColumn {
  let affinity: OracleAffinity
  let collation: OracleCollation
}

extension OracleTerm.Operand {
  func value(_ row: [OracleValue], _ columns: [OracleColumn]) throws -> OracleValue {
    switch self {
    case .value(let value): value
    case .term(let term): try term.value(row, columns)
    }
  }

  fileprivate func affinity(_ columns: [OracleColumn]) -> OracleAffinity {
    if case .term(let term) = self { term.affinity(columns) } else { .none }
  }

  fileprivate var isNullValue: Bool { if case .value(.null) = self { true } else { false } }

  /// True for a number, false for a text, nil if unknown or NULL.
  fileprivate var isNumber: Bool? {
    switch self {
    case .term(let term): term.isNumber
    case .value(.null): nil
    case .value(.integer), .value(.real): true
    case .value(.text), .value(.blob): false
    }
  }
}

// MARK: - What the library refuses

extension OracleTerm {
  /// True if a part of the term computes with texts or compares texts with numbers.
  var isRefused: Bool {
    switch self {
    case .compare(_, let left, let right):
      if left.differs(from: right) { return true }
    case .same(let left, let right, _):
      if left.differs(from: .value(right)) { return true }
    case .between(let term, let low, let high):
      if term.differs(from: .value(low)) || term.differs(from: .value(high)) { return true }
    case .arithmetic(_, let left, let right):
      if left.isNumber == false { return true }
      if case .term(let right) = right, right.isNumber == false { return true }
    default: break
    }
    return parts.contains(where: \.isRefused)
  }

  private func differs(from other: Operand) -> Bool {
    if let own = isNumber, let other = other.isNumber { own != other } else { false }
  }

  /// True for a number, false for a text, nil if unknown.
  fileprivate var isNumber: Bool? {
    switch self {
    case .column(0...2), .arithmetic, .negative, .constant: true
    case .all(let terms), .any(let terms): terms.isEmpty ? true : terms.count == 1 ? terms[0].isNumber : nil
    case .column(3...4): false
    case .collate(let term, _): term.isNumber
    default: nil
    }
  }
}

// MARK: - Evaluation

extension OracleTerm {
  func value(_ row: [OracleValue], _ columns: [OracleColumn]) throws -> OracleValue {
    switch self {
    case .column(let index): return row[index]
    case .constant(let constant): return .truth(constant)
    case .compare(let comparison, let left, let right):
      // The library's == and != with nil mean IS NULL and IS NOT NULL.
      if comparison == .equal, right.isNullValue { return .truth(try left.value(row, columns).isNull) }
      if comparison == .notEqual, right.isNullValue { return .truth(try !left.value(row, columns).isNull) }
      let (a, b) = (try left.value(row, columns), try right.value(row, columns))
      if a.isNull || b.isNull { return .null }
      return .truth(comparison.holds(try compare(left, a, right, b, columns)))
    case .both(let terms), .all(let terms):
      let truths = try terms.map { try $0.value(row, columns).truth }
      return .truth(truths.contains(false) ? false : truths.contains(nil) ? nil : true)
    case .either(let terms), .any(let terms):
      let truths = try terms.map { try $0.value(row, columns).truth }
      return .truth(truths.contains(true) ? true : truths.contains(nil) ? nil : false)
    case .not(let term): return .truth(try term.value(row, columns).truth.map { !$0 })
    case .negative(let term): return try OracleValue.arithmetic("-", .integer(0), term.value(row, columns))
    case .arithmetic(let operation, let left, let right):
      return try OracleValue.arithmetic(operation, left.value(row, columns), right.value(row, columns))
    case .concatenated(let left, let right):
      return try OracleValue.concatenated(left.value(row, columns), right.value(row, columns))
    case .isNull(let term): return .truth(try term.value(row, columns).isNull)
    case .isNotNull(let term): return .truth(try !term.value(row, columns).isNull)
    case .between(let term, let low, let high):
      let value = try term.value(row, columns)
      let fromLow = value.isNull || low.isNull ? nil : try compare(term, value, .value(low), low, columns) >= 0
      let toHigh = value.isNull || high.isNull ? nil : try compare(term, value, .value(high), high, columns) <= 0
      if fromLow == false || toHigh == false { return .false }
      return .truth(fromLow == nil || toHigh == nil ? nil : true)
    case .isIn(let term, let list, let negated):
      let truth = try isIn(term, list, row, columns)
      return .truth(negated ? truth.map { !$0 } : truth)
    case .same(let term, let other, let negated):
      let value = try term.value(row, columns)
      let isSame =
        if value.isNull || other.isNull { value.isNull && other.isNull } else {
          try compare(term, value, .value(other), other, columns) == 0
        }
      return .truth(isSame != negated)
    case .like(let term, let pattern, let escape):
      return try term.value(row, columns).isLike(Array(pattern.utf8), escape: escape?.unicodeScalars.first)
    case .function(let function, let term):
      let value = try term.value(row, columns)
      return switch function {
      case .lower: try value.lowercased()
      case .upper: try value.uppercased()
      case .length: try value.length()
      case .abs: try value.absolute()
      }
    case .collate(let term, _): return try term.value(row, columns)
    }
  }

  private func isIn(
    _ term: OracleTerm, _ list: [OracleValue], _ row: [OracleValue], _ columns: [OracleColumn]
  ) throws -> Bool? {
    if list.isEmpty { return false }
    let value = try term.value(row, columns)
    if value.isNull { return nil }
    for other in list where !other.isNull {
      if try compare(term, value, .value(other), other, columns) == 0 { return true }
    }
    return list.contains { $0.isNull } ? nil : false
  }

  private func compare(
    _ left: OracleTerm, _ a: OracleValue, _ right: Operand, _ b: OracleValue, _ columns: [OracleColumn]
  ) throws -> Int {
    let affinity = OracleAffinity.comparing(left.affinity(columns), right.affinity(columns))
    var collation = left.explicitCollation
    if collation == nil, case .term(let right) = right { collation = right.explicitCollation }
    collation = collation ?? left.columnCollation(columns)
    if collation == nil, case .term(let right) = right { collation = right.columnCollation(columns) }
    return OracleValue.order(try a.applying(affinity), try b.applying(affinity), collation ?? .binary)
  }

  fileprivate func affinity(_ columns: [OracleColumn]) -> OracleAffinity {
    switch self {
    case .column(let index): columns[index].affinity
    case .collate(let term, _): term.affinity(columns)
    default: .none
    }
  }

  private func columnCollation(_ columns: [OracleColumn]) -> OracleCollation? {
    if case .column(let index) = self { columns[index].collation } else { nil }
  }

  /// The collation that rows are ordered by.
  func collation(_ columns: [OracleColumn]) -> OracleCollation {
    explicitCollation ?? columnCollation(columns) ?? .binary
  }

  /// The leftmost COLLATE of the term's parts. SQLite passes it on to every enclosing term.
  private var explicitCollation: OracleCollation? {
    if case .collate(_, let collation) = self { return collation }
    for part in parts { if let collation = part.explicitCollation { return collation } }
    return nil
  }

  private var parts: [OracleTerm] {
    func both(_ left: OracleTerm, _ right: Operand) -> [OracleTerm] {
      if case .term(let right) = right { [left, right] } else { [left] }
    }
    return switch self {
    case .column, .constant: []
    case .compare(_, let left, let right), .arithmetic(_, let left, let right), .concatenated(let left, let right):
      both(left, right)
    case .both(let terms), .either(let terms), .all(let terms), .any(let terms): terms
    case .not(let term), .negative(let term), .isNull(let term), .isNotNull(let term), .between(let term, _, _),
      .isIn(let term, _, _), .same(let term, _, _), .like(let term, _, _), .function(_, let term),
      .collate(let term, _):
      [term]
    }
  }
}

// MARK: - The library's expression

extension OracleTerm {
  /// Builds the term with the library's operators.
  func expression(_ columns: [Column]) -> SqlExpression {
    func built(_ term: OracleTerm) -> SqlExpression { term.expression(columns) }
    func list(_ values: [OracleValue]) -> [OracleListValue] { values.map(OracleListValue.init) }
    switch self {
    case .column(let index): return columns[index].expression
    case .constant(let constant): return constant ? .all([]) : .any([])
    case .compare(let comparison, let left, .value(let right)):
      let (left, right) = (built(left), right.sqlValue)
      switch comparison {
      case .equal: return left == right
      case .notEqual: return left != right
      case .less: return left < right
      case .lessOrEqual: return left <= right
      case .greater: return left > right
      case .greaterOrEqual: return left >= right
      }
    case .compare(let comparison, let left, .term(let right)):
      let (left, right) = (built(left), built(right))
      switch comparison {
      case .equal: return left == right
      case .notEqual: return left != right
      case .less: return left < right
      case .lessOrEqual: return left <= right
      case .greater: return left > right
      case .greaterOrEqual: return left >= right
      }
    case .both(let terms): return terms.dropFirst().reduce(built(terms[0])) { $0 && built($1) }
    case .either(let terms): return terms.dropFirst().reduce(built(terms[0])) { $0 || built($1) }
    case .all(let terms): return .all(terms.map(built))
    case .any(let terms): return .any(terms.map(built))
    case .not(let term): return !built(term)
    case .negative(let term): return -built(term)
    case .arithmetic(let operation, let left, .value(let right)):
      let (left, right) = (built(left), right.sqlValue)
      switch operation {
      case "+": return left + right
      case "-": return left - right
      case "*": return left * right
      case "/": return left / right
      default: return left % right
      }
    case .arithmetic(let operation, let left, .term(let right)):
      let (left, right) = (built(left), built(right))
      switch operation {
      case "+": return left + right
      case "-": return left - right
      case "*": return left * right
      case "/": return left / right
      default: return left % right
      }
    case .concatenated(let left, .value(let right)): return built(left).concatenated(right.sqlValue)
    case .concatenated(let left, .term(let right)): return built(left).concatenated(built(right))
    case .isNull(let term): return built(term).isNull
    case .isNotNull(let term): return built(term).isNotNull
    case .between(let term, let low, let high): return built(term).between(low.sqlValue, and: high.sqlValue)
    case .isIn(let term, let values, let negated):
      return negated ? built(term).notIn(list(values)) : built(term).in(list(values))
    case .same(let term, let value, let negated):
      return negated ? built(term).isNot(value.sqlValue) : built(term).is(value.sqlValue)
    case .like(let term, let pattern, let escape): return built(term).like(pattern, escape: escape)
    case .function(let function, let term):
      return switch function {
      case .lower: built(term).lowercase()
      case .upper: built(term).uppercase()
      case .length: built(term).length()
      case .abs: built(term).abs()
      }
    case .collate(let term, .binary): return built(term).collate(.binary)
    case .collate(let term, .nocase): return built(term).collate(.nocase)
    case .collate(let term, .rtrim): return built(term).collate(.rtrim)
    }
  }
}

/// An element of a list with mixed storage classes.
struct OracleListValue: SqlValue {
  let value: OracleValue

  init(_ value: OracleValue) { self.value = value }
  init(databaseValue: DatabaseValue) throws { throw Unsure() }
  static var columnType: ColumnType { .blob }
  var databaseValue: DatabaseValue { get throws { try value.sqlValue.databaseValue } }
}
