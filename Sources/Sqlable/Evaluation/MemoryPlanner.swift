/// Makes terms and queries ready to be evaluated, and refuses what can't be, before a row is read.
struct MemoryPlanner {
  let tables: MemoryTables
  /// The recursive query of which a part is made ready.
  var recursion: MemoryRecursion?
  /// Whether terms of ORDER BY or GROUP BY are made ready, which the renderer writes differently.
  var isOrdering = false

  /// The error for something that is not evaluated in memory.
  static func refusal(_ what: String) -> SqlError {
    .invalidStatement("\(what) can't be evaluated in memory: run the statement on an in-memory database")
  }

  // Each form has its own function: all their temporaries in one frame would use too much stack per level.

  func term(_ expression: SqlExpression, _ scope: MemoryScope) throws -> MemoryTerm {
    switch expression.node {
    case .column, .qualified, .value, .parameter, .invalid: try leaf(expression, scope)
    case .all, .any: try chain(expression, scope)
    case .not, .negative, .isNull, .isNotNull: try unary(expression, scope)
    case .binary: try binary(expression, scope)
    case .between: try between(expression, scope)
    case .isIn: try list(expression, scope)
    case .like: try like(expression, scope)
    case .collate: try collated(expression, scope)
    case .call: try call(expression, scope)
    case .special: try special(expression, scope)
    case .query: try query(expression, scope)
    }
  }

  func terms(_ expressions: [SqlExpression], _ scope: MemoryScope) throws -> [MemoryTerm] {
    try expressions.map { try term($0, scope) }
  }

  private func leaf(_ expression: SqlExpression, _ scope: MemoryScope) throws -> MemoryTerm {
    switch expression.node {
    case .column(let reference): return try scope.column(reference)
    case .qualified(let alias, let reference): return try scope.column(reference, ofAlias: alias)
    case .value(let value):
      let value = MemoryValue(value)
      return MemoryTerm { _ in value }
    case .invalid(let term): throw term.error
    case .parameter(let name): throw MemoryPlanner.refusal("parameter \(name), which has no value,")
    default: throw MemoryPlanner.refusal("this term")
    }
  }

  private func chain(_ expression: SqlExpression, _ scope: MemoryScope) throws -> MemoryTerm {
    let (own, isAll): ([SqlExpression], Bool) =
      switch expression.node {
      case .all(let own): (Array(own), true)
      case .any(let own): (Array(own), false)
      default: ([], true)
      }
    let terms = try terms(own, scope)
    // Alone, the term keeps its value, which need not be 0 or 1.
    if terms.count == 1 { return terms[0] }
    return MemoryTerm(of: terms) { frame in
      var hasNull = false
      for term in terms {
        guard let truth = try term.value(frame).truth else {
          hasNull = true
          continue
        }
        if truth != isAll { return MemoryValue(!isAll) }
      }
      return hasNull ? .null : MemoryValue(isAll)
    }
  }

  private func unary(_ expression: SqlExpression, _ scope: MemoryScope) throws -> MemoryTerm {
    switch expression.node {
    case .not(let term):
      let term = try self.term(term, scope)
      return MemoryTerm(of: [term]) { MemoryValue(try term.value($0).truth.map { !$0 }) }
    case .negative(let term):
      let term = try self.term(term, scope)
      return MemoryTerm(of: [term]) { MemoryValue.arithmetic(.minus, .integer(0), try term.value($0)) }
    case .isNull(let term):
      let term = try self.term(term, scope)
      return MemoryTerm(of: [term]) { MemoryValue(try term.value($0).isNull) }
    case .isNotNull(let term):
      let term = try self.term(term, scope)
      return MemoryTerm(of: [term]) { MemoryValue(try !term.value($0).isNull) }
    default: throw MemoryPlanner.refusal("this term")
    }
  }

