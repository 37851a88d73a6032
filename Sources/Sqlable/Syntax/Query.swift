/// The part of a statement that does not depend on the model's type: what is asked, of which rows, in which order.
@usableFromInline
struct Query: Sendable, Hashable {
  @usableFromInline
  enum Kind: String, Sendable, Hashable, Codable {
    case read, first, count, exists
    case insert, insertMany, save
    /// An insert of what a query gives.
    case insertQuery
    /// An update by the struct's own key, or by assignments.
    case update, assign
    /// A delete by the struct's own key, or by filter.
    case deleteRow, delete

    /// Whether the statement is about given structs.
    @usableFromInline
    var takesRows: Bool {
      switch self {
      case .insert, .insertMany, .save, .update, .deleteRow: true
      case .read, .first, .count, .exists, .insertQuery, .assign, .delete: false
      }
    }

    var isInsert: Bool { self == .insert || self == .insertMany || self == .save }

    @usableFromInline
    var changesRows: Bool {
      switch self {
      case .read, .first, .count, .exists: false
      case .insert, .insertMany, .save, .insertQuery, .update, .deleteRow, .assign, .delete: true
      }
    }
  }

  @usableFromInline var kind: Kind
  @usableFromInline var filter: SqlExpression?
  @usableFromInline var limit: Int?
  private var rest: Rest?

  /// What most statements have none of, behind one reference: a statement is copied at every step of its making and
  /// running.
  private struct Parts: Sendable, Hashable {
    var order: [OrderTerm] = []
    var offset: Int?
    var conflict: ConflictPolicy?
    var upsert: Upsert?
    var columns: [ColumnReference]?
    var assignments: [Assignment] = []
    var returns = false
    /// What is given of the rows that were changed, if not the whole.
    var returned: [SqlExpression] = []
    @ByBytes var tableName: String? = nil
    var source: SelectQuery?

    var isEmpty: Bool {
      order.isEmpty && offset == nil && conflict == nil && upsert == nil && columns == nil && assignments.isEmpty
        && !returns && returned.isEmpty && tableName == nil && source == nil
    }
  }

  private final class Rest: Sendable, Hashable {
    let parts: Parts
    /// Whether there is nothing but an answer to a conflict, and a table.
    let isConflictOnly: Bool

    init(_ parts: Parts) {
      self.parts = parts
      var others = parts
      others.conflict = nil
      others.tableName = nil
      isConflictOnly = others.isEmpty
    }

    static func == (left: Rest, right: Rest) -> Bool { left.parts == right.parts }
    func hash(into hasher: inout Hasher) { hasher.combine(parts) }
  }

  private var parts: Parts {
    get { rest?.parts ?? Parts() }
    // Nothing is always nil, so that equal statements are equal.
    set { rest = newValue.isEmpty ? nil : Rest(newValue) }
  }

  @usableFromInline var order: [OrderTerm] {
    get { rest?.parts.order ?? [] }
    set { parts.order = newValue }
  }

  @usableFromInline var offset: Int? {
    get { rest?.parts.offset }
    set { parts.offset = newValue }
  }

  @usableFromInline var conflict: ConflictPolicy? {
    get { rest?.parts.conflict }
    set { parts.conflict = newValue }
  }

  var upsert: Upsert? {
    get { rest?.parts.upsert }
    set { parts.upsert = newValue }
  }

  /// The columns that are to be written; nil for all.
  var columns: [ColumnReference]? {
    get { rest?.parts.columns }
    set { parts.columns = newValue }
  }

  /// Whether an insert of structs updates the rows that it conflicts with.
  var isUpsert: Bool { kind == .save || upsert != nil }
  var assignments: [Assignment] {
    get { rest?.parts.assignments ?? [] }
    set { parts.assignments = newValue }
  }

  /// Whether a change gives the rows that it changed.
  @usableFromInline var returns: Bool {
    get { rest?.parts.returns ?? false }
    set { parts.returns = newValue }
  }

  /// The terms that a change gives of the rows that it changed; none for the whole.
  var returned: [SqlExpression] {
    get { rest?.parts.returned ?? [] }
    set { parts.returned = newValue }
  }

