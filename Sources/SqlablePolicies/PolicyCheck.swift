import SqlableCore
import SqlableDocuments

/// A check of a decoded statement against a policy, term by term.
struct PolicyCheck {
  let policy: StatementPolicy

  init(_ policy: StatementPolicy) { self.policy = policy }

  enum Use {
    case result
    case order
    case condition(FilterOperation)
  }

  func require(_ feature: StatementPolicy.Feature) throws {
    guard policy.features.contains(feature) else { throw DocumentAccess.refusal }
  }

  // MARK: Queries

  enum Results {
    case used(Use)
    /// Only the existence or the number of rows is used.
    case existence
  }

  func check(_ query: SelectQuery, _ results: Results) throws {
    let clauses = query.clauses
    var results = results
    // If a query has DISTINCT or is a compound, its number of rows reveals whether rows are equal.
    if case .existence = results, clauses.isDistinct || !clauses.compounds.isEmpty {
      results = .used(.condition(.equality))
    }
    if clauses.sources.isEmpty { try at("values") { try require(.literalRows) } }
    try at("values") { for row in clauses.rows { for term in row { try check(term, .result) } } }
    try at("from") {
      if clauses.sources.count > 1 { try require(.joins) }
      for source in clauses.sources { try check(source) }
    }
    try at("select") { for result in clauses.results { try check(result, clauses, results) } }
    if clauses.isDistinct { try at("distinct") { try require(.distinct) } }
    if let filter = clauses.filter { try at("where") { try check(condition: filter) } }
    try at("groupBy") {
      if !clauses.groups.isEmpty { try require(.aggregates) }
      for term in clauses.groups { try check(term, .result) }
    }
    if let having = clauses.having { try at("having") { try check(condition: having) } }
    try at("compounds") {
      if !clauses.compounds.isEmpty { try require(.compounds) }
      for compound in clauses.compounds { try check(compound.query, results) }
    }
    try at("orderBy") { for term in clauses.order { try check(term.expression, .order) } }
    try check(limit: clauses.limit?.number, offset: clauses.offset?.number)
    if let limit = clauses.limit?.term { try at("limit") { try check(limit, .result) } }
    // If the offset is a term, its value is unknown before the run.
    if clauses.offset?.term != nil { try at("offset") { throw DocumentAccess.refusal } }
  }

  func check(limit: Int?, offset: Int?) throws {
    for (name, number, maximum) in [("limit", limit, policy.limits.rows), ("offset", offset, policy.limits.offset)] {
      guard number ?? 0 > maximum else { continue }
      try at(name) { throw SqlError.invalidStatement("the \(name) is larger than the policy allows") }
    }
  }

  /// Adds the clause to an error of `body`. The outermost clause wins, because its place in the document is known.
  func at(_ clause: String, _ body: () throws -> Void) throws {
    do { try body() } catch var error as SqlError {
      error.documentPath = clause
      throw error
    }
  }

  private func check(_ source: SelectQuery.Source) throws {
    // An index hint could reveal the table's indexes, or force a slow plan.
    if source.indexHint != nil { throw DocumentAccess.refusal }
    // A query or alias with this name would replace the table in a condition of the policy.
    for name in [source.alias, source.queryName].compactMap(\.self) where policy.index.conditionNames.contains(name) {
      throw DocumentAccess.refusal
    }
    switch source.kind {
    case .table: if source.isSearched { try require(.fullText) }
    case .defined(let query):
      try require(.namedQueries)
      try check(query, .used(.result))
    case .named: try require(.namedQueries)
    case .call(let call):
      try require(.json)
      for term in call.node.terms { try check(term, .result) }
    }
    if let condition = source.condition { try check(condition: condition) }
  }

  private func check(_ result: SelectQuery.Result, _ clauses: SelectQuery.Clauses, _ results: Results) throws {
    switch (result, results) {
    case (.term(let term), .used(let use)): try check(term, use)
    case (.term(let term), .existence): try check(term, .condition(.equality))
    case (.model(let index, let replaced), .used(let use)):
      for replacement in replaced { try check(replacement.term, use) }
      // There are no rules for a named query: its columns were checked in the query's definition.
      guard let rules = policy.index.rules[ObjectIdentifier(clauses.sources[index].table)] else { return }
      for position in rules.table.columns.indices { try check(position, of: rules, use) }
    case (.model(_, let replaced), .existence):
      for replacement in replaced { try check(replacement.term, .condition(.equality)) }
    case (.table, _): throw DocumentAccess.refusal
    }
  }

