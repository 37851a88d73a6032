// Terms from documents.

extension DocumentDecoder {
  /// Reads a term of a query with these tables.
  func term(_ document: Document, _ scope: Scope) throws -> SqlExpression {
    if let value = try value(document) { return SqlExpression(value) }
    guard case .object(let members) = document else { throw failure("a term must be text, an integer or an object") }
    if members.count == 1, let operation = SqlExpression.BinaryOperator.byKey[members[0].key] {
      enter(members[0].key)
      let term = try binary(operation, members[0].value, scope)
      leave()
      return term
    }
    let (form, value, others) = try form(of: members)
    enter(form.rawValue)
    let term = try term(form, value, others, scope)
    leave()
    return term
  }

  /// The form of a term, its value, and its other members.
  private func form(of members: [Document.Member]) throws -> (TermForm, Document, [Document.Member]) {
    var found: (form: TermForm, value: Document)?
    for member in members {
      guard let form = TermForm.byKey[member.key] else { continue }
      guard found == nil else { throw failure("a term has two forms") }
      found = (form, member.value)
    }
    guard let found else { throw failure("it has no form of a term") }
    var others: [Document.Member] = []
    if members.count > 1 {
      others = members.filter { $0.key != found.form.rawValue }
      for member in others where !found.form.otherKeys.contains(member.key) {
        throw failure("a term has an unknown key")
      }
    }
    return (found.form, found.value, others)
  }

  private func term(
    _ form: TermForm, _ value: Document, _ others: [Document.Member], _ scope: Scope
  ) throws -> SqlExpression {
    // Each form has its own function: all their temporaries in one frame would use too much stack per level.
    switch form {
    case .null, .integer, .real, .blob: throw failure("a value has an unknown key")
    case .parameter: return try parameter(value)
    case .column: return try column(value, others, scope)
    case .and: return try made(.all(operands(value, scope)))
    case .or: return try made(.any(operands(value, scope)))
    case .not: return try made(.not(term(value, scope)))
    case .negative: return try made(.negative(term(value, scope)))
    case .isNull: return try made(.isNull(term(value, scope)))
    case .isNotNull: return try made(.isNotNull(term(value, scope)))
    case .between: return try between(value, scope)
    case .in: return try isIn(value, scope)
    case .like: return try like(value, others, scope)
    case .collate: return try collate(value, others, scope)
    case .function: return try call(builtIn: value, others, scope)
    case .registered: return try call(registered: value, others, scope)
    case .case: return try choice(value, others, scope)
    case .cast: return try cast(value, others, scope)
    case .inverted: return try made(.special(.init(form: .inverted, terms: [term(value, scope)])))
    case .datePart: return try datePart(value, others, scope)
    case .strftime: return try strftime(value, scope)
    case .date: return try made(.special(.init(form: .day, terms: [term(value, scope)])))
    case .shift: return try shift(value, others, scope)
    case .query: return try made(.query(.init(kind: .scalar, query: query(value, outer: scope))))
    case .exists: return try made(.query(.init(kind: .exists, query: query(value, outer: scope))))
    case .matches, .search, .weighting, .rank, .snippet, .highlight:
      return try fullText(form, value, others, scope)
    }
  }