  /// The query whose rows are inserted.
  var source: SelectQuery? {
    get { rest?.parts.source }
    set { parts.source = newValue }
  }

  /// The table that it is about, where that is not the model's own.
  @usableFromInline var tableName: String? {
    get { rest?.parts.tableName }
    set { parts.tableName = newValue }
  }

  /// The information on the table that it is about.
  @inlinable
  func table(of model: (some Sqlable).Type) throws -> TableInfo {
    guard let tableName else { return try TableInfo.of(model) }
    return try TableInfo.of(model, named: tableName)
  }

  /// Whether the statement is the struct's alone: nothing in it but the struct's columns. What such a statement does
  /// not take, an order or a limit, is for the writer to refuse.
  var isPlain: Bool {
    // Not by ==, which would copy the filter.
    if case .some = filter { return false }
    return limit == nil && rest?.isConflictOnly != false
  }

  /// Whether it is a read, with a filter and a limit at most.
  var isPlainRead: Bool { rest == nil && !kind.changesRows }

  @usableFromInline
  init(_ kind: Kind) { self.kind = kind }

  /// A statement about structs, that writes these of their columns, or all.
  @usableFromInline
  init(_ kind: Kind, writing columns: [any ColumnConvertible]) {
    self.kind = kind
    if !columns.isEmpty { self.columns = columns.map { ColumnReference($0.column) } }
  }

  /// Whether it is about a part of the rows by number: then their order counts, whatever is done to them.
  var isLimited: Bool { limit != nil || offset != nil }
}

/// What happens to a row that breaks a uniqueness rule, or is NULL where it must not be.
///
/// SQLite's FAIL and ROLLBACK are left out: the one keeps half a statement, the other undoes a transaction behind the
/// back of the code that opened it.
public enum ConflictPolicy: String, Sendable, Hashable, Codable {
  /// The statement is undone and throws.
  case abort
  /// The row is skipped.
  case ignore
  /// The rows in the way are deleted first.
  case replace

  var sql: StaticString {
    switch self {
    case .abort: "OR ABORT "
    case .ignore: "OR IGNORE "
    case .replace: "OR REPLACE "
    }
  }
}

/// Insert, or update the row that is in the way.
struct Upsert: Sendable, Hashable {
  /// The unique columns that conflict; nil for the primary key.
  var target: [ColumnReference]?
  /// The columns that take the new value; nil for all but the conflicting ones.
  var columns: [ColumnReference]?
  /// What other columns are set to.
  var assignments: [Assignment] = []
  /// Which rows are updated; the others are left as they are.
  var condition: SqlExpression?
}

/// A column and what it is set to, for an update.
///
/// ```swift
/// Bicycle.color.set(to: "red")                     // "color" = ?
/// Bicycle.price.set(to: Bicycle.price * 2)         // "price" = "price" * ?
/// ```
public struct Assignment: Sendable, Hashable {
  let column: ColumnReference
  let value: SqlExpression
}

extension Upsert {
  /// What SQLite calls the row that was to be inserted.
  static let newRow = "excluded"
}

/// A direction of ordering. NULL comes before every value in `asc`, after every value in `desc`.
public enum Order: String, Sendable, Hashable, Codable {
  case asc, desc
}

@usableFromInline
struct OrderTerm: Sendable, Hashable {
  let expression: SqlExpression
  var direction: Direction

  /// The direction, and where NULL comes, by the names in JSON.
  enum Direction: String, Sendable, Hashable, Codable {
    case asc, desc, ascNullsLast, descNullsFirst

    var isUpwards: Bool { self == .asc || self == .ascNullsLast }

    /// What follows the term.
    var sql: StaticString {
      switch self {
      case .asc: ""
      case .desc: " DESC"
      case .ascNullsLast: " NULLS LAST"
      case .descNullsFirst: " DESC NULLS FIRST"
      }
    }
  }

  @usableFromInline
  init(expression: SqlExpression, order: Order) {
    self.expression = expression
    direction = order == .asc ? .asc : .desc
  }
}