  // MARK: Terms

  func check(condition: SqlExpression) throws { try check(condition, .condition(.equality)) }

  /// Checks a term. If the term is a condition, its operands need the permission for the condition's operator, even if
  /// the condition is not used in a filter.
  func check(_ term: SqlExpression, _ use: Use) throws {
    switch term.node {
    case .value: return
    case .parameter: try require(.parameters)
    case .column(let reference), .qualified(_, let reference):
      guard let column = reference.definition.flatMap({ policy.index.columns[ObjectIdentifier($0)] }) else { return }
      try check(column.position, of: column.rules, use)
    case .all(let terms), .any(let terms): for term in terms { try check(term, use) }
    case .not(let operand), .isNull(let operand), .isNotNull(let operand): try check(operand, .condition(.equality))
    case .between(let operand, let low, let high):
      try check(operand, .condition(.comparison))
      try check(low, .condition(.comparison))
      try check(high, .condition(.comparison))
    case .isIn(let operand, _): try check(operand, .condition(.equality))
    case .like(let operand, let pattern, _):
      try check(operand, .condition(.pattern))
      try check(pattern, .condition(.pattern))
    case .collate(let operand, _): try check(operand, use)
    case .negative(let operand):
      try require(.arithmetic)
      try check(operand, use)
    case .binary(let term):
      let use = try self.use(ofOperandsOf: term.operation, use)
      if term.operation == .matchesRegexp, case .value(.text(let pattern)) = term.right.node {
        guard pattern.utf8.count <= policy.limits.patternBytes ?? .max else { throw DocumentAccess.refusal }
      }
      try check(term.left, use)
      try check(term.right, use)
    case .call(let call): try check(call, use)
    case .special(let special): try check(special, use)
    case .query(let query): try check(query, use)
    case .invalid(let invalid): throw invalid.error
    }
  }

  private func check(_ position: Int, of rules: TablePolicy, _ use: Use) throws {
    let isAllowed =
      switch use {
      case .result: rules.readable.contains(position)
      case .order: rules.sortable.contains(position)
      case .condition(let operation): rules.filterable[position]?.contains(operation) == true
      }
    guard isAllowed else { throw DocumentAccess.refusal }
  }

  private func use(ofOperandsOf operation: SqlExpression.BinaryOperator, _ use: Use) throws -> Use {
    switch operation {
    case .equal, .notEqual, .isSame, .isNotSame: return .condition(.equality)
    case .less, .lessOrEqual, .greater, .greaterOrEqual: return .condition(.comparison)
    case .matchesGlob: return .condition(.pattern)
    case .matchesRegexp:
      try require(.regularExpressions)
      return .condition(.pattern)
    case .json, .jsonValue: try require(.json)
    case .plus, .minus, .times, .divided, .remainder, .concatenated, .bitAnd, .bitOr, .shiftedLeft, .shiftedRight:
      try require(.arithmetic)
    }
    return use
  }

  private func check(_ call: SqlExpression.Call, _ use: Use) throws {
    for argument in call.arguments { try check(argument, use) }
    try checkLengths(call)
    for term in call.order { try check(term.expression, .order) }
    if let filter = call.filter { try check(condition: filter) }
    guard let window = call.window else { return }
    try require(.windows)
    for term in window.partition { try check(term, .result) }
    for term in window.order { try check(term.expression, .order) }
  }

  /// Checks a call of a function whose time grows with the product of the lengths of two arguments. Throws if the
  /// second argument is long, or is not a constant value: the limits of a run can't interrupt such a call, because it
  /// is a single step of SQLite. Also throws for a format with a long width or precision.
  private func checkLengths(_ call: SqlExpression.Call) throws {
    guard let facts = call.facts else { return }
    if facts.constants == .format, policy.limits.argumentBytes != nil,
      case .value(.text(let format)) = call.arguments.first?.node,
      format.hasLongConversion
    {
      throw DocumentAccess.refusal
    }
    guard facts.has(.multipliesLengths), call.arguments.count > 1 else { return }
    try check([call.arguments[1]], upTo: policy.limits.argumentBytes)
  }

