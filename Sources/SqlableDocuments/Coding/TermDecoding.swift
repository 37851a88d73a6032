import SqlableCore
import SqlableQueries

extension DocumentDecoder {
  package func term(_ document: Document, _ scope: Scope) throws -> SqlExpression {
    let levels = document.levels
    try begin(levels)
    defer { end(levels) }
    if let value = try value(document) { return SqlExpression(value) }
    guard case .object(let members) = document else { throw failure("a term must be text, an integer or an object") }
    if members.count == 1, let operation = SqlExpression.BinaryOperator.byKey[members[0].key] {
      enter(members[0].key)
      let term = try binary(operation, members[0].value, scope)
      leave()
      return term
    }
    let (form, value, otherMembers) = try form(of: members)
    enter(form.rawValue)
    let term = try term(form, value, otherMembers, scope)
    leave()
    return term
  }

  private func form(of members: [Document.Member]) throws -> (TermForm, Document, [Document.Member]) {
    var match: (form: TermForm, value: Document)?
    for member in members {
      guard let form = TermForm.byKey[member.key] else { continue }
      if let match {
        throw failure("a term can't have both of the keys \"\(match.form.rawValue)\" and \"\(form.rawValue)\"")
      }
      match = (form, member.value)
    }
    guard let match else { throw failure("unknown kind of term") }
    var otherMembers: [Document.Member] = []
    if members.count > 1 {
      otherMembers = members.filter { $0.key != match.form.rawValue }
      for member in otherMembers where !match.form.otherKeys.contains(member.key) {
        enter(member.key)
        throw failure("a term has an unknown key")
      }
    }
    return (match.form, match.value, otherMembers)
  }

  private func term(
    _ form: TermForm, _ value: Document, _ otherMembers: [Document.Member], _ scope: Scope
  ) throws -> SqlExpression {
    // Each form has a separate function: the temporaries of all forms in one frame would use too much stack per level.
    switch form {
    case .null, .integer, .real, .blob: throw failure("a value has an unknown key")
    case .parameter: return try parameter(value)
    case .column: return try column(value, otherMembers, scope)
    case .and, .or: return try chain(form, value, scope)
    case .not, .negative, .isNull, .isNotNull, .inverted, .date, .unixSeconds: return try unary(form, value, scope)
    case .between: return try between(value, scope)
    case .in: return try isIn(value, scope)
    case .like: return try like(value, otherMembers, scope)
    case .collate: return try collate(value, otherMembers, scope)
    case .function: return try call(builtIn: value, otherMembers, scope)
    case .registered: return try call(registered: value, otherMembers, scope)
    case .case: return try choice(value, otherMembers, scope)
    case .cast: return try cast(value, otherMembers, scope)
    case .datePart: return try datePart(value, otherMembers, scope)
    case .strftime: return try strftime(value, scope)
    case .shift: return try shift(value, otherMembers, scope)
    case .startOf: return try startOf(value, otherMembers, scope)
    case .row:
      throw failure("a row value can only be compared with a row value, or be the left side of IN with a query")
    case .query, .exists, .count: return try subquery(form, value, scope)
    case .matches, .search, .weighting, .rank, .snippet, .highlight:
      return try fullText(form, value, otherMembers, scope)
    }
  }

  private func chain(_ form: TermForm, _ value: Document, _ scope: Scope) throws -> SqlExpression {
    let terms = try operands(value, scope)
    guard !terms.isEmpty else { throw failure("AND or OR has no terms") }
    return try checkedTerm(form == .and ? .all(TermChain(terms)) : .any(TermChain(terms)))
  }

  private func unary(_ form: TermForm, _ value: Document, _ scope: Scope) throws -> SqlExpression {
    let operand = try term(value, scope)
    switch form {
    case .not: return try checkedTerm(.not(operand))
    case .negative: return try checkedTerm(.negative(operand))
    case .isNull: return try checkedTerm(.isNull(operand))
    case .isNotNull: return try checkedTerm(.isNotNull(operand))
    case .date: return try checkedTerm(.special(.init(form: .day, terms: [operand])))
    case .unixSeconds: return try checkedTerm(.special(.init(form: .unixSeconds, terms: [operand])))
    default: return try checkedTerm(.special(.init(form: .inverted, terms: [operand])))
    }
  }

  private func subquery(_ form: TermForm, _ value: Document, _ scope: Scope) throws -> SqlExpression {
    let query = try query(value, outer: scope)
    let kind: SqlExpression.QueryTerm.Kind = form == .query ? .scalar : form == .count ? .count : .exists
    return try checkedTerm(.query(.init(kind: kind, query: query)))
  }

  func checkedTerm(_ node: SqlExpression.Node) throws -> SqlExpression {
    let term = SqlExpression(node)
    if case .invalid(let invalid) = term.node { throw invalid.error }
    return term
  }

  func terms(_ document: Document, _ what: String, _ scope: Scope) throws -> [SqlExpression] {
    try each(list(document, what)) { try term($0, scope) }
  }

