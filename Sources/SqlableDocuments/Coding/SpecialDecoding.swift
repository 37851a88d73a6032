import SqlableCore

extension DocumentDecoder {
  func choice(_ document: Document, _ otherMembers: [Document.Member], _ scope: Scope) throws -> SqlExpression {
    var terms = try each(list(document, "the branches of CASE")) { try self.terms(2, $0, scope) }.flatMap(\.self)
    guard !terms.isEmpty else { throw failure("a CASE needs a branch") }
    if let last = try optional("else", otherMembers, { try term($0, scope) }) { terms.append(last) }
    return try checkedTerm(.special(.init(form: .choice, terms: terms)))
  }

  func cast(_ document: Document, _ otherMembers: [Document.Member], _ scope: Scope) throws -> SqlExpression {
    let term = try term(document, scope)
    let type = try required("as", otherMembers) { document in
      switch try text(document, "the type of a cast") {
      case "integer": StorageClass.integer
      case "real": StorageClass.real
      case "text": StorageClass.text
      case "blob": StorageClass.blob
      default: throw failure("a cast must be to integer, real, text or blob")
      }
    }
    return try checkedTerm(.special(.init(form: .cast(type), terms: [term])))
  }

  func datePart(_ document: Document, _ otherMembers: [Document.Member], _ scope: Scope) throws -> SqlExpression {
    let term = try term(document, scope)
    let part = try required("part", otherMembers) { document in
      guard let part = DatePart(rawValue: try text(document, "the part of a date")) else {
        throw failure("unknown part of a date")
      }
      return part
    }
    return try checkedTerm(.special(.init(form: .datePart(part), terms: [term])))
  }

  func strftime(_ document: Document, _ scope: Scope) throws -> SqlExpression {
    let terms = try terms(2, document, scope)
    guard case .value(.text) = terms[1].node else { throw failure("the format of a date must be text") }
    return try checkedTerm(.special(.init(form: .dateFormat, terms: terms)))
  }

  func shift(_ document: Document, _ otherMembers: [Document.Member], _ scope: Scope) throws -> SqlExpression {
    let date = try term(document, scope)
    let count = try required("by", otherMembers) { try term($0, scope) }
    let unit = try unit(otherMembers)
    guard case .value(let value) = count.node else {
      return try checkedTerm(.special(.init(form: .shiftedBy(unit), terms: [date, count])))
    }
    guard case .integer(let count) = value, let count = Int(exactly: count) else {
      throw failure("the amount of a date's shift must be an integer or a term")
    }
    return try checkedTerm(.special(.init(form: .shifted(count, unit), terms: [date])))
  }

  func startOf(_ document: Document, _ otherMembers: [Document.Member], _ scope: Scope) throws -> SqlExpression {
    let date = try term(document, scope)
    return try checkedTerm(.special(.init(form: .startOf(try unit(otherMembers)), terms: [date])))
  }

  private func unit(_ otherMembers: [Document.Member]) throws -> DateUnit {
    try required("unit", otherMembers) { document in
      guard let unit = DateUnit(rawValue: try text(document, "a unit of dates")) else {
        throw failure("unknown unit of dates")
      }
      return unit
    }
  }

  // MARK: Full-text search

  func fullText(
    _ form: TermForm, _ document: Document, _ otherMembers: [Document.Member], _ scope: Scope
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
      try required("marks", otherMembers) { document in
        let marks = try each(list(document, "the marks of matches")) { try text($0, "a mark") }
        guard marks.count == count, marks.allSatisfy({ !$0.utf8.contains(0) }) else {
          throw failure("the marks of \(form.rawValue) must be a list of \(count) texts without NUL bytes")
        }
        return marks.map { SqlExpression(DatabaseValue.text($0)) }
      }
    }
    func query() throws -> [SqlExpression] {
      try required("for", otherMembers) { document in
        let text = try text(document, "a full-text query")
        guard !text.utf8.contains(0) else { throw failure("a full-text query contains a NUL byte") }
        return [SqlExpression(DatabaseValue.text(text))]
      }
    }
    let search: (form: FullTextTerm.Form, terms: [SqlExpression]) =
      switch form {
      case .matches:
        (.matches(alias: try optional("of", otherMembers) { try name($0, "the name of a table") }), try query())
      case .search: (.search, try query())
      case .weighting: (.weighting, try required("for", otherMembers) { try [weights($0, of: index)] })
      case .snippet:
        (
          .snippet(
            try optional("text", otherMembers, column),
            tokens: try required("tokens", otherMembers) { document in
              let tokens = try integer(document, "the number of words")
              guard (1...64).contains(tokens) else { throw failure("a snippet must have 1 to 64 words") }
              return tokens
            }), try marks(3)
        )
      case .highlight: (.highlight(try required("text", otherMembers, column)), try marks(2))
      default: (.rank, [])
      }
    return try checkedTerm(
      .special(.init(form: .fullText(FullTextTerm(form: search.form, table: table)), terms: search.terms)))
  }

  private func weights(_ document: Document, of index: FullTextTable) throws -> SqlExpression {
    let weights = try each(list(document, "the weights of a search")) { document in
      let weight = try text(document, "a weight")
      guard FullTextTable.isWeight(weight) else { throw failure("a weight must be a number like 1.5") }
      return weight
    }
    guard weights.count == index.columns.count else { throw failure("a search needs a weight for each of its columns") }
    return SqlExpression(DatabaseValue.text(FullTextTable.ranking(weights)))
  }
}
