// Terms as documents. The clauses of queries are in `QueryEncoding.swift`.

import FoundationEssentials

/// Writes statements as documents.
struct DocumentEncoder {
  /// The largest integer that every JSON implementation reads exactly.
  static let maximumInteger: UInt64 = 9_007_199_254_740_991

  func value(_ value: DatabaseValue) -> Document {
    switch value {
    case .null: ["null": .bool(true)]
    case .integer(let integer) where integer.magnitude <= DocumentEncoder.maximumInteger: .integer(integer)
    case .integer(let integer): ["integer": .text(String(integer))]
    case .real(let real) where !real.isFinite: ["real": .text(real < 0 ? "-inf" : "inf")]
    // Canonical JSON has no negative zero.
    case .real(let real) where real == 0 && real.sign == .minus: ["real": .text("-0")]
    case .real(let real): ["real": .number(real)]
    case .text(let text): .text(text)
    case .blob(let data): ["blob": .text(data.base64EncodedString())]
    }
  }

  /// Writes a term of a query with these tables.
  func term(_ term: SqlExpression, _ scope: Scope) throws -> Document {
    // Each form has its own function: all their temporaries in one frame would use too much stack per level.
    switch term.node {
    case .column(let reference): return try column(reference, scope)
    case .qualified(let alias, let reference): return try column(reference, ofAlias: alias, scope)
    case .value(let value): return self.value(value)
    case .parameter(let name): return ["parameter": .text(name)]
    case .all(let terms): return ["and": try list(terms, scope)]
    case .any(let terms): return ["or": try list(terms, scope)]
    case .not(let operand): return ["not": try self.term(operand, scope)]
    case .negative(let operand): return ["negative": try self.term(operand, scope)]
    case .isNull(let operand): return ["isNull": try self.term(operand, scope)]
    case .isNotNull(let operand): return ["isNotNull": try self.term(operand, scope)]
    case .binary(let operation, let left, let right): return try binary(operation, left, right, scope)
    case .between(let operand, let low, let high): return ["between": try list([operand, low, high], scope)]
    case .isIn(let operand, let values):
      return ["in": .list([try self.term(operand, scope), .list(values.map(value))])]
    case .like(let operand, let pattern, let escape): return try like(operand, pattern, escape, scope)
    case .collate(let operand, let collation):
      return ["collate": try self.term(operand, scope), "as": .text(collation.rawValue)]
    case .call(let call): return try self.call(call, scope)
    case .special(let special): return try self.special(special, scope)
    case .query(let query): return try subquery(query, scope)
    case .invalid(let term): throw term.error
    }
  }

  func list(_ terms: [SqlExpression], _ scope: Scope) throws -> Document {
    .list(try terms.map { try term($0, scope) })
  }

  private func column(_ reference: ColumnReference, _ scope: Scope) throws -> Document {
    guard !scope.isFree else { return ["column": .text(reference.name)] }
    let found = try scope.find(reference)
    guard let qualifier = found.qualifier else { return ["column": .text(found.column.name)] }
    guard let table = found.aliasedTable else { return ["column": .text(found.column.name), "of": .text(qualifier)] }
    return ["column": .text(found.column.name), "model": .text(table.modelName)]
  }

  private func column(_ reference: ColumnReference, ofAlias alias: String, _ scope: Scope) throws -> Document {
    ["column": .text(reference.name), "of": .text(alias)]
  }

  private func binary(
    _ operation: SqlExpression.BinaryOperator, _ left: SqlExpression, _ right: SqlExpression, _ scope: Scope
  ) throws -> Document {
    let second = operation.takesConstant ? try path(right, scope) : try term(right, scope)
    return [operation.rawValue: .list([try term(left, scope), second])]
  }

  private func like(
    _ operand: SqlExpression, _ pattern: SqlExpression, _ escape: String, _ scope: Scope
  ) throws -> Document {
    let operands = try list([operand, pattern], scope)
    return escape.isEmpty ? ["like": operands] : ["like": operands, "escape": .text(escape)]
  }

  /// A path within JSON, as a list of keys and positions.
  func path(_ term: SqlExpression, _ scope: Scope) throws -> Document {
    guard case .value(.text(let path)) = term.node, let steps = JSONStep.steps(ofPath: path) else {
      throw SqlError.invalidStatement("a path within JSON has no form as data")
    }
    return .list(
      steps.map { step in
        switch step {
        case .key(let key): .text(key)
        case .position(let position): .integer(Int64(position))
        }
      })
  }

  private func call(_ call: SqlExpression.Call, _ scope: Scope) throws -> Document {
    var members: [Document.Member] = []
    func add(_ key: String, _ value: Document) { members.append(Document.Member(key: key, value: value)) }
    switch call.function {
    case .countRows: add("function", .text("countRows"))
    case .builtIn(let function): add("function", .text(function.rawValue))
    case .named(let name): add("registered", .text(name))
    }
    let arguments = try call.arguments.enumerated().map { index, argument in
      call.takesPath(index) ? try path(argument, scope) : try term(argument, scope)
    }
    if !arguments.isEmpty { add("arguments", .list(arguments)) }
    if call.isDistinct { add("distinct", .bool(true)) }
    if let filter = call.filter { add("filter", try term(filter, scope)) }
    if let window = call.window { add("over", try self.window(window, scope)) }
    return .object(members)
  }