  private func binary(_ expression: SqlExpression, _ scope: MemoryScope) throws -> MemoryTerm {
    guard case .binary(let operation, let first, let second) = expression.node else {
      throw MemoryPlanner.refusal("this term")
    }
    if operation.takesConstant { throw MemoryPlanner.refusal("operator \(operation.rawValue) of JSON") }
    let (left, right) = (try term(first, scope), try term(second, scope))
    if second.isFalse, !isOrdering, operation == .isSame || operation == .isNotSame {
      return MemoryTerm(of: [left]) { MemoryValue((try left.value($0).truth == false) == (operation == .isSame)) }
    }
    if operation.isComparison { return comparison(operation, left, right) }
    if operation == .matchesRegexp { return regexp(left, right) }
    return MemoryTerm(of: [left, right]) { frame in
      let (own, other) = (try left.value(frame), try right.value(frame))
      switch operation {
      case .concatenated: return MemoryValue.concatenated(own, other)
      case .bitAnd, .bitOr, .shiftedLeft, .shiftedRight: return MemoryValue.bits(operation, own, other)
      case .matchesGlob: return try MemoryPlanner.match(own, other, escape: nil)
      default: return MemoryValue.arithmetic(operation, own, other)
      }
    }
  }

  private func comparison(
    _ operation: SqlExpression.BinaryOperator, _ left: MemoryTerm, _ right: MemoryTerm
  ) -> MemoryTerm {
    let order = MemoryPlanner.order(left, right)
    return MemoryTerm(of: [left, right]) { frame in
      let (own, other) = (try left.value(frame), try right.value(frame))
      switch operation {
      case .isSame: return MemoryValue(order(own, other) == 0)
      case .isNotSame: return MemoryValue(order(own, other) != 0)
      case _ where own.isNull || other.isNull: return .null
      case .equal: return MemoryValue(order(own, other) == 0)
      case .notEqual: return MemoryValue(order(own, other) != 0)
      case .less: return MemoryValue(order(own, other) < 0)
      case .lessOrEqual: return MemoryValue(order(own, other) <= 0)
      case .greater: return MemoryValue(order(own, other) > 0)
      default: return MemoryValue(order(own, other) >= 0)
      }
    }
  }

  /// How values of two terms compare: below, equal to, or above 0.
  static func order(_ left: MemoryTerm, _ right: MemoryTerm) -> (MemoryValue, MemoryValue) -> Int {
    let affinity = MemoryAffinity.comparing(left.affinity, right.affinity)
    let collation = MemoryTerm.collation(comparing: left, right)
    return { MemoryValue.compare($0.compared(as: affinity), $1.compared(as: affinity), collation) }
  }

  private func between(_ expression: SqlExpression, _ scope: MemoryScope) throws -> MemoryTerm {
    guard case .between(let term, let low, let high) = expression.node else {
      throw MemoryPlanner.refusal("this term")
    }
    let parts = try terms([term, low, high], scope)
    let (fromLow, toHigh) = (MemoryPlanner.order(parts[0], parts[1]), MemoryPlanner.order(parts[0], parts[2]))
    return MemoryTerm(of: parts) { frame in
      let values = try parts.map { try $0.value(frame) }
      if values[0].isNull { return .null }
      let isAbove = values[1].isNull ? nil : fromLow(values[0], values[1]) >= 0
      let isBelow = values[2].isNull ? nil : toHigh(values[0], values[2]) <= 0
      if isAbove == false || isBelow == false { return MemoryValue(false) }
      return MemoryValue(isAbove == nil || isBelow == nil ? nil : true)
    }
  }

  private func list(_ expression: SqlExpression, _ scope: MemoryScope) throws -> MemoryTerm {
    guard case .isIn(let own, let values) = expression.node else { throw MemoryPlanner.refusal("this term") }
    let needle = try term(own, scope)
    var affinity = needle.affinity
    // SQL compares with a long list's column, which has no type: that converts no number to text.
    if case .whole = ListForm(values, isOrdering: false), !affinity.isNumeric { affinity = .blob }
    let list = MemoryList(values.map { MemoryValue($0) }, needle.collation ?? .binary) { $0.compared(as: affinity) }
    return MemoryTerm(of: [needle]) { MemoryValue.isIn(try needle.value($0), list) }
  }

  private func like(_ expression: SqlExpression, _ scope: MemoryScope) throws -> MemoryTerm {
    guard case .like(let own, let other, let escape) = expression.node else {
      throw MemoryPlanner.refusal("this term")
    }
    let (term, pattern) = (try self.term(own, scope), try self.term(other, scope))
    return MemoryTerm(of: [pattern, term]) { frame in
      try MemoryPlanner.match(try term.value(frame), try pattern.value(frame), escape: escape)
    }
  }

