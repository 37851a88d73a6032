// Checks of terms for rows in which an outer join finds no match.

extension SelectQuery {
  /// The positions of results that are not read as optionals.
  ///
  /// `==` is always true, because the positions belong to the row type. A query's equality and its document ignore the
  /// row type.
  struct RequiredResults: Sendable, Hashable {
    // A bit set, because a `Set` would be allocated for each query.
    private var first: UInt64 = 0
    private var higherPositions: [Int] = []

    init() {}

    init(_ positions: some Sequence<Int>) {
      for position in positions {
        if position < 64 { first |= 1 << position } else { higherPositions.append(position) }
      }
    }

    func contains(_ position: Int) -> Bool {
      position < 64 ? first & (1 << position) != 0 : higherPositions.contains(position)
    }

    static func == (left: RequiredResults, right: RequiredResults) -> Bool { true }
    func hash(into hasher: inout Hasher) {}
  }
}

extension SelectQuery.Clauses {
  /// Records an error for each result that is NULL if a join finds no match, but whose type is not optional.
  mutating func refuseUnmatchedResults() {
    for (position, result) in results.enumerated() where requiredResults.contains(position) {
      if case .term(let term) = result { refuseUnmatched(term) }
    }
  }

  private mutating func refuseUnmatched(_ term: SqlExpression) {
    let matched = UnmatchedRow(missing: []).outcome(of: term)
    for (index, missing) in unmatchedSources {
      guard UnmatchedRow(missing: missing).outcome(of: term).nulls > matched.nulls,
        let join = joinMissing(index)
      else { continue }
      let source = sources[index]
      let column = term.unqualifiedColumn
      let remedy = "select the \(column == nil ? "term" : "column") as an optional with typed(as:)"
      note(
        .invalidStatement("\(join) may find no row of \(source.name); \(remedy)")
          .at(table: source.table.name, column: column?.name))
    }
  }

  /// The groups of tables that can lack a matching row at the same time, each with the position of its first table.
  private var unmatchedSources: [(Int, [SelectQuery.Source])] {
    let single = sources.indices.filter { joinMissing($0) != nil }.map { ($0, [sources[$0]]) }
    guard single.count > 1 else { return single }
    var several: [(Int, [SelectQuery.Source])] = []
    if let first = sources.firstIndex(where: \.join.keepsEarlier) {
      several.append((first, sources.filter(\.join.keepsEarlier)))
    }
    for index in sources.indices where index > 0 && sources[index].join.keepsJoined {
      several.append((0, Array(sources[..<index])))
    }
    return single + several
  }
}

extension SqlExpression {
  fileprivate var unqualifiedColumn: ColumnReference? {
    switch node {
    case .column(let reference), .qualified(_, let reference): reference
    default: nil
    }
  }
}

/// A row of a join in which all columns of some tables are NULL.
private struct UnmatchedRow {
  let missing: [SelectQuery.Source]

  /// The value of a term, as far as it is known without reading the row.
  enum Outcome: Equatable {
    case null
    case mayBeNull
    /// A value that is not NULL; nil if it is unknown whether the value is true or false.
    case value(Bool?)

    /// The possibility of NULL: 0 for never, 1 for sometimes, 2 for always.
    var nulls: Int {
      switch self {
      case .value: 0
      case .mayBeNull: 1
      case .null: 2
      }
    }

    var isTrue: Bool { self == .value(true) }
    var isFalse: Bool { self == .value(false) }

    var inverted: Outcome { if case .value(let value) = self { .value(value.map { !$0 }) } else { self } }
  }

  func outcome(of term: SqlExpression) -> Outcome {
    switch term.node {
    case .column(let reference): column(reference, nil)
    case .qualified(let alias, let reference): column(reference, alias)
    case .value(let value): constant(value)
    case .all(let terms): conjunction(terms.map(outcome))
    // a OR b equals NOT (NOT a AND NOT b), also for NULL.
    case .any(let terms): conjunction(terms.map { outcome(of: $0).inverted }).inverted
    case .not(let operand): outcome(of: operand).inverted
    case .negative(let operand), .collate(let operand, _): strict([operand])
    case .binary(let term): binary(term.operation, outcome(of: term.left), outcome(of: term.right))
    case .isNull(let operand): isNull(outcome(of: operand))
    case .isNotNull(let operand): isNull(outcome(of: operand)).inverted
    case .between(let operand, let low, let high):
      // If one bound is NULL, the other bound can still determine the result.
      switch (outcome(of: operand), strict([low, high])) {
      case (.null, _): .null
      case (.value, .value): .value(nil)
      default: .mayBeNull
      }
    case .isIn(let operand, let values): values.isEmpty ? .value(false) : strict([operand])
    case .like(let operand, let pattern, _): strict([operand, pattern])
    case .call(let call): self.call(call)
    case .special(let special): self.special(special)
    case .query(let query): query.term.map { outcome(of: $0).nulls > 0 } == true ? .mayBeNull : .value(nil)
    // A parameter might be NULL, but its Swift type is unknown here. Assume a value that is not NULL.
    case .parameter, .invalid: .value(nil)
    }
  }