  private func operands(_ document: Document, _ scope: Scope) throws -> [SqlExpression] {
    try terms(document, "the terms of AND and OR", scope)
  }

  func terms(_ count: Int, _ document: Document, _ scope: Scope) throws -> [SqlExpression] {
    let terms = try terms(document, "the terms", scope)
    guard terms.count == count else { throw failure("expected \(count) terms, found \(terms.count)") }
    return terms
  }

  func optional(_ key: String, _ otherMembers: [Document.Member]) -> Document? {
    otherMembers.first { $0.key == key }?.value
  }

  /// Decodes a further member of a term. The member's key replaces the last key of the path. Returns nil if the member
  /// is missing.
  func optional<Part>(
    _ key: String, _ otherMembers: [Document.Member], _ read: (Document) throws -> Part
  ) throws -> Part? {
    guard let document = optional(key, otherMembers) else { return nil }
    leave()
    enter(key)
    return try read(document)
  }

  func required<Part>(
    _ key: String, _ otherMembers: [Document.Member], _ read: (Document) throws -> Part
  ) throws -> Part {
    guard let part = try optional(key, otherMembers, read) else { throw failure("missing key \(key)") }
    return part
  }

  // MARK: Columns and operators

  private func parameter(_ document: Document) throws -> SqlExpression {
    let name = try text(document, "the name of a parameter")
    parameters.insert(ByteComparedName(wrappedValue: name))
    if let value = arguments?[ByteComparedName(wrappedValue: name)] { return SqlExpression(value) }
    return SqlExpression(leaf: .parameter(name))
  }

  private func column(_ document: Document, _ otherMembers: [Document.Member], _ scope: Scope) throws -> SqlExpression {
    let name = try text(document, "the name of a column")
    let model = try optional("model", otherMembers) { try text($0, "the name of a model") }
    if let model {
      guard optional("of", otherMembers) == nil else { throw failure("a column can't have both a table and a model") }
      return try column(name, of: self.model(model)).expression
    }
    guard let qualifier = try optional("of", otherMembers, { try text($0, "the name of a table") }) else {
      if scope.isFree { return SqlExpression(leaf: .column(.named(name))) }
      guard scope.sources.count == 1 else {
        throw failure("a column of a query of several tables needs the name of its table; use \"of\"")
      }
      return try column(name, of: scope.sources[0])
    }
    var scope: Scope? = scope
    while let current = scope {
      if let source = current.sources.first(where: { $0.name.isExactly(qualifier) }) {
        return try column(name, of: source)
      }
      if current.isFree { return SqlExpression(leaf: .qualified(alias: qualifier, .named(name))) }
      scope = current.outer
    }
    throw failure("\"of\" names no table of the query; write the name or alias of a table")
  }

  private func column(_ name: String, of source: SelectQuery.Source) throws -> SqlExpression {
    let column = try column(name, of: source.table)
    guard let alias = source.alias else { return SqlExpression(leaf: .column(ColumnReference(column))) }
    // The columns of `json_each` and `json_tree` have no declared type that matches their values.
    if case .call = source.kind { return SqlExpression(leaf: .qualified(alias: alias, .named(name))) }
    return SqlExpression(leaf: .qualified(alias: alias, ColumnReference(column)))
  }

  package func column(_ name: String, of table: TableInfo) throws -> Column {
    // The policy has no entries for the columns of named queries and JSON elements.
    if let access, let known = access.tables[ByteComparedName(wrappedValue: table.name)], known.info === table {
      guard let column = known.columns[ByteComparedName(wrappedValue: name)] else { throw DocumentAccess.refusal }
      return column
    }
    guard let position = table.position(named: name) else {
      throw SqlError(
        .schema(.missingColumn(name)), message: "table \(table.name) has no column \(name)", table: table.name,
        column: name)
    }
    return table.columns[position]
  }

  private func binary(
    _ operation: SqlExpression.BinaryOperator, _ document: Document, _ scope: Scope
  ) throws -> SqlExpression {
    let documents = try list(document, "the terms of an operator")
    guard documents.count == 2 else { throw failure("expected 2 terms, found \(documents.count)") }
    enter(0)
    let row = operation.isComparison ? try row(documents[0], scope) : nil
    let left = try row ?? term(documents[0], scope)
    leave()
    enter(1)
    let right: SqlExpression
    if let count = row?.rowTerms?.count {
      guard let rightRow = try self.row(documents[1], scope), rightRow.rowTerms?.count == count else {
        throw failure("row values must have the same number of terms")
      }
      right = rightRow
    } else {
      right = operation.takesConstant ? try path(documents[1]) : try term(documents[1], scope)
    }
    leave()
    return try binary(operation, left, right, scope)
  }