  private static func match(_ value: MemoryValue, _ pattern: MemoryValue, escape: String?) throws -> MemoryValue {
    if Library.likeIgnoresBlobs, value.storageClass == .blob || pattern.storageClass == .blob {
      return MemoryValue(false)
    }
    guard pattern.textBytes?.count ?? 0 <= 50_000 else {
      throw SqlError(.other, message: "LIKE or GLOB pattern too complex", code: 1, extendedCode: 1)
    }
    guard let text = value.cString, let pattern = pattern.cString else { return .null }
    return MemoryValue(MemoryPattern(pattern, escape: escape).matches(text))
  }

  private func collated(_ expression: SqlExpression, _ scope: MemoryScope) throws -> MemoryTerm {
    guard case .collate(let inner, let collation) = expression.node else { throw MemoryPlanner.refusal("this term") }
    let own = try term(inner, scope)
    var term = MemoryTerm(own.value)
    term.affinity = own.affinity
    term.collation = try MemoryCollation(collation)
    term.isCollated = true
    return term
  }

  private func query(_ expression: SqlExpression, _ scope: MemoryScope) throws -> MemoryTerm {
    guard case .query(let term) = expression.node else { throw MemoryPlanner.refusal("this term") }
    var clauses = term.query.clauses
    // SQLite ignores DISTINCT in an EXISTS, which an offset shows.
    if term.kind == .exists { clauses.isDistinct = false }
    // As in SQLite, a recursive query is not one of its own subqueries.
    let query = try MemoryPlanner(tables: tables).query(clauses, outer: scope)
    let rows = query.sharedRows
    switch term.kind {
    case .exists: return MemoryTerm { MemoryValue(try !rows($0).isEmpty) }
    case .count: return MemoryTerm { .integer(Int64(try rows($0).count)) }
    case .scalar:
      var value = MemoryTerm { try rows($0).first?.first ?? .null }
      value.affinity = query.columns[0].affinity
      return value
    case .isIn:
      guard let needle = term.term else { throw MemoryPlanner.refusal("IN without a term") }
      return isIn(try self.term(needle, scope), query, rows)
    }
  }

  private func isIn(
    _ needle: MemoryTerm, _ query: MemoryQuery, _ rows: @escaping (MemoryFrame) throws -> [[MemoryValue]]
  ) -> MemoryTerm {
    let column = query.columns[0]
    let affinity = MemoryAffinity.comparing(needle.affinity, column.affinity)
    let collation = needle.isCollated ? needle.collation : column.isCollated ? column.collation : nil
    let used = collation ?? needle.collation ?? column.collation ?? .binary
    func list(_ frame: MemoryFrame) throws -> MemoryList {
      MemoryList(try rows(frame).map { $0[0] }, used) { $0.converted(to: affinity) }
    }
    var shared: MemoryList?
    return MemoryTerm(of: [needle]) { frame in
      let value = try needle.value(frame)
      if query.isCorrelated { return MemoryValue.isIn(value, try list(frame)) }
      let known = try shared ?? list(frame)
      shared = known
      return MemoryValue.isIn(value, known)
    }
  }
}

extension SqlExpression {
  /// Whether SQLite's parser takes it for the literal FALSE, which IS tests for the truth of a value: `a IN ()`.
  fileprivate var isFalse: Bool {
    switch node {
    case .isIn(_, let values): values.isEmpty
    case .collate(let term, _): term.isFalse
    default: false
    }
  }
}

extension MemoryCollation {
  init(_ collation: Collate) throws {
    switch collation {
    case .binary: self = .binary
    case .nocase: self = .nocase
    case .rtrim: self = .rtrim
    // Decoded names, which SQLite compares without case.
    case .named(let name) where name.isSameName(as: "BINARY"): self = .binary
    case .named(let name) where name.isSameName(as: "NOCASE"): self = .nocase
    case .named(let name) where name.isSameName(as: "RTRIM"): self = .rtrim
    case .named(let name): throw MemoryPlanner.refusal("collation \(name), which the program registers,")
    }
  }
}
