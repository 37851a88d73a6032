import SqlableCore

/// The order of a page: the columns in ORDER BY of a statement with a limit, and how these columns compare.
struct PageOrder: Sendable {
  struct Term: Sendable {
    /// The column's position in the result.
    let resultPosition: Int
    /// The column's position in the table.
    let position: Int
    let collation: Collation
    let direction: OrderTerm.Direction
  }

  enum Collation: Sendable {
    case binary, nocase, rtrim

    init?(_ name: String) {
      if name.isSameName(as: "BINARY") {
        self = .binary
      } else if name.isSameName(as: "NOCASE") {
        self = .nocase
      } else if name.isSameName(as: "RTRIM") {
        self = .rtrim
      } else {
        return nil
      }
    }
  }

  let limit: Int
  let terms: [Term]
  /// The names of the table's columns, in the table's order.
  let columns: [String]

  /// Creates a statement's order. Nil unless the statement has a limit and is ordered by columns with built-in
  /// collations.
  init?(_ query: SelectQuery, _ columns: [ComparedColumn]) {
    let (table, order) = (query.table, query.clauses.order)
    guard query.form == .rows, !order.isEmpty, table.fullText == nil, let limit = query.limit, limit > 0 else {
      return nil
    }
    var terms: [Term] = []
    for term in order {
      var (column, named): (ColumnReference?, String?)
      switch term.expression.node {
      case .column(let reference): column = reference
      case .collate(let operand, let collation):
        if case .column(let reference) = operand.node { (column, named) = (reference, collation.rawValue) }
      default: break
      }
      guard let column, let resultPosition = table.position(of: column),
        let position = columns.firstIndex(where: { $0.name.isSameName(as: column.name) }),
        let collation = Collation(named ?? columns[position].collation)
      else { return nil }
      terms.append(
        Term(resultPosition: resultPosition, position: position, collation: collation, direction: term.direction))
    }
    self.limit = limit
    self.terms = terms
    self.columns = columns.map(\.name)
  }
}

/// The last row of a full page. A changed row does not affect the page if, before and after the change, the row comes
/// after this last row.
struct PageBoundary: Sendable {
  private let order: PageOrder
  /// The last row's values, in the order of the terms.
  private let values: [DatabaseValue]

  init(_ order: PageOrder, _ values: [DatabaseValue]) {
    self.order = order
    self.values = values
  }

  /// True if a changed row comes later than the page, with its old values as well as with its new values.
  func precedes(_ row: RowImages) -> Bool {
    guard row.columns == order.columns else { return false }
    return [row.old, row.new].allSatisfy { image in image.map(precedes) ?? true }
  }

  /// True if a row with these values is certainly after the page. A row that is equal to the last row of the page can
  /// be before or after it, because SQLite can order equal rows in any way.
  private func precedes(_ row: [DatabaseValue]) -> Bool {
    for (term, value) in zip(order.terms, values) {
      guard row.indices.contains(term.position), let result = term.compare(value, row[term.position]) else {
        return false
      }
      if result != 0 { return result < 0 }
    }
    return false
  }
}

extension PageOrder.Term {
  /// Returns a negative number if `left` comes first; nil if the order is unknown.
  fileprivate func compare(_ left: DatabaseValue, _ right: DatabaseValue) -> Int? {
    switch (left, right) {
    case (.null, .null): return 0
    case (.null, _): return direction.isNullFirst ? -1 : 1
    case (_, .null): return direction.isNullFirst ? 1 : -1
    default: return DatabaseValue.compare(left, right, collation).map { direction.isUpwards ? $0 : -$0 }
    }
  }
}

extension OrderTerm.Direction {
  fileprivate var isNullFirst: Bool { self == .asc || self == .descNullsFirst }
}

extension DatabaseValue {
  /// Compares two non-NULL values in SQLite's order: numbers, texts, blobs. Nil if the order is unknown.
  fileprivate static func compare(_ left: DatabaseValue, _ right: DatabaseValue, _ collation: PageOrder.Collation)
    -> Int?
  {
    func order<Value: Comparable>(_ left: Value, _ right: Value) -> Int { left < right ? -1 : left > right ? 1 : 0 }
    switch (left, right) {
    case (.integer(let left), .integer(let right)): return order(left, right)
    case (.real(let left), .real(let right)): return order(left, right)
    case (.integer(let left), .real(let right)): return compare(left, right)
    case (.real(let left), .integer(let right)): return -compare(right, left)
    case (.text(let left), .text(let right)): return compare(left, right, collation)
    case (.blob(let left), .blob(let right)):
      return left.lexicographicallyPrecedes(right) ? -1 : right.lexicographicallyPrecedes(left) ? 1 : 0
    default: return order(left.rank, right.rank)
    }
  }

  private var rank: Int {
    switch self {
    case .null: 0
    case .integer, .real: 1
    case .text: 2
    case .blob: 3
    }
  }

  /// Compare exactly: a large integer would lose digits as a Double.
  private static func compare(_ left: Int64, _ right: Double) -> Int {
    guard let truncated = Int64(exactly: right.rounded(.towardZero)) else { return right > 0 ? -1 : 1 }
    if left != truncated { return left < truncated ? -1 : 1 }
    let fraction = right - Double(truncated)
    return fraction > 0 ? -1 : fraction < 0 ? 1 : 0
  }

  private static func compare(_ left: String, _ right: String, _ collation: PageOrder.Collation) -> Int? {
    // A U+FFFD can stand for invalid UTF-8, which SQLite sorts differently. The order of such a text is unknown.
    func isKnown(_ text: String) -> Bool { !text.unicodeScalars.contains("\u{FFFD}") }
    guard isKnown(left), isKnown(right) else { return nil }
    switch collation {
    case .binary: return compare(left.utf8, right.utf8)
    case .nocase:
      // After a NUL, NOCASE compares only the lengths, so the order of texts with a NUL is treated as unknown.
      guard !left.utf8.contains(0), !right.utf8.contains(0) else { return nil }
      return compare(left.foldedName, right.foldedName)
    case .rtrim: return compare(left.withoutTrailingSpaces, right.withoutTrailingSpaces)
    }
  }

  private static func compare<Bytes: Collection<UInt8>>(_ left: Bytes, _ right: Bytes) -> Int {
    left.lexicographicallyPrecedes(right) ? -1 : right.lexicographicallyPrecedes(left) ? 1 : 0
  }
}
