// Function calls, and terms with their own SQL syntax.

extension MemoryPlanner {
  func call(_ expression: SqlExpression, _ scope: MemoryScope) throws -> MemoryTerm {
    guard case .call(let call) = expression.node else { throw MemoryPlanner.refusal("this term") }
    let name = call.name
    if call.window != nil { throw MemoryPlanner.refusal("window function \(name)") }
    let function: SqlExpression.Call.BuiltIn
    switch call.function {
    case .countRows: return try aggregate(.count, call, scope)
    case .named(let name): throw MemoryPlanner.refusal("function \(name), which the program registers,")
    case .builtIn(let known): function = known
    }
    if MemoryAggregate.functions.contains(function) { return try aggregate(function, call, scope) }
    guard MemoryPlanner.functions.contains(function) else { throw MemoryPlanner.refusal("function \(name)") }
    guard !call.isDistinct, call.order.isEmpty, call.filter == nil else {
      throw SqlError.invalidStatement("\(name) is no aggregate: it can't have DISTINCT, an order or a filter")
    }
    let arguments = try terms(call.arguments, scope)
    let collation = arguments.lazy.compactMap(\.collation).first ?? .binary
    return MemoryTerm(of: arguments) { frame in
      try MemoryValue.call(function, arguments.map { try $0.value(frame) }, collation) ?? .null
    }
  }

  private static let functions: Set<SqlExpression.Call.BuiltIn> = [
    .lower, .upper, .length, .abs, .coalesce, .nullif, .scalarMin, .scalarMax, .round, .substr, .trim, .ltrim, .rtrim,
    .replace, .instr, .hex, .typeof, .unicode, .random,
  ]

  private func aggregate(
    _ function: SqlExpression.Call.BuiltIn, _ call: SqlExpression.Call, _ scope: MemoryScope
  ) throws -> MemoryTerm {
    guard scope.takesAggregates else {
      throw SqlError.invalidStatement("aggregate \(call.name) is only allowed in a result, an order or having")
    }
    guard !call.isDistinct || call.arguments.count == 1 else {
      throw SqlError.invalidStatement("\(call.name) of distinct values takes one argument")
    }
    // To SQLite, an aggregate of nothing but columns of an enclosing query belongs to that.
    let (last, wasCorrelated) = (scope.lastUsed, scope.isCorrelated)
    (scope.takesAggregates, scope.lastUsed, scope.isCorrelated) = (false, -1, false)
    let arguments = try terms(call.arguments, scope)
    let filter = try call.filter.map { try term($0, scope) }
    let keys = try ordering.terms(call.order.map(\.expression), scope)
    let orders = zip(call.order, keys).map {
      MemoryOrder(direction: $0.direction, collation: $1.collation ?? .binary)
    }
    guard scope.lastUsed >= 0 || !scope.isCorrelated else {
      throw MemoryPlanner.refusal("aggregate \(call.name) of columns of an enclosing query")
    }
    scope.takesAggregates = true
    scope.lastUsed = max(scope.lastUsed, last)
    scope.isCorrelated = scope.isCorrelated || wasCorrelated
    let index = scope.aggregates.count
    scope.aggregates.append(
      MemoryAggregate(
        function: function, countsRows: call.arguments.isEmpty, arguments: arguments, isDistinct: call.isDistinct,
        orders: orders, keys: keys, filter: filter))
    return MemoryTerm(of: arguments) { $0.aggregates[index] }
  }

  // MARK: Special forms

  func special(_ expression: SqlExpression, _ scope: MemoryScope) throws -> MemoryTerm {
    guard case .special(let special) = expression.node else { throw MemoryPlanner.refusal("this term") }
    if case .row = special.form { throw MemoryPlanner.refusal("a row value") }
    if case .fullText = special.form { throw MemoryPlanner.refusal("a term of full-text search") }
    if case .fragment = special.form { throw MemoryPlanner.refusal("SQL text") }
    let terms = try terms(special.terms, scope)
    guard let first = terms.first else { throw MemoryPlanner.refusal("a term without terms") }
    switch special.form {
    case .choice: return choice(terms)
    case .cast(let storageClass):
      var term = MemoryTerm { try first.value($0).cast(to: storageClass) }
      (term.collation, term.isCollated) = (first.collation, first.isCollated)
      term.affinity = MemoryAffinity(storageClass)
      return term
    case .inverted:
      return MemoryTerm(of: terms) { frame in
        let value = try first.value(frame)
        return value.isNull ? .null : .integer(~value.integerValue)
      }
    case .datePart, .dateFormat, .day, .shifted: return try date(special, terms, scope)
    case .shiftedBy: throw MemoryPlanner.refusal("an interval that is a term")
    case .startOf: throw MemoryPlanner.refusal("start(of:)")
    case .unixSeconds: throw MemoryPlanner.refusal("a difference of dates")
    case .row: throw MemoryPlanner.refusal("a row value")
    case .fullText, .fragment: throw MemoryPlanner.refusal("this term")
    }
  }