  private func column(_ reference: ColumnReference, _ alias: String?) -> Outcome {
    let isMissing = missing.contains { $0.alias.isExactly(alias) && $0.table.position(of: reference) != nil }
    if isMissing { return .null }
    return reference.definition?.type.isNullable == true ? .mayBeNull : .value(nil)
  }

  private func constant(_ value: DatabaseValue) -> Outcome {
    switch value {
    case .null: .null
    case .integer(let number): .value(number != 0)
    case .real(let number): .value(number != 0)
    default: .value(nil)
    }
  }

  /// Returns the outcome of an operation that is NULL if any operand is NULL.
  private func strict(_ terms: [SqlExpression]) -> Outcome {
    terms.map(outcome).max { $0.nulls < $1.nulls }.map { $0.nulls == 0 ? .value(nil) : $0 } ?? .value(nil)
  }

  private func conjunction(_ operands: [Outcome]) -> Outcome {
    if operands.contains(where: \.isFalse) { return .value(false) }
    if operands.allSatisfy(\.isTrue) { return .value(true) }
    guard operands.contains(where: { $0.nulls > 0 }) else { return .value(nil) }
    return operands.allSatisfy { $0 == .null || $0.isTrue } ? .null : .mayBeNull
  }

  private func isNull(_ operand: Outcome) -> Outcome {
    switch operand {
    case .null: .value(true)
    case .mayBeNull: .value(nil)
    case .value: .value(false)
    }
  }

  private func binary(_ operation: SqlExpression.BinaryOperator, _ left: Outcome, _ right: Outcome) -> Outcome {
    guard operation == .isSame || operation == .isNotSame else {
      let more = left.nulls > right.nulls ? left : right
      return more.nulls == 0 ? .value(nil) : more
    }
    let same: Outcome =
      switch (left, right) {
      case (.null, .null): .value(true)
      case (.null, .value), (.value, .null): .value(false)
      default: .value(nil)
      }
    return operation == .isSame ? same : same.inverted
  }

  private func call(_ call: SqlExpression.Call) -> Outcome {
    guard let nulls = call.facts?.nulls, let first = call.arguments.first else { return .value(nil) }
    switch nulls {
    case .never: return .value(nil)
    case .withAny: return strict(call.arguments)
    case .withAll:
      let values = call.arguments.map(outcome)
      if values.contains(where: { $0.nulls == 0 }) { return .value(nil) }
      return values.allSatisfy { $0 == .null } ? .null : .mayBeNull
    case .withFirst: return strict([first])
    case .withFirstOrOtherwise: return outcome(of: first) == .null ? .null : .mayBeNull
    case .perhapsWithFirst: return outcome(of: first).nulls == 0 ? .value(nil) : .mayBeNull
    }
  }

  private func special(_ special: SqlExpression.SyntaxTerm) -> Outcome {
    switch special.form {
    case .choice: choice(special.terms)
    case .cast, .inverted, .datePart, .dateFormat, .day, .shifted, .shiftedBy, .startOf, .unixSeconds:
      strict(special.terms)
    case .row, .fullText, .fragment: .value(nil)
    }
  }

  private func choice(_ terms: [SqlExpression]) -> Outcome {
    var results: [Outcome] = []
    var index = 0
    while index < terms.count {
      let isElse = index == terms.count - 1
      let condition = isElse ? .value(true) : outcome(of: terms[index])
      if condition != .null, !condition.isFalse { results.append(outcome(of: terms[isElse ? index : index + 1])) }
      if condition.isTrue { break }
      index += 2
    }
    // Without a true condition and without ELSE, the result is NULL.
    if index >= terms.count { results.append(.null) }
    if results.allSatisfy({ $0 == .null }) { return .null }
    return results.contains { $0.nulls > 0 } ? .mayBeNull : .value(nil)
  }
}