  /// The term, unless it is nested too deeply.
  func made(_ node: SqlExpression.Node) throws -> SqlExpression {
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

  private func terms(_ count: Int, _ document: Document, _ scope: Scope) throws -> [SqlExpression] {
    let terms = try terms(document, "it", scope)
    guard terms.count == count else { throw failure("it takes \(count) terms, not \(terms.count)") }
    return terms
  }

  private func other(_ key: String, _ others: [Document.Member]) -> Document? { others.first { $0.key == key }?.value }

  /// Reads another member of a term at its place; nil without one.
  private func other<Part>(
    _ key: String, _ others: [Document.Member], _ read: (Document) throws -> Part
  ) throws -> Part? {
    guard let document = other(key, others) else { return nil }
    leave()
    enter(key)
    return try read(document)
  }

  private func required<Part>(
    _ key: String, _ others: [Document.Member], _ read: (Document) throws -> Part
  ) throws -> Part {
    guard let part = try other(key, others, read) else { throw failure("it lacks the key \(key)") }
    return part
  }

  // MARK: Columns and operators

  private func parameter(_ document: Document) throws -> SqlExpression {
    SqlExpression(.parameter(try text(document, "the name of a parameter")), size: SqlExpression.Size())
  }

  private func column(_ document: Document, _ others: [Document.Member], _ scope: Scope) throws -> SqlExpression {
    let name = try text(document, "the name of a column")
    let model = try other("model", others) { try text($0, "the name of a model") }
    if let model { return try column(name, of: self.model(model)).expression }
    guard let qualifier = try other("of", others, { try text($0, "the name of a table") }) else {
      if scope.isFree { return leaf(.column(.named(name))) }
      guard scope.sources.count == 1 else {
        throw failure("a query of several tables must say of which a column is: \"of\"")
      }
      return try column(name, of: scope.sources[0])
    }
    var scope: Scope? = scope
    while let current = scope {
      if let source = current.sources.first(where: { $0.name.isExactly(qualifier) }) {
        return try column(name, of: source)
      }
      if current.isFree { return leaf(.qualified(alias: qualifier, .named(name))) }
      scope = current.outer
    }
    throw failure("the query has no table of this name")
  }

  private func leaf(_ node: SqlExpression.Node) -> SqlExpression { SqlExpression(node, size: SqlExpression.Size()) }

  private func column(_ name: String, of source: SelectQuery.Source) throws -> SqlExpression {
    let column = try column(name, of: source.table)
    guard let alias = source.alias else { return leaf(.column(ColumnReference(column))) }
    // The columns of JSON's elements have no declaration that fits their values.
    if case .call = source.kind { return leaf(.qualified(alias: alias, .named(name))) }
    return leaf(.qualified(alias: alias, ColumnReference(column)))
  }

  func column(_ name: String, of table: TableInfo) throws -> Column {
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
    guard documents.count == 2 else { throw failure("an operator takes 2 terms, not \(documents.count)") }
    enter(0)
    let left = try term(documents[0], scope)
    leave()
    enter(1)
    let right = operation.takesConstant ? try path(documents[1]) : try term(documents[1], scope)
    leave()
    if operation.isComparison { try SqlExpression.checkCompared([left, right], scope) }
    if operation == .matchesGlob { try right.checkIsPattern(scope) }
    if let defect = SqlExpression.defect(of: operation, left, right) { throw defect.error }
    return try made(.binary(operation, left, right))
  }

  private func between(_ document: Document, _ scope: Scope) throws -> SqlExpression {
    let terms = try terms(3, document, scope)
    try SqlExpression.checkCompared(terms, scope)
    return try made(.between(terms[0], terms[1], terms[2]))
  }

  private func isIn(_ document: Document, _ scope: Scope) throws -> SqlExpression {
    let documents = try list(document, "the terms of IN")
    guard documents.count == 2 else { throw failure("IN takes a term, and a list or a query") }
    enter(0)
    let left = try term(documents[0], scope)
    leave()
    enter(1)
    defer { leave() }
    guard case .list(let values) = documents[1] else {
      let query = try query(documents[1], outer: scope)
      let term = left.isIn(query)
      if case .invalid(let invalid) = term.node { throw invalid.error }
      return term
    }
    let list = try each(values) { document in
      let value = try value(required: document)
      try SqlExpression.checkCompared([left, SqlExpression(value)], scope)
      return value
    }
    return try made(.isIn(left, list))
  }

  private func like(_ document: Document, _ others: [Document.Member], _ scope: Scope) throws -> SqlExpression {
    let terms = try terms(2, document, scope)
    try terms[1].checkIsPattern(scope)
    let escape = try other("escape", others) { try text($0, "the escape of LIKE") }
    return try made(.like(terms[0], terms[1], escape: escape ?? ""))
  }

  private func collate(_ document: Document, _ others: [Document.Member], _ scope: Scope) throws -> SqlExpression {
    let term = try term(document, scope)
    let name = try required("as", others) { try text($0, "the name of a collation") }
    return try made(.collate(term, Collate(rawValue: name)))
  }

  /// A path within JSON, from its keys and positions.
  func path(_ document: Document) throws -> SqlExpression {
    let steps = try each(list(document, "a path within JSON")) { step -> JSONStep in
      switch step {
      case .text(let key): return .key(key)
      case .integer(let position):
        guard let position = Int(exactly: position) else { break }
        return .position(position)
      default: break
      }
      throw failure("a step within JSON must be a key or a position")
    }
    let path = SqlExpression.path(steps)
    if case .invalid(let invalid) = path.node { throw invalid.error }
    return path
  }

  // MARK: Functions

  private func call(
    builtIn document: Document, _ others: [Document.Member], _ scope: Scope
  ) throws -> SqlExpression {
    let name = try text(document, "the name of a function")
    if name == "countRows" { return try call(.countRows, others, scope) }
    guard let function = SqlExpression.Call.BuiltIn(rawValue: name) else {
      throw failure("it is no function that the library knows")
    }
    return try call(.builtIn(function), others, scope)
  }

  private func call(
    registered document: Document, _ others: [Document.Member], _ scope: Scope
  ) throws -> SqlExpression {
    let name = try text(document, "the name of a function")
    return try call(.named(name), others, scope)
  }

  private func call(
    _ function: SqlExpression.Call.Function, _ others: [Document.Member], _ scope: Scope
  ) throws -> SqlExpression {
    var call = SqlExpression.Call(function: function, arguments: [])
    call.arguments =
      try other("arguments", others) { documents in
        var index = 0
        return try each(list(documents, "the arguments of a function")) { document in
          defer { index += 1 }
          return call.takesPath(index) ? try path(document) : try term(document, scope)
        }
      } ?? []
    try check(call)
    call.isDistinct =
      try other("distinct", others) { document in
        guard case .bool(true) = document else { throw failure("it must be true, or be left out") }
        return true
      } ?? false
    call.filter = try other("filter", others) { try term($0, scope) }
    call.window = try other("over", others) { try window($0, scope) }
    if let defect = SqlExpression.mixedDates(call.arguments) { throw defect.error }
    return try made(.call(call))
  }

  /// Throws if the function does not take so many arguments, or is known not to make sense of them.
  private func check(_ call: SqlExpression.Call) throws {
    let counts: ClosedRange<Int>
    switch call.function {
    case .countRows: counts = 0...0
    case .named: counts = 0...100
    case .builtIn(let function):
      counts = function.argumentCounts
      if function.takesNumbers {
        for argument in call.arguments.prefix(1) {
          if let defect = argument.defect(in: function.name) { throw defect.error }
        }
      }
    }
    guard counts.contains(call.arguments.count) else {
      throw failure("the function does not take \(call.arguments.count) arguments")
    }
  }

  private func window(_ document: Document, _ scope: Scope) throws -> SqlExpression.WindowClause {
    guard case .object(let members) = document else { throw failure("a window must be an object") }
    var window = SqlExpression.WindowClause()
    for member in members {
      enter(member.key)
      switch member.key {
      case "partitionBy": window.partition = try terms(member.value, "the terms of a partition", scope)
      case "orderBy": window.order = try order(member.value, scope)
      case "frame": window.frame = try frame(member.value)
      default:
        leave()
        throw failure("a window has an unknown key")
      }
      leave()
    }
    return window
  }

  private func frame(_ document: Document) throws -> WindowFrame {
    guard case .object(let members) = document, members.count == 1,
      let unit = [WindowFrame.Unit.rows, .range, .groups].first(where: { $0.documentName == members[0].key })
    else { throw failure("a frame must be an object with rows, range or groups") }
    let bounds = try each(list(members[0].value, "a frame")) { try bound($0) }
    guard bounds.count == 2 else { throw failure("a frame has two bounds") }
    return WindowFrame(unit: unit, start: bounds[0], end: bounds[1])
  }

  private func bound(_ document: Document) throws -> WindowFrame.Bound {
    switch document {
    case .text("unboundedPreceding"): return .unboundedPreceding
    case .text("currentRow"): return .currentRow
    case .text("unboundedFollowing"): return .unboundedFollowing
    case .object(let members) where members.count == 1 && members[0].key == "preceding":
      return .preceding(try integer(members[0].value, "the bound of a frame"))
    case .object(let members) where members.count == 1 && members[0].key == "following":
      return .following(try integer(members[0].value, "the bound of a frame"))
    default: throw failure("it is no bound of a frame")
    }
  }

  func order(_ document: Document, _ scope: Scope) throws -> [OrderTerm] {
    try each(list(document, "an order")) { document in
      guard case .object(let members) = document, members.count == 1,
        let direction = OrderTerm.Direction(rawValue: members[0].key)
      else { throw failure("a term of an order must be an object with asc, desc, ascNullsLast or descNullsFirst") }
      enter(direction.rawValue)
      let term = try term(members[0].value, scope)
      leave()
      return OrderTerm(expression: term, direction: direction)
    }
  }

  // MARK: Terms with their own syntax

  private func choice(_ document: Document, _ others: [Document.Member], _ scope: Scope) throws -> SqlExpression {
    var terms = try each(list(document, "the branches of CASE")) { try self.terms(2, $0, scope) }.flatMap(\.self)
    guard !terms.isEmpty else { throw failure("a CASE needs a branch") }
    if let last = try other("else", others, { try term($0, scope) }) { terms.append(last) }
    return try made(.special(.init(form: .choice, terms: terms)))
  }

  private func cast(_ document: Document, _ others: [Document.Member], _ scope: Scope) throws -> SqlExpression {
    let term = try term(document, scope)
    let type = try required("as", others) { document in
      switch try text(document, "the type of a cast") {
      case "integer": StorageClass.integer
      case "real": StorageClass.real
      case "text": StorageClass.text
      case "blob": StorageClass.blob
      default: throw failure("a cast is to integer, real, text or blob")
      }
    }
    return try made(.special(.init(form: .cast(type), terms: [term])))
  }

  private func datePart(_ document: Document, _ others: [Document.Member], _ scope: Scope) throws -> SqlExpression {
    let term = try term(document, scope)
    let part = try required("part", others) { document in
      guard let part = DatePart(rawValue: try text(document, "the part of a date")) else {
        throw failure("it is no part of a date")
      }
      return part
    }
    return try made(.special(.init(form: .datePart(part.letter), terms: [term])))
  }

  private func strftime(_ document: Document, _ scope: Scope) throws -> SqlExpression {
    let terms = try terms(2, document, scope)
    guard case .value(.text) = terms[1].node else { throw failure("the format of a date must be text") }
    return try made(.special(.init(form: .dateFormat, terms: terms)))
  }

  private func shift(_ document: Document, _ others: [Document.Member], _ scope: Scope) throws -> SqlExpression {
    let term = try term(document, scope)
    let count = try required("by", others) { document in
      guard case .integer(let count) = try value(required: document), let count = Int(exactly: count) else {
        throw failure("a date is shifted by an integer")
      }
      return count
    }
    let unit = try required("unit", others) { document in
      guard let unit = DateUnit(rawValue: try text(document, "a unit of dates")) else {
        throw failure("it is no unit of dates")
      }
      return unit
    }
    return try made(.special(.init(form: .shifted(count, unit), terms: [term])))
  }

  // MARK: Full-text search

  private func fullText(
    _ form: TermForm, _ document: Document, _ others: [Document.Member], _ scope: Scope
  ) throws -> SqlExpression {
    let table = try model(text(document, "the name of a model"))
    guard let index = table.fullText else {
      throw failure("the model of table \(table.name) has no full-text search").at(table: table.name)
    }
    func column(_ document: Document) throws -> Column {
      let column = try self.column(text(document, "the name of a column"), of: table)
      _ = try index.position(of: column)
      return column
    }
    func marks(_ count: Int) throws -> [SqlExpression] {
      try required("marks", others) { document in
        let marks = try each(list(document, "the marks of matches")) { try text($0, "a mark") }
        guard marks.count == count, marks.allSatisfy({ !$0.utf8.contains(0) }) else {
          throw failure("it takes \(count) marks without NUL bytes")
        }
        return marks.map { SqlExpression(DatabaseValue.text($0)) }
      }
    }
    func query() throws -> [SqlExpression] {
      try required("for", others) { document in
        let text = try text(document, "a full-text query")
        guard !text.utf8.contains(0) else { throw failure("a full-text query contains a NUL byte") }
        return [SqlExpression(DatabaseValue.text(text))]
      }
    }
    let search: (form: FullTextTerm.Form, terms: [SqlExpression]) =
      switch form {
      case .matches:
        (.matches(alias: try other("of", others) { try text($0, "the name of a table") }), try query())
      case .search: (.search, try query())
      case .weighting: (.weighting, try required("for", others) { try [weights($0, of: index)] })
      case .snippet:
        (
          .snippet(
            try other("text", others, column),
            tokens: try required("tokens", others) { document in
              let tokens = try integer(document, "the number of words")
              guard (1...64).contains(tokens) else { throw failure("a snippet must have 1 to 64 words") }
              return tokens
            }), try marks(3)
        )
      case .highlight: (.highlight(try required("text", others, column)), try marks(2))
      default: (.rank, [])
      }
    return try made(
      .special(.init(form: .fullText(FullTextTerm(form: search.form, table: table)), terms: search.terms)))
  }

  private func weights(_ document: Document, of index: FullTextTable) throws -> SqlExpression {
    let weights = try each(list(document, "the weights of a search")) { document in
      let weight = try text(document, "a weight")
      guard FullTextTable.isWeight(weight) else { throw failure("a weight must be a number like 1.5") }
      return weight
    }
    guard weights.count == index.columns.count else { throw failure("a search has a weight for each of its columns") }
    return SqlExpression(DatabaseValue.text(FullTextTable.ranking(weights)))
  }
}