  @inline(never)
  private func binary(
    _ operation: SqlExpression.BinaryOperator, _ left: SqlExpression, _ right: SqlExpression, _ scope: Scope
  ) throws -> SqlExpression {
    if let leftTerms = left.rowTerms, let rightTerms = right.rowTerms {
      for pair in zip(leftTerms, rightTerms) { try SqlExpression.checkCompared([pair.0, pair.1], scope) }
    } else if operation.isComparison {
      try SqlExpression.checkCompared([left, right], scope)
    }
    if operation == .matchesGlob || operation == .matchesRegexp { try right.checkIsPattern(scope) }
    if operation == .matchesRegexp, case .value(.text(let pattern)) = right.node { _ = try RegularExpression(pattern) }
    if let defect = SqlExpression.defect(of: operation, left, right) { throw defect.error }
    return try checkedTerm(.binary(operation, left, right))
  }

  private func row(_ document: Document, _ scope: Scope) throws -> SqlExpression? {
    guard case .object(let members) = document, members.count == 1, members[0].key == TermForm.row.rawValue else {
      return nil
    }
    enter(members[0].key)
    let terms = try terms(members[0].value, "the terms of a row value", scope)
    guard (2...100).contains(terms.count) else { throw failure("a row value must have 2 to 100 terms") }
    leave()
    return try checkedTerm(.special(.init(form: .row, terms: terms)))
  }

  private func between(_ document: Document, _ scope: Scope) throws -> SqlExpression {
    let terms = try terms(3, document, scope)
    try SqlExpression.checkCompared(terms, scope)
    return try checkedTerm(.between(terms[0], terms[1], terms[2]))
  }

  private func isIn(_ document: Document, _ scope: Scope) throws -> SqlExpression {
    let documents = try list(document, "the terms of IN")
    guard documents.count == 2 else { throw failure("IN takes a term, and a list or a query") }
    enter(0)
    let left = try row(documents[0], scope) ?? term(documents[0], scope)
    leave()
    enter(1)
    let term = try isIn(left, documents[1], scope)
    leave()
    return term
  }

  private func isIn(_ left: SqlExpression, _ document: Document, _ scope: Scope) throws -> SqlExpression {
    guard case .list(let values) = document, left.rowTerms == nil else {
      let term = left.isIn(try query(document, outer: scope))
      if case .invalid(let invalid) = term.node { throw invalid.error }
      return term
    }
    try checkList(values.count)
    let list = try each(values) { document in
      let value = try value(required: document)
      try SqlExpression.checkCompared([left, SqlExpression(value)], scope)
      return value
    }
    return try checkedTerm(.isIn(left, list))
  }

  private func like(_ document: Document, _ otherMembers: [Document.Member], _ scope: Scope) throws -> SqlExpression {
    let terms = try terms(2, document, scope)
    try terms[1].checkIsPattern(scope)
    let escape = try optional("escape", otherMembers) { try text($0, "the escape of LIKE") }
    return try checkedTerm(.like(terms[0], terms[1], escape: escape ?? ""))
  }

  private func collate(_ document: Document, _ otherMembers: [Document.Member], _ scope: Scope) throws -> SqlExpression
  {
    let term = try term(document, scope)
    let name = try required("as", otherMembers) { try self.name($0, "the name of a collation") }
    let collation = Collate(rawValue: name)
    if case .named = collation { try checkRegistered(name) }
    return try checkedTerm(.collate(term, collation))
  }

  func path(_ document: Document) throws -> SqlExpression {
    let steps = try each(list(document, "a path within JSON")) { step -> JSONStep in
      switch step {
      case .text(let key): return .key(key)
      case .integer(let position):
        guard let position = Int(exactly: position) else { break }
        return .position(position)
      case .null: return .end
      default: break
      }
      throw failure("a step within JSON must be a key, a position, or null for the end")
    }
    let path = SqlExpression.path(steps)
    if case .invalid(let invalid) = path.node { throw invalid.error }
    return path
  }

  func order(_ document: Document, _ scope: Scope) throws -> [OrderTerm] {
    try each(list(document, "an order")) { document in
      guard case .object(let members) = document, members.count == 1,
        let direction = OrderTerm.Direction(rawValue: members[0].key)
      else { throw failure("an order term must be an object with the key asc, desc, ascNullsLast or descNullsFirst") }
      enter(direction.rawValue)
      let term = try term(members[0].value, scope)
      leave()
      return OrderTerm(expression: term, direction: direction)
    }
  }
}

extension Document {
  /// The number of levels to count for a term. An operator counts as only one level, because operators form long chains
  /// and need small stack frames.
  fileprivate var levels: Int {
    guard case .object(let members) = self else { return 1 }
    return members.contains { $0.key.isSmall } ? 1 : 2
  }
}

extension String {
  /// True if a term with this key needs only a small stack frame: a column, an operator or a collation.
  fileprivate var isSmall: Bool {
    switch TermForm.byKey[self] {
    case .column, .not, .negative, .isNull, .isNotNull, .collate: true
    case nil: SqlExpression.BinaryOperator.byKey[self] != nil
    default: false
    }
  }
}
