// Encoding of terms. `QueryEncoding.swift` encodes the clauses of queries.

import FoundationEssentials
import SqlableCore
import SqlableQueries

package struct DocumentEncoder {
  /// The largest integer that every JSON implementation decodes exactly.
  static let maximumInteger: UInt64 = 9_007_199_254_740_991

  package init() {}

  @inline(never)
  package func value(_ value: DatabaseValue) -> Document {
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

  @inline(never)
  package func term(_ term: SqlExpression, _ scope: Scope) throws -> Document {
    switch term.node {
    case .column, .qualified, .value, .parameter, .invalid: try leaf(term, scope)
    case .all, .any: try chain(term, scope)
    case .not, .negative, .isNull, .isNotNull: try unary(term, scope)
    case .binary: try binary(term, scope)
    case .between: try between(term, scope)
    case .isIn: try isIn(term, scope)
    case .like: try like(term, scope)
    case .collate: try collate(term, scope)
    case .call: try call(term, scope)
    case .special: try special(term, scope)
    case .query: try subquery(term, scope)
    }
  }

  @inline(never)
  private func leaf(_ term: SqlExpression, _ scope: Scope) throws -> Document {
    switch term.node {
    case .column(let reference): return try column(reference, scope)
    case .qualified(let alias, let reference): return ["column": .text(reference.name), "of": .text(alias)]
    case .value(let value): return self.value(value)
    case .parameter(let name): return ["parameter": .text(name)]
    case .invalid(let term): throw term.error
    default: throw DocumentEncoder.withoutForm
    }
  }

  @inline(never)
  private func chain(_ term: SqlExpression, _ scope: Scope) throws -> Document {
    switch term.node {
    case .all(let terms): return object("and", try list(Array(terms), scope))
    case .any(let terms): return object("or", try list(Array(terms), scope))
    default: throw DocumentEncoder.withoutForm
    }
  }

  @inline(never)
  private func unary(_ term: SqlExpression, _ scope: Scope) throws -> Document {
    switch term.node {
    case .not(let operand): return object("not", try self.term(operand, scope))
    case .negative(let operand): return object("negative", try self.term(operand, scope))
    case .isNull(let operand): return object("isNull", try self.term(operand, scope))
    case .isNotNull(let operand): return object("isNotNull", try self.term(operand, scope))
    default: throw DocumentEncoder.withoutForm
    }
  }

  private func binary(_ term: SqlExpression, _ scope: Scope) throws -> Document {
    guard case .binary(let binary) = term.node else { throw DocumentEncoder.withoutForm }
    let first = try self.term(binary.left, scope)
    let second = binary.operation.takesConstant ? try path(binary.right) : try self.term(binary.right, scope)
    return object(binary.operation.rawValue, .list([first, second]))
  }

  @inline(never)
  private func between(_ term: SqlExpression, _ scope: Scope) throws -> Document {
    guard case .between(let operand, let low, let high) = term.node else { throw DocumentEncoder.withoutForm }
    return object("between", try list([operand, low, high], scope))
  }

  private func isIn(_ term: SqlExpression, _ scope: Scope) throws -> Document {
    guard case .isIn(let operand, let values) = term.node else { throw DocumentEncoder.withoutForm }
    return object("in", .list([try self.term(operand, scope), .list(values.map(value))]))
  }

  private func like(_ term: SqlExpression, _ scope: Scope) throws -> Document {
    guard case .like(let operand, let pattern, let escape) = term.node else { throw DocumentEncoder.withoutForm }
    let operands = try list([operand, pattern], scope)
    return escape.isEmpty ? object("like", operands) : ["like": operands, "escape": .text(escape)]
  }

  @inline(never)
  private func collate(_ term: SqlExpression, _ scope: Scope) throws -> Document {
    guard case .collate(let operand, let collation) = term.node else { throw DocumentEncoder.withoutForm }
    let document = try self.term(operand, scope)
    return ["collate": document, "as": .text(collation.rawValue)]
  }

  static var withoutForm: SqlError { .invalidStatement("the term can't be encoded as JSON") }

  @inline(never)
  private func object(_ key: String, _ value: Document) -> Document {
    .object([Document.Member(key: key, value: value)])
  }

  @inline(never)
  func list(_ terms: [SqlExpression], _ scope: Scope) throws -> Document {
    .list(try terms.map { try term($0, scope) })
  }

  private func column(_ reference: ColumnReference, _ scope: Scope) throws -> Document {
    guard !scope.isFree else { return ["column": .text(reference.name)] }
    let resolved = try scope.find(reference)
    guard let qualifier = resolved.qualifier else { return ["column": .text(resolved.column.name)] }
    guard let table = resolved.aliasedTable else {
      return ["column": .text(resolved.column.name), "of": .text(qualifier)]
    }
    return ["column": .text(resolved.column.name), "model": .text(table.modelName)]
  }

  func path(_ term: SqlExpression) throws -> Document {
    guard case .value(.text(let path)) = term.node, let steps = JSONStep.steps(ofPath: path) else {
      throw SqlError.invalidStatement("the JSON path can't be encoded")
    }
    return .list(
      steps.map { step in
        switch step {
        case .key(let key): .text(key)
        case .position(let position): .integer(Int64(position))
        case .end: .null
        }
      })
  }

  private func call(_ term: SqlExpression, _ scope: Scope) throws -> Document {
    guard case .call(let call) = term.node else { throw DocumentEncoder.withoutForm }
    var members = Members()
    switch call.function {
    case .countRows: members.add("function", .text("countRows"))
    case .builtIn(let function): members.add("function", .text(function.rawValue))
    case .named(let name): members.add("registered", .text(name))
    }
    let arguments = try call.arguments.enumerated().map { index, argument in
      call.takesPath(index) ? try path(argument) : try self.term(argument, scope)
    }
    if !arguments.isEmpty { members.add("arguments", .list(arguments)) }
    if call.isDistinct { members.add("distinct", .bool(true)) }
    if !call.order.isEmpty { members.add("orderBy", try order(call.order, scope)) }
    members.add("filter", try call.filter.map { try self.term($0, scope) })
    members.add("over", try call.window.map { try self.window($0, scope) })
    return members.document
  }

  private func window(_ window: SqlExpression.WindowClause, _ scope: Scope) throws -> Document {
    var members = Members()
    if !window.partition.isEmpty { members.add("partitionBy", try list(window.partition, scope)) }
    if !window.order.isEmpty { members.add("orderBy", try order(window.order, scope)) }
    if let frame = window.frame {
      var bounds = Members()
      bounds.add(frame.unit.rawValue, .list([bound(frame.start), bound(frame.end)]))
      if frame.exclusion != .noOthers { bounds.add("exclude", .text(frame.exclusion.rawValue)) }
      members.add("frame", bounds.document)
    }
    return members.document
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

  @inline(never)
  func order(_ terms: [OrderTerm], _ scope: Scope) throws -> Document {
    .list(try terms.map { [$0.direction.rawValue: try term($0.expression, scope)] })
  }

  // MARK: Terms with their own syntax

  private func special(_ term: SqlExpression, _ scope: Scope) throws -> Document {
    guard case .special(let special) = term.node else { throw DocumentEncoder.withoutForm }
    switch special.form {
    case .choice: return try choice(special.terms, scope)
    case .dateFormat: return object("strftime", try list(special.terms, scope))
    case .row: return object("row", try list(special.terms, scope))
    case .shiftedBy(let unit):
      let terms = try special.terms.map { try self.term($0, scope) }
      guard terms.count == 2 else { throw DocumentEncoder.withoutForm }
      return ["shift": terms[0], "by": terms[1], "unit": .text(unit.rawValue)]
    case .fullText(let search): return try fullText(search, special.terms, scope)
    case .fragment:
      throw SqlError.invalidStatement("a term of SQL text can't be encoded: a document can't contain SQL")
    case .cast, .inverted, .datePart, .day, .shifted, .startOf, .unixSeconds:
      guard let operand = special.terms.first else { throw DocumentEncoder.withoutForm }
      return self.special(special.form, try self.term(operand, scope))
    }
  }

  @inline(never)
  private func choice(_ terms: [SqlExpression], _ scope: Scope) throws -> Document {
    let pairs = try stride(from: 0, to: terms.count - 1, by: 2).map { try list([terms[$0], terms[$0 + 1]], scope) }
    guard let last = terms.last, !terms.count.isMultiple(of: 2) else { return object("case", .list(pairs)) }
    let otherwise = try term(last, scope)
    return ["case": .list(pairs), "else": otherwise]
  }

  private func special(_ form: SqlExpression.SyntaxTerm.Form, _ operand: Document) -> Document {
    switch form {
    case .cast(let type): ["cast": operand, "as": .text(type.description.lowercased())]
    case .datePart(let part): ["datePart": operand, "part": .text(part.rawValue)]
    case .day: ["date": operand]
    case .shifted(let count, let unit):
      ["shift": operand, "by": value(.integer(Int64(count))), "unit": .text(unit.rawValue)]
    case .startOf(let unit): ["startOf": operand, "unit": .text(unit.rawValue)]
    case .unixSeconds: ["unixSeconds": operand]
    case .inverted, .choice, .dateFormat, .shiftedBy, .row, .fullText, .fragment: ["inverted": operand]
    }
  }

  private func fullText(_ search: FullTextTerm, _ terms: [SqlExpression], _ scope: Scope) throws -> Document {
    let model = Document.text(search.table.modelName)
    switch search.form {
    case .matches(let alias):
      var members = Members()
      members.add("matches", model)
      members.add("for", try term(terms[0], scope))
      members.add("of", alias.map { .text($0) })
      return members.document
    case .search: return ["search": model, "for": try term(terms[0], scope)]
    case .weighting: return ["weighting": model, "for": try weights(terms[0])]
    case .rank: return ["rank": model]
    case .snippet(let column, let tokens):
      var members = Members()
      members.add("snippet", model)
      members.add("marks", try list(terms, scope))
      members.add("tokens", .integer(Int64(tokens)))
      members.add("text", column.map { .text($0.name) })
      return members.document
    case .highlight(let column):
      return ["highlight": model, "text": .text(column.name), "marks": try list(terms, scope)]
    }
  }

  private func weights(_ term: SqlExpression) throws -> Document {
    guard case .value(.text(let text)) = term.node, let weights = FullTextTable.weights(in: text) else {
      throw SqlError.invalidStatement("the weights of a search can't be encoded")
    }
    return .list(weights.map { .text($0) })
  }

  private func subquery(_ term: SqlExpression, _ scope: Scope) throws -> Document {
    guard case .query(let subquery) = term.node else { throw DocumentEncoder.withoutForm }
    let query = try self.query(subquery.query, outer: scope)
    switch subquery.kind {
    case .scalar: return object("query", query)
    case .exists: return object("exists", query)
    case .count: return object("count", query)
    case .isIn:
      guard let operand = subquery.term else { throw DocumentEncoder.withoutForm }
      return object("in", .list([try self.term(operand, scope), query]))
    }
  }
}