  private func window(_ window: SqlExpression.WindowClause, _ scope: Scope) throws -> Document {
    var members: [Document.Member] = []
    func add(_ key: String, _ value: Document) { members.append(Document.Member(key: key, value: value)) }
    if !window.partition.isEmpty { add("partitionBy", try list(window.partition, scope)) }
    if !window.order.isEmpty { add("orderBy", try order(window.order, scope)) }
    if let frame = window.frame {
      add("frame", [frame.unit.documentName: .list([bound(frame.start), bound(frame.end)])])
    }
    return .object(members)
  }

  private func bound(_ bound: WindowFrame.Bound) -> Document {
    switch bound {
    case .unboundedPreceding: .text("unboundedPreceding")
    case .currentRow: .text("currentRow")
    case .unboundedFollowing: .text("unboundedFollowing")
    case .preceding(let count): ["preceding": .integer(Int64(count))]
    case .following(let count): ["following": .integer(Int64(count))]
    }
  }

  func order(_ terms: [OrderTerm], _ scope: Scope) throws -> Document {
    .list(try terms.map { [$0.direction.rawValue: try term($0.expression, scope)] })
  }

  // MARK: Terms with their own syntax

  private func special(_ special: SqlExpression.SpecialForm, _ scope: Scope) throws -> Document {
    let terms = special.terms
    switch special.form {
    case .choice:
      let pairs = try stride(from: 0, to: terms.count - 1, by: 2).map { try list([terms[$0], terms[$0 + 1]], scope) }
      guard let last = terms.last, !terms.count.isMultiple(of: 2) else { return ["case": .list(pairs)] }
      return ["case": .list(pairs), "else": try term(last, scope)]
    case .cast(let type): return ["cast": try term(terms[0], scope), "as": .text(type.description.lowercased())]
    case .inverted: return ["inverted": try term(terms[0], scope)]
    case .datePart(let letter):
      let part = DatePart(letter: letter)?.rawValue ?? String(letter)
      return ["datePart": try term(terms[0], scope), "part": .text(part)]
    case .dateFormat: return ["strftime": try list(terms, scope)]
    case .day: return ["date": try term(terms[0], scope)]
    case .shifted(let count, let unit):
      return ["shift": try term(terms[0], scope), "by": value(.integer(Int64(count))), "unit": .text(unit.rawValue)]
    case .fullText(let search): return try fullText(search, terms, scope)
    }
  }

  private func fullText(_ search: FullTextTerm, _ terms: [SqlExpression], _ scope: Scope) throws -> Document {
    let model = Document.text(search.table.modelName)
    switch search.form {
    case .matches(let alias):
      let condition: Document = ["matches": model, "for": try term(terms[0], scope)]
      guard let alias, case .object(let members) = condition else { return condition }
      return .object(members + [Document.Member(key: "of", value: .text(alias))])
    case .search: return ["search": model, "for": try term(terms[0], scope)]
    case .weighting: return ["weighting": model, "for": try weights(terms[0])]
    case .rank: return ["rank": model]
    case .snippet(let column, let tokens):
      var members: [Document.Member] = [
        .init(key: "snippet", value: model), .init(key: "marks", value: try list(terms, scope)),
        .init(key: "tokens", value: .integer(Int64(tokens))),
      ]
      if let column { members.append(.init(key: "text", value: .text(column.name))) }
      return .object(members)
    case .highlight(let column):
      return ["highlight": model, "text": .text(column.name), "marks": try list(terms, scope)]
    }
  }

  private func weights(_ term: SqlExpression) throws -> Document {
    guard case .value(.text(let text)) = term.node, let weights = FullTextTable.weights(in: text) else {
      throw SqlError.invalidStatement("the weights of a search have no form as data")
    }
    return .list(weights.map { .text($0) })
  }

  private func subquery(_ term: SqlExpression.QueryTerm, _ scope: Scope) throws -> Document {
    let query = try self.query(term.query, outer: scope)
    switch term.kind {
    case .scalar: return ["query": query]
    case .exists: return ["exists": query]
    case .isIn:
      guard let operand = term.term else { throw SqlError.invalidStatement("a condition lacks its left side") }
      return ["in": .list([try self.term(operand, scope), query])]
    }
  }
}

extension SqlExpression.Call {
  /// Whether the argument at this index is a path within JSON.
  func takesPath(_ index: Int) -> Bool {
    guard index > 0, case .builtIn(let function) = self.function else { return false }
    return switch function {
    case .jsonExtract, .jsonArrayLength, .jsonType, .jsonEach, .jsonTree: true
    default: false
    }
  }
}

extension WindowFrame.Unit {
  var documentName: String {
    switch self {
    case .rows: "rows"
    case .range: "range"
    case .groups: "groups"
    }
  }
}
