/// A writer of a statement's terms. One walk writes SQL or a cache key into a buffer, and collects the values.
///
/// While SQL is written, every column is checked against the tables in scope. A column of another table or another
/// declaration throws before SQLite is called. A cache key is written without these checks, because the compiled
/// statement with the same key has passed the checks. If writing the key fails, the statement has no cache key.
package struct Renderer {
  /// The table for error messages and column positions.
  let table: TableInfo
  /// The tables whose columns are allowed. Writing a cache key needs no tables.
  private let tables: Scope?
  var scope: Scope { tables ?? .none }
  let defined: [String]
  let sql: SqlBuffer
  let parameters: ParameterBuffer
  /// The number of symbols on the stack of SQLite's parser when an expression begins.
  var baseStack = 0
  /// True in ORDER BY and GROUP BY. There, older versions of SQLite read `x IN ()` as 0, the position of a column.
  var isOrdering = false

  /// SQLite's parser has a stack of 100 symbols. The statement around an expression uses at most 26 of these symbols.
  /// All statements have the same limit, so a filter that works in a read also works in a delete with order and limit.
  private static let maximumStack = 72

  package init(_ scope: Scope, sql: SqlBuffer, parameters: ParameterBuffer, baseStack: Int = 0) {
    self.init(table: scope.table, scope, defined: [], sql: sql, parameters: parameters, baseStack: baseStack)
  }

  init(
    table: TableInfo, _ scope: Scope?, defined: [String] = [], sql: SqlBuffer, parameters: ParameterBuffer,
    baseStack: Int = 0
  ) {
    self.table = table
    self.tables = scope
    self.defined = defined
    self.sql = sql
    self.parameters = parameters
    self.baseStack = baseStack
  }

  /// Returns a renderer for terms inside a subquery that SQL text contains. The renderer qualifies every column,
  /// because SQLite would otherwise prefer the subquery's own columns.
  func insideSubquery() throws -> Renderer {
    var renderer = Renderer(
      table: table, try Scope([], outer: scope, named: scope.named), defined: defined, sql: sql, parameters: parameters,
      baseStack: baseStack)
    renderer.isOrdering = isOrdering
    return renderer
  }

  /// Returns a renderer for a join condition, which can use the tables up to the joined table.
  func joining(_ sources: ArraySlice<SelectQuery.Source>) -> Renderer {
    Renderer(
      table: table, Scope(first: sources, of: scope), defined: defined, sql: sql, parameters: parameters,
      baseStack: baseStack)
  }

  // MARK: Conditions

  /// Operator precedence. A term that binds less tightly than the enclosing operator is parenthesized.
  enum Precedence: Int, Comparable {
    case any, all, not, equality, comparison, bits, sum, product, concatenation, unary, atom
    static func < (left: Precedence, right: Precedence) -> Bool { left.rawValue < right.rawValue }
  }

  package func write(_ expression: SqlExpression) throws {
    try write(expression, within: .any, stack: baseStack)
  }

  /// Writes a term. `stack` is the number of symbols on the parser's stack before the term.
  @inline(never)
  func write(_ expression: SqlExpression, within outer: Precedence, stack: Int) throws {
    // The short key of a comparison contains no parentheses. Use this key only if the SQL needs no parentheses.
    if sql.isKey {
      if outer <= .equality, sql.append(keyOfComparison: expression, parameters) { return }
      // A decoded statement has no cache key. Stop here, because the terms are written again for the SQL text.
      guard sql.hasKey else { return }
    }
    let precedence = strength(of: expression)
    let isOpen = precedence < outer
    let stack = stack + (isOpen ? 1 : 0)
    if !sql.isKey {
      try checkStack(stack + ownStack(of: expression))
      try checkDecimals(expression)
    }
    if isOpen { sql.append("(") }
    // One function per case: the temporaries of all cases in one frame would use too much stack per level.
    switch expression.node {
    case .column, .qualified, .value, .parameter, .invalid: try writeLeaf(expression)
    case .all, .any: try writeChain(expression, stack: stack)
    case .not, .negative, .isNull, .isNotNull: try writeUnary(expression, stack: stack)
    case .binary: try writeBinary(expression, precedence, stack: stack)
    case .between: try writeBetween(expression, stack: stack)
    case .isIn: try writeList(expression, stack: stack)
    case .like: try writeLike(expression, stack: stack)
    case .collate: try writeCollated(expression, stack: stack)
    case .call: try writeCall(expression, stack: stack)
    case .special: try writeSpecial(expression, stack: stack)
    case .query: try writeQuery(expression, stack: stack)
    }
    if isOpen { sql.append(")") }
  }

  private func writeLeaf(_ expression: SqlExpression) throws {
    switch expression.node {
    case .column(let reference): try write(reference)
    case .qualified(let alias, let reference): try write(reference, ofAlias: alias)
    case .value(let value): write(value)
    case .parameter(let name): try write { Placeholder(name: name) }
    case .invalid(let term): try refuse(term)
    default: break
    }
  }

  private func writeChain(_ expression: SqlExpression, stack: Int) throws {
    switch expression.node {
    case .all(let terms): try write(terms[...], joinedBy: " AND ", within: .not, stack: stack)
    case .any(let terms): try write(terms[...], joinedBy: " OR ", within: .all, stack: stack)
    default: break
    }
  }

  private func writeUnary(_ expression: SqlExpression, stack: Int) throws {
    switch expression.node {
    case .not(let term):
      sql.append("NOT ")
      try write(term, within: .equality, stack: stack + 1)
    case .negative(let term):
      sql.append("-")
      try write(term, within: .atom, stack: stack + 1)
    case .isNull(let term):
      try write(term, within: .comparison, stack: stack)
      sql.append(" IS NULL")
    case .isNotNull(let term):
      try write(term, within: .comparison, stack: stack)
      sql.append(" IS NOT NULL")
    default: break
    }
  }

  private func writeCall(_ expression: SqlExpression, stack: Int) throws {
    if case .call(let call) = expression.node { try write(call, stack: stack) }
  }

  private func writeSpecial(_ expression: SqlExpression, stack: Int) throws {
    if case .special(let special) = expression.node { try write(special, stack: stack) }
  }

  private func writeQuery(_ expression: SqlExpression, stack: Int) throws {
    if case .query(let query) = expression.node { try write(query, stack: stack) }
  }

  private func checkStack(_ height: Int) throws {
    guard height <= Renderer.maximumStack else {
      throw SqlError.invalidStatement("an expression is nested too deeply for SQLite's parser")
    }
  }

  private func write(_ reference: ColumnReference) throws {
    if sql.isKey { return sql.append(key: reference) }
    if scope.isPlain {
      if let position = scope.table.position(of: reference) { return writeStored(position) }
      guard scope.outer != nil else { throw scope.missing(reference) }
    }
    write(try scope.find(reference))
  }

  private func write(_ reference: ColumnReference, ofAlias alias: String) throws {
    if sql.isKey {
      sql.append(text: alias)
      return sql.append(key: reference)
    }
    write(try scope.find(reference, ofAlias: alias))
  }

  private func write(_ resolved: Scope.ResolvedColumn) {
    resolved.qualifier.map(writeName)
    sql.append(resolved.column.quotedName)
  }

  func writeName(_ name: String) {
    sql.append(name.quotedBytes())
    sql.append(".")
  }

  private func writeBinary(_ expression: SqlExpression, _ precedence: Precedence, stack: Int) throws {
    guard case .binary(let term) = expression.node else { return }
    let (operation, left, right) = (term.operation, term.left, term.right)
    try write(left, opposite: right, operation.flipped, within: precedence, stack: stack)
    sql.append(operation.sql)
    let strength = Precedence(rawValue: precedence.rawValue + 1) ?? .atom
    if operation.takesConstant { return try write(constant: right, within: strength, stack: stack + 2) }
    try write(right, opposite: left, operation, within: strength, stack: stack + 2)
  }

  /// Writes an operand. The value of a parameter that is compared with a column is converted to the column's type.
  private func write(
    _ term: SqlExpression, opposite other: SqlExpression, _ operation: SqlExpression.BinaryOperator,
    within strength: Precedence, stack: Int
  ) throws {
    guard case .parameter(let name) = term.node else { return try write(term, within: strength, stack: stack) }
    try write {
      let column = try column(of: other)
      if operation.isComparison { return Placeholder(name: name, comparedWith: column, operation.side) }
      // A parameter next to a decimal is a decimal of the same scale.
      guard let column, column.type.scale != nil else { return Placeholder(name: name) }
      return Placeholder(name: name, storedIn: column)
    }
  }

  private func checkDecimals(_ expression: SqlExpression) throws {
    // The closure does not capture the renderer, because each lookup would copy the renderer.
    let defect = expression.decimalDefect { [scope] reference, alias in
      // Ignore the error, because a missing column is reported elsewhere.
      try? (alias.map { try scope.find(reference, ofAlias: $0) } ?? scope.find(reference)).column
    }
    if let defect { try refuse(defect) }
  }

  /// Returns the column that determines how the term's values are stored; nil if the term has no such column. The term
  /// of a decoded statement contains only the column's name, so the column is looked up in the tables.
  func column(of term: SqlExpression) throws -> ColumnDefinition? {
    guard case .column(let reference) = term.columnTerm.node, reference.definition == nil else {
      return term.columnDefinition
    }
    return table.columns[try position(of: reference)].definition
  }

  private func writeBetween(_ expression: SqlExpression, stack: Int) throws {
    guard case .between(let term, let low, let high) = expression.node else { return }
    try write(term, within: .comparison, stack: stack)
    sql.append(" BETWEEN ")
    try write(low, opposite: term, .greaterOrEqual, within: .sum, stack: stack + 2)
    sql.append(" AND ")
    try write(high, opposite: term, .lessOrEqual, within: .sum, stack: stack + 4)
  }

  private func writeLike(_ expression: SqlExpression, stack: Int) throws {
    guard case .like(let term, let pattern, let escape) = expression.node else { return }
    try write(term, within: .comparison, stack: stack)
    sql.append(" LIKE ")
    try write(pattern, within: .comparison, stack: stack + 2)
    guard !escape.isEmpty else { return }
    guard escape.unicodeScalars.count == 1, escape != "\0" else {
      throw SqlError.invalidStatement("the escape of LIKE must be a single Unicode scalar other than NUL")
    }
    sql.append(" ESCAPE ")
    // SQLite uses an index for the pattern's prefix only if the escape character is a literal.
    try write(literal: escape)
  }

  private func writeCollated(_ expression: SqlExpression, stack: Int) throws {
    guard case .collate(let term, let collation) = expression.node else { return }
    try write(term, within: .atom, stack: stack)
    sql.append(" COLLATE ")
    if case .named(let name) = collation, name.utf8.contains(0) {
      throw SqlError.invalidStatement("the name of a collation contains a NUL byte")
    }
    sql.append(collation.sql)
  }

  private func refuse(_ term: SqlExpression.InvalidTerm) throws {
    guard term.error.column != nil else { throw term.error }
    throw term.error.at(table: term.column.map(scope.tableName(of:)) ?? table.name)
  }

  // Returns the maximum number of symbols that the expression itself puts on the parser's stack, without its operands.
  private func ownStack(of expression: SqlExpression) -> Int {
    switch expression.node {
    // IN (SELECT value FROM sqlable_values(?)
    case .isIn(let term, _) where term.rowTerms == nil: 13
    // The longest case: … FROM json_each(?) AS r JOIN json_each(r.value) AS v1 ON v1.key = 0
    case .isIn: 20
    case .like: 4
    // The longest case: a function with an OVER that has all clauses.
    case .call, .special: 12
    // The longest case: the last part of a combined query that has named queries, LIMIT and OFFSET.
    case .query: 20
    default: 1
    }
  }

  private func strength(of expression: SqlExpression) -> Precedence {
    switch expression.node {
    case .column, .value, .parameter, .qualified, .call, .invalid: .atom
    case .query(let term): term.kind == .isIn ? .equality : .atom
    case .any: .any
    case .all: .all
    case .not: .not
    case .isNull, .isNotNull, .between, .isIn, .like: .equality
    case .special(let special): strength(of: special.form)
    case .negative, .collate: .unary
    case .binary(let term):
      switch term.operation {
      case .equal, .notEqual, .isSame, .isNotSame, .matchesGlob, .matchesRegexp: .equality
      case .less, .lessOrEqual, .greater, .greaterOrEqual: .comparison
      case .plus, .minus: .sum
      case .times, .divided, .remainder: .product
      case .concatenated, .json, .jsonValue: .concatenation
      case .bitAnd, .bitOr, .shiftedLeft, .shiftedRight: .bits
      }
    }
  }

  private func write(
    _ terms: Slice<TermChain>, joinedBy separator: StaticString, within strength: Precedence, stack: Int
  ) throws {
    guard !terms.isEmpty else { throw SqlError.invalidStatement("AND or OR has no terms") }
    guard terms.count > SqlExpression.maximumChain else {
      for (index, term) in terms.enumerated() {
        if index > 0 { sql.append(separator) }
        try write(term, within: strength, stack: stack + (index > 0 ? 2 : 0))
      }
      return
    }
    let size = SqlExpression.sizeOfParts(terms.count)
    var rest = terms
    while !rest.isEmpty {
      if rest.startIndex > terms.startIndex { sql.append(separator) }
      sql.append("(")
      try write(rest.prefix(size), joinedBy: separator, within: strength, stack: stack + 3)
      sql.append(")")
      rest = rest.dropFirst(size)
    }
  }

  func write(_ value: DatabaseValue) {
    sql.append("?")
    parameters.append(value)
  }

  private func write(_ placeholder: () throws -> Placeholder) throws {
    if GivenParameters.current == nil { sql.refuseKey() }
    sql.append("?")
    try parameters.append(try placeholder())
  }

  func write(_ expression: SqlExpression, settingColumn position: Int) throws {
    guard case .parameter(let name) = expression.node else { return try write(expression) }
    try write { Placeholder(name: name, storedIn: table.columns[position].definition) }
  }

  // MARK: Columns

  func position(of reference: ColumnReference) throws -> Int {
    guard let position = table.position(of: reference) else { throw scope.missing(reference) }
    return position
  }

  func writeColumn(_ position: Int) { sql.append(table.columns[position].definition) }

  func writeStored(_ position: Int) {
    if sql.qualifiesColumns, !sql.isKey { writeName(scope.sources[0].name) }
    writeColumn(position)
  }

  func writeStored(_ positions: some Sequence<Int>) {
    for (index, position) in positions.enumerated() {
      if index > 0 { sql.append(", ") }
      writeStored(position)
    }
  }

  func writeColumns(_ positions: some Sequence<Int>) {
    for (index, position) in positions.enumerated() {
      if index > 0 { sql.append(", ") }
      writeColumn(position)
    }
  }
}
