// Function calls with their clauses, and subqueries.

extension Renderer {
  func write(_ call: SqlExpression.Call, stack: Int) throws {
    switch call.function {
    case .countRows: sql.append("count(*")
    case .builtIn(let function):
      sql.append(text: function.name)
      sql.append("(")
    case .named(let name):
      guard !name.utf8.contains(0) else {
        throw SqlError.invalidStatement("the name of a function contains a NUL byte")
      }
      sql.append(name.quotedBytes())
      sql.append("(")
    }
    if call.isDistinct { sql.append("DISTINCT ") }
    for (index, argument) in call.arguments.enumerated() {
      if index > 0 { sql.append(", ") }
      if call.isConstant(index) {
        try write(constant: argument, within: .any, stack: stack + 5)
      } else {
        try write(argument, within: .any, stack: stack + 5)
      }
    }
    if !call.order.isEmpty {
      guard call.takesOrder else {
        throw SqlError.invalidStatement("an aggregate with an order of its rows can't be a window function")
      }
      sql.append(" ")
      try write(call.order, stack: stack + 5)
    }
    sql.append(")")
    if let filter = call.filter {
      sql.append(" FILTER (WHERE ")
      try write(filter, within: .any, stack: stack + 5)
      sql.append(")")
    }
    if let window = call.window { try write(window, of: call, stack: stack) }
  }

  private func write(_ window: SqlExpression.WindowClause, of call: SqlExpression.Call, stack: Int) throws {
    sql.append(" OVER (")
    for (index, term) in window.partition.enumerated() {
      sql.append(index == 0 ? "PARTITION BY " : ", ")
      try write(term, within: .any, stack: stack + 8)
    }
    if !window.partition.isEmpty, !window.order.isEmpty { sql.append(" ") }
    try write(window.order, stack: stack + 8)
    if let frame = window.frame {
      try frame.check(order: window.order.count)
      sql.append(text: " \(frame.unit.sql) BETWEEN \(try frame.start.sql) AND \(try frame.end.sql)")
      switch frame.exclusion {
      case .noOthers: if call.losesFilter(in: frame) { sql.append(" EXCLUDE NO OTHERS") }
      case .currentRow: sql.append(" EXCLUDE CURRENT ROW")
      case .group: sql.append(" EXCLUDE GROUP")
      case .ties: sql.append(" EXCLUDE TIES")
      }
    }
    sql.append(")")
  }

  func write(_ term: SqlExpression.QueryTerm, stack: Int) throws {
    switch term.kind {
    case .scalar, .count: sql.append("(")
    case .exists: sql.append("EXISTS (")
    case .isIn:
      if let needle = term.term { try write(needle, within: .comparison, stack: stack) }
      sql.append(" IN (")
    }
    let inner = SelectWriter(
      sql: sql, parameters: parameters, outer: sql.isKey ? nil : scope, defined: defined, baseStack: stack + 3,
      isNested: true)
    switch term.kind {
    case .scalar, .isIn: try inner.write(term.query, columns: term.columnCount)
    case .exists: try inner.write(existenceIn: term.query)
    case .count: try inner.write(countOf: term.query)
    }
    sql.append(")")
  }
}

extension Renderer {
  /// Writes an `.exists` or `.count` subquery as a statement: `SELECT EXISTS (…)` or `SELECT count(*) FROM …`.
  func write(question term: SqlExpression.QueryTerm) throws {
    let inner = SelectWriter(
      sql: sql, parameters: parameters, outer: sql.isKey ? nil : scope, defined: defined, baseStack: baseStack + 8)
    if term.kind == .count { return try inner.write(countOf: term.query) }
    sql.append("SELECT EXISTS (")
    try inner.write(existenceIn: term.query)
    sql.append(")")
  }
}

extension SqlExpression.Call {
  /// True if SQLite would ignore the filter. SQLite 3.40 ignores the filter of min and max if the frame does not start
  /// with the partition. An EXCLUDE clause avoids this bug. `EXCLUDE NO OTHERS` is the default, so the clause changes
  /// nothing else.
  fileprivate func losesFilter(in frame: WindowFrame) -> Bool {
    guard filter != nil, frame.start != .unboundedPreceding else { return false }
    return function == .builtIn(.min) || function == .builtIn(.max)
  }
}

extension WindowFrame {
  /// Throws if SQLite would reject the frame in every statement with `count` terms in the window's ORDER BY.
  fileprivate func check(order count: Int) throws {
    guard start.rank <= end.rank, start != .unboundedFollowing, end != .unboundedPreceding else {
      throw SqlError.invalidStatement("a window frame can't end before it starts")
    }
    guard unit != .range || count == 1 || !(start.isDistance || end.isDistance) else {
      throw SqlError.invalidStatement("a RANGE frame with a distance needs a window that is ordered by one term")
    }
  }
}

extension WindowFrame.Bound {
  /// The rank of the bound's kind. SQLite rejects a frame whose start has a higher rank than its end. Between bounds of
  /// equal rank, SQLite does not check the order.
  fileprivate var rank: Int {
    switch self {
    case .unboundedPreceding: 0
    case .preceding: 1
    case .currentRow: 2
    case .following: 3
    case .unboundedFollowing: 4
    }
  }

  fileprivate var isDistance: Bool {
    switch self {
    case .preceding, .following: true
    case .unboundedPreceding, .currentRow, .unboundedFollowing: false
    }
  }

  /// The bound in SQL. The number is a literal, because SQLite accepts no parameter in a frame.
  fileprivate var sql: String {
    get throws {
      switch self {
      case .unboundedPreceding: return "UNBOUNDED PRECEDING"
      case .currentRow: return "CURRENT ROW"
      case .unboundedFollowing: return "UNBOUNDED FOLLOWING"
      case .preceding(let count):
        try check(count)
        return "\(count) PRECEDING"
      case .following(let count):
        try check(count)
        return "\(count) FOLLOWING"
      }
    }
  }

  private func check(_ count: Int) throws {
    guard count >= 0 else { throw SqlError.invalidStatement("the bound of a window frame can't be negative") }
  }
}