  private func choice(_ terms: [MemoryTerm]) -> MemoryTerm {
    MemoryTerm(of: terms) { frame in
      for index in stride(from: 0, to: terms.count - 1, by: 2) where try terms[index].value(frame).truth == true {
        return try terms[index + 1].value(frame)
      }
      return terms.count.isMultiple(of: 2) ? .null : try terms[terms.count - 1].value(frame)
    }
  }

  // MARK: Dates

  private func date(
    _ special: SqlExpression.SpecialForm, _ terms: [MemoryTerm], _ scope: MemoryScope
  ) throws -> MemoryTerm {
    let format = dateFormat(of: special.terms[0], scope)
    func date(_ frame: MemoryFrame) throws -> MemoryDate? { MemoryDate(try terms[0].value(frame), in: format) }
    func text(_ frame: MemoryFrame, _ pattern: ArraySlice<UInt8>?) throws -> [UInt8]? {
      guard let pattern, var date = try date(frame) else { return nil }
      return date.text(pattern)
    }
    switch special.form {
    case .datePart(let part):
      let pattern = Array("%\(part.letter)".utf8)[...]
      var term = MemoryTerm(of: terms) { frame in
        try text(frame, pattern).map { MemoryValue.text($0).cast(to: .integer) } ?? .null
      }
      term.affinity = .integer
      return term
    case .dateFormat:
      return MemoryTerm(of: [terms[1], terms[0]]) { frame in
        try text(frame, terms[1].value(frame).cString).map { .text($0) } ?? .null
      }
    case .shifted(let count, let unit): return try shifted(terms, by: count, unit, format)
    default:
      let pattern = Array("%Y-%m-%d".utf8)[...]
      return MemoryTerm(of: terms) { try text($0, pattern).map { .text($0) } ?? .null }
    }
  }

  /// The storage format of a term's dates; the renderer has checked that it has one.
  private func dateFormat(of term: SqlExpression, _ scope: MemoryScope) -> ColumnType.DateFormat {
    var definition = term.columnDefinition
    if case .column(.named(let name)) = term.columnTerm.node {
      definition =
        scope.sources.lazy.compactMap { source in
          source.source.table.position(named: name).map { source.source.table.columns[$0].definition }
        }.first
    }
    guard case .date(let format) = definition?.type.base else { return .unixSecondsWithFraction }
    return format
  }

  private func shifted(
    _ terms: [MemoryTerm], by count: Int, _ unit: DateUnit, _ format: ColumnType.DateFormat
  ) throws -> MemoryTerm {
    let interval = MemoryValue(try SqlExpression.SpecialForm.shift(by: count, unit, in: format))
    // SQLite's date functions know no weeks.
    let (modifier, modified) = unit == .week ? (count &* 7, .day) : (count, unit)
    if format != .iso8601, unit.seconds != nil {
      return MemoryTerm(of: terms) { MemoryValue.arithmetic(.plus, try terms[0].value($0), interval) }
    }
    func date(_ frame: MemoryFrame) throws -> MemoryDate? {
      guard var date = MemoryDate(try terms[0].value(frame), in: format), date.add(Int64(modifier), modified) else {
        return nil
      }
      return date
    }
    switch format {
    case .iso8601:
      let pattern = Array("%Y-%m-%dT%H:%M:%fZ".utf8)[...]
      return MemoryTerm(of: terms) { frame in
        var date = try date(frame)
        return date?.text(pattern).map { .text($0) } ?? .null
      }
    case .unixSeconds:
      var term = MemoryTerm(of: terms) { frame in
        var date = try date(frame)
        return date?.text(Array("%s".utf8)[...]).map { MemoryValue.text($0).cast(to: .integer) } ?? .null
      }
      term.affinity = .integer
      return term
    case .unixSecondsWithFraction, .unixMilliseconds:
      let isReal = format == .unixSecondsWithFraction
      var term = MemoryTerm(of: terms) { frame in
        var date = try date(frame)
        guard let julianDay = date?.julianDay else { return .null }
        let number = MemoryValue((julianDay - 2_440_587.5) * (isReal ? 86_400 : 86_400_000))
        guard isReal else { return try MemoryPlanner.rounded(number, 0).cast(to: .integer) }
        return try MemoryPlanner.rounded(number, 3)
      }
      if !isReal { term.affinity = .integer }
      return term
    }
  }

  private static func rounded(_ number: MemoryValue, _ places: Int64) throws -> MemoryValue {
    try MemoryValue.call(.round, [number, .integer(places)], .binary) ?? .null
  }
}

extension MemoryDate {
  /// A date as a column of this format stores it.
  fileprivate init?(_ value: MemoryValue, in format: ColumnType.DateFormat) {
    switch format {
    case .iso8601: self.init(value)
    case .unixSeconds, .unixSecondsWithFraction:
      self.init(value)
      guard countFromEpoch() else { return nil }
    case .unixMilliseconds:
      self.init(MemoryValue.arithmetic(.divided, value, .real(1000)))
      guard countFromEpoch() else { return nil }
    }
  }
}

extension SqlExpression.Call {
  /// The function's name, for errors.
  var name: String {
    switch function {
    case .countRows: "count"
    case .builtIn(let function): function.name
    case .named(let name): name
    }
  }
}