  private func check(_ terms: [SqlExpression], upTo limit: Int?) throws {
    guard let limit else { return }
    for term in terms {
      guard case .value(let value) = term.node, value.byteCount <= limit else { throw DocumentAccess.refusal }
    }
  }

  private func check(_ special: SqlExpression.SyntaxTerm, _ use: Use) throws {
    switch special.form {
    case .choice:
      try require(.arithmetic)
      for (index, term) in special.terms.enumerated() {
        let isCondition = index.isMultiple(of: 2) && index < special.terms.count - 1
        try check(term, isCondition ? .condition(.equality) : use)
      }
      return
    case .cast, .inverted: try require(.arithmetic)
    // A tuple needs no permission of its own. Its columns need the permission for the comparison operator.
    case .row: break
    case .datePart, .dateFormat, .day, .shifted, .shiftedBy, .startOf, .unixSeconds: try require(.dates)
    // SQL text could read any table.
    case .fragment: throw DocumentAccess.refusal
    case .fullText(let term):
      try require(.fullText)
      if term.returnsText { try require(.excerpts) }
      if term.takesSearch { try check(special.terms, upTo: policy.limits.searchBytes) }
      // A search reads all columns of the full-text index, so the policy must allow all of them.
      guard let rules = policy.tables.first(where: { $0.table.hasSameModel(as: term.table) }),
        let index = rules.table.fullText
      else { throw DocumentAccess.refusal }
      for position in index.columns.compactMap({ rules.table.position(of: $0.definition) }) {
        try check(position, of: rules, .condition(.pattern))
        if term.returnsText { try check(position, of: rules, .result) }
      }
    }
    for term in special.terms { try check(term, use) }
  }

  private func check(_ query: SqlExpression.QueryTerm, _ use: Use) throws {
    try require(.subqueries)
    switch query.kind {
    case .exists: try check(query.query, .existence)
    case .count:
      try require(.aggregates)
      try check(query.query, .existence)
    case .scalar: try check(query.query, .used(use))
    case .isIn:
      if let term = query.term { try check(term, .condition(.equality)) }
      try check(query.query, .used(.condition(.equality)))
    }
  }

  // MARK: Changes

  func check(setting columns: some Sequence<ColumnReference>, of rules: TablePolicy) throws {
    for column in columns {
      guard let position = rules.table.position(of: column), rules.settable.contains(position) else {
        throw DocumentAccess.refusal
      }
    }
  }

  func check(_ returned: Returned?, of rules: TablePolicy) throws {
    try at("returning") {
      switch returned {
      case nil: return
      case .rows: for position in rules.table.columns.indices { try check(position, of: rules, .result) }
      case .terms(let terms): for term in terms { try check(term, .result) }
      }
    }
  }
}

extension DocumentAccess {
  static func refusal(at path: String) -> SqlError {
    var error: SqlError = refusal
    error.documentPath = path
    return error
  }
}

extension IndexHint {
  var refusal: SqlError { DocumentAccess.refusal(at: name == nil ? "notIndexed" : "indexedBy") }
}

/// Puts `path` before the document path of an error of `body`.
func locating<Result>(_ path: String, _ body: () throws -> Result) throws -> Result {
  do { return try body() } catch var error as SqlError {
    error.documentPath = [path, error.documentPath].compactMap(\.self).joined(separator: ".")
    throw error
  }
}

extension FullTextTerm {
  fileprivate var returnsText: Bool {
    switch form {
    case .snippet, .highlight: true
    case .matches, .search, .weighting, .rank: false
    }
  }

  fileprivate var takesSearch: Bool {
    switch form {
    case .matches, .search: true
    case .snippet, .highlight, .weighting, .rank: false
    }
  }
}

extension String {
  /// True if a `printf` width or precision has over four digits or is an argument: `%.1000000000c` takes seconds.
  fileprivate var hasLongConversion: Bool {
    var (isConversion, digits) = (false, 0)
    for byte in utf8 {
      switch byte {
      case UInt8(ascii: "%"): (isConversion, digits) = (!isConversion, 0)
      case _ where !isConversion: continue
      case UInt8(ascii: "*"): return true
      case UInt8(ascii: "0")...UInt8(ascii: "9"): digits += 1
      case UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: " "), UInt8(ascii: "#"),
        UInt8(ascii: "!"), UInt8(ascii: ","), UInt8(ascii: "l"):
        digits = 0
      default: isConversion = false
      }
      if digits > 4 { return true }
    }
    return false
  }
}
