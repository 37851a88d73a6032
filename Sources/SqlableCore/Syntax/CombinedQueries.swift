// Queries that are combined by UNION, INTERSECT or EXCEPT.

extension SelectQuery {
  /// Records an error if the query is combined, because the modifier would apply only to the first part.
  package mutating func refuseIfCombined(_ modifier: String) {
    if !isPlain, !clauses.compounds.isEmpty { clauses.refuse(modifier) }
  }

  /// The query as a part of a combined query. If combined queries are nested too deeply, this query's own parts are
  /// discarded, and running the result throws. The depth is limited because trees are walked by recursion.
  var asPart: SelectQuery {
    guard clauses.isNested, clauses.size.depth >= SqlExpression.maximumDepth else { return self }
    var query = self
    query.clauses.compounds = []
    let message = "combined queries are nested more than \(SqlExpression.maximumDepth) deep"
    // Modify `clauses` in place: Swift 6.3.1 reads freed memory if the error is copied out of `clauses`.
    query.clauses.note(.invalidStatement(message))
    return query
  }

  /// Combines the query with another query. The parts of `other` are combined first, as in `a UNION (b EXCEPT c)`.
  mutating func combine(_ operation: Compound.Operator, with other: SelectQuery) {
    guard other.clauses.continues(operation) else {
      return clauses.compounds.append(Compound(operation: operation, query: other.asPart))
    }
    // a UNION (b UNION c) equals a UNION b UNION c. As separate parts, b and c can each be a step of a recursion.
    var first = other
    first.clauses.compounds = []
    clauses.compounds.append(Compound(operation: operation, query: first))
    clauses.compounds += other.clauses.compounds
  }
}
