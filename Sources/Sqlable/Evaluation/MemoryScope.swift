/// The current row of each table of a query, while its terms are evaluated.
final class MemoryFrame {
  /// By the position of the table in the query.
  var rows: [[MemoryValue]]
  /// The results of the group's aggregates.
  var aggregates: [MemoryValue] = []
  /// The rows of the enclosing query.
  let outer: MemoryFrame?

  init(rows: [[MemoryValue]] = [], outer: MemoryFrame?) {
    self.rows = rows
    self.outer = outer
  }
}

/// A term that is ready to be evaluated.
struct MemoryTerm {
  var affinity = MemoryAffinity.none
  /// The collation that the term brings to a comparison.
  var collation: MemoryCollation?
  /// Whether COLLATE names it, here or in a term that this one is made of.
  var isCollated = false
  /// The column that the term is, if that is one of its own query.
  var place: MemoryPlace?
  let value: (MemoryFrame) throws -> MemoryValue

  init(_ value: @escaping (MemoryFrame) throws -> MemoryValue) { self.value = value }

  /// A term made of others, which passes on the first collation that one of them names.
  init(of terms: [MemoryTerm], _ value: @escaping (MemoryFrame) throws -> MemoryValue) {
    self.value = value
    guard let collated = terms.first(where: \.isCollated) else { return }
    (collation, isCollated) = (collated.collation, true)
  }

  /// The collation of a comparison of two terms.
  static func collation(comparing left: MemoryTerm, _ right: MemoryTerm) -> MemoryCollation {
    if !left.isCollated, right.isCollated { return right.collation ?? .binary }
    return left.collation ?? right.collation ?? .binary
  }
}

/// A column by the positions of its table in the query and of its own in the table.
struct MemoryPlace: Equatable {
  let source: Int
  let column: Int
}

/// How the values of a table's or a query's column are compared.
struct MemoryColumn {
  let affinity: MemoryAffinity
  let collation: MemoryCollation?
  /// Whether COLLATE names the collation.
  var isCollated = false
}

/// A table of a query that is ready to be evaluated.
struct MemorySource {
  let source: SelectQuery.Source
  let columns: [MemoryColumn]
  var condition: MemoryTerm?
  /// The rows, given those of the enclosing query.
  let rows: (MemoryFrame?) throws -> [[MemoryValue]]

  var nulls: [MemoryValue] { Array(repeating: .null, count: columns.count) }
}

/// The tables whose columns a term may use, and what its query needs besides them.
final class MemoryScope {
  let outer: MemoryScope?
  var sources: [MemorySource] = []
  var aggregates: [MemoryAggregate] = []
  /// Whether a term may have aggregates: in a result, HAVING or the order.
  var takesAggregates = false
  /// The last of its tables that a term uses.
  var lastUsed = -1
  /// Whether it uses a column of an enclosing query.
  var isCorrelated = false

  init(outer: MemoryScope?) { self.outer = outer }

  /// Finds a column as the SQL names it: see ``Scope``, which has checked that it is there and not hidden.
  func column(_ reference: ColumnReference, ofAlias alias: String? = nil) throws -> MemoryTerm {
    guard let (depth, place) = alias.map({ find(reference, ofAlias: $0) }) ?? find(reference) else {
      throw SqlError(
        .schema(.missingColumn(reference.name)), message: "column \(reference.name) is in no table of the query",
        column: reference.name)
    }
    var scope = self
    for _ in 0..<depth {
      scope.isCorrelated = true
      scope = scope.outer ?? scope
    }
    scope.lastUsed = max(scope.lastUsed, place.source)
    let column = scope.sources[place.source].columns[place.column]
    var term = MemoryTerm { frame in
      var frame = frame
      for _ in 0..<depth { frame = frame.outer ?? frame }
      return frame.rows[place.source][place.column]
    }
    term.affinity = column.affinity
    term.collation = column.collation ?? .binary
    term.place = depth == 0 ? place : nil
    return term
  }

  private typealias Found = (depth: Int, place: MemoryPlace)

  private func find(_ reference: ColumnReference, ofAlias alias: String) -> Found? {
    find { source in
      source.alias?.isExactly(alias) == true ? source.table.position(of: reference) : nil
    }
  }

  private func find(_ reference: ColumnReference) -> Found? {
    let definition = reference.definition
    // In the order of `Scope`: the same declaration before an equal one, a table without an alias before one with it.
    for isSame in [true, false] {
      for isAliased in [false, true] {
        let found = find { source in
          guard (source.alias != nil) == isAliased else { return nil }
          return isSame
            ? source.table.columns.firstIndex { $0.definition === definition } : source.table.position(of: reference)
        }
        if let found { return found }
      }
    }
    return nil
  }

  private func find(_ position: (SelectQuery.Source) -> Int?) -> Found? {
    var (scope, depth): (MemoryScope?, Int) = (self, 0)
    while let current = scope {
      for (index, source) in current.sources.enumerated() {
        if let column = position(source.source) { return (depth, MemoryPlace(source: index, column: column)) }
      }
      (scope, depth) = (current.outer, depth + 1)
    }
    return nil
  }
}
