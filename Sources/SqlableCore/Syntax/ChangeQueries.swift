@usableFromInline
package struct InsertQuery: Sendable, Hashable {
  @usableFromInline
  package enum Form: Sendable, Hashable {
    case row
    case rows
    /// One struct that is inserted, or stored in the existing row with the same key.
    case save
    case query
  }

  @usableFromInline
  package struct Clauses: DefaultConstructible {
    /// The columns to write; nil for all columns.
    package var columns: [ColumnReference]?
    /// The conflict clauses, in the order in which SQLite checks the clauses.
    package var upserts: [Upsert] = []
    package var source: SelectQuery?
    package var returned: Returned?
    var defect: SqlError?

    @usableFromInline
    package init() {}
  }

  @usableFromInline package unowned(unsafe) var table: TableInfo
  @usableFromInline package let form: Form
  @usableFromInline package var conflict: ConflictPolicy?
  @usableFromInline package var rest = CopyOnWriteBox<Clauses>()

  @usableFromInline
  package init(_ form: Form, into table: TableInfo) {
    self.form = form
    self.table = table
  }

  @inlinable
  init(_ form: Form, into table: Unmanaged<TableInfo>) {
    self.form = form
    self.table = table.takeUnretainedValue()
    conflict = nil
    rest = CopyOnWriteBox()
  }

  /// Creates an insert that writes these columns; an empty array stands for all columns.
  @usableFromInline
  init(_ form: Form, into table: TableInfo, writing columns: [any ColumnConvertible], of source: SelectQuery? = nil) {
    self.init(form, into: table)
    if !columns.isEmpty { rest.value.columns = columns.map { ColumnReference($0.column) } }
    if let source { rest.value.source = source }
  }

  var isUpsert: Bool { form == .save || !rest.value.upserts.isEmpty }
}

@usableFromInline
package struct UpdateQuery: Sendable, Hashable {
  @usableFromInline
  package struct Clauses: DefaultConstructible {
    /// The columns to write from a struct; nil for all columns.
    package var columns: [ColumnReference]?
    package var assignments: [Assignment] = []
    /// The joined tables from which the update takes values, each with its join condition.
    package var sources: [SelectQuery.Source] = []
    fileprivate var selection = RowSelection()
    package var indexHint: IndexHint?
    package var returned: Returned?
    var defect: SqlError?

    @usableFromInline
    package init() {}
  }

  @usableFromInline package unowned(unsafe) var table: TableInfo
  @usableFromInline package let extent: ChangeExtent
  @usableFromInline package var conflict: ConflictPolicy?
  @usableFromInline package var rest = CopyOnWriteBox<Clauses>()

  @inlinable
  init(ofRowIn table: Unmanaged<TableInfo>) {
    self.table = table.takeUnretainedValue()
    extent = .row
    conflict = nil
    rest = CopyOnWriteBox()
  }

  /// Creates an update of a struct's row that writes these columns; an empty array stands for all columns.
  @usableFromInline
  package init(ofRowIn table: TableInfo, writing columns: [any ColumnConvertible]) {
    self.table = table
    extent = .row
    if !columns.isEmpty { rest.value.columns = columns.map { ColumnReference($0.column) } }
  }

  package init(_ table: TableInfo, _ assignments: [Assignment], _ extent: ChangeExtent = .selected) {
    self.table = table
    self.extent = extent
    rest.value.assignments = assignments
  }

  package var selection: RowSelection {
    _read { yield rest.value.selection }
    _modify { yield &rest.value.selection }
    // Without a box, the update of a struct has a short cache key.
    set { if !newValue.isAll || !rest.isDefault { rest.value.selection = newValue } }
  }

  /// True if the update changes the row whose key equals the key of a given struct.
  @usableFromInline package var isRowLevel: Bool { extent == .row }

  /// The updated table, and the joined tables that provide values.
  package var tables: [SelectQuery.Source] { [SelectQuery.Source(table: table)] + rest.value.sources }
}

@usableFromInline
package struct DeleteQuery: Sendable, Hashable {
  @usableFromInline
  package struct Clauses: DefaultConstructible {
    fileprivate var selection = RowSelection()
    package var indexHint: IndexHint?
    package var returned: Returned?
    var defect: SqlError?

    @usableFromInline
    package init() {}
  }

  @usableFromInline package unowned(unsafe) var table: TableInfo
  @usableFromInline package let extent: ChangeExtent
  @usableFromInline package var rest = CopyOnWriteBox<Clauses>()

  @inlinable
  init(ofRowIn table: Unmanaged<TableInfo>) {
    self.table = table.takeUnretainedValue()
    extent = .row
    rest = CopyOnWriteBox()
  }

  @usableFromInline
  package init(_ table: TableInfo, _ extent: ChangeExtent) {
    self.table = table
    self.extent = extent
  }

  package var selection: RowSelection {
    _read { yield rest.value.selection }
    _modify { yield &rest.value.selection }
    set { if !newValue.isAll || !rest.isDefault { rest.value.selection = newValue } }
  }

  @usableFromInline package var isRowLevel: Bool { extent == .row }
}

@usableFromInline
package enum ChangeExtent: Sendable, Hashable {
  /// The row whose key equals the key of a given struct.
  case row
  /// The rows that a filter or limit selects. Running the change throws if there is neither a filter nor a limit.
  case selected
  case all
}

package struct RowSelection: Sendable, Hashable {
  @usableFromInline
  package struct Clauses: DefaultConstructible {
    package var order: [OrderTerm] = []
    package var limit: SelectQuery.RowCount?
    package var offset: SelectQuery.RowCount?

    @usableFromInline
    package init() {}
  }

  package var filter: SqlExpression?
  package var rest = CopyOnWriteBox<Clauses>()

  package init(filter: SqlExpression? = nil, rest: CopyOnWriteBox<Clauses> = CopyOnWriteBox<Clauses>()) {
    (self.filter, self.rest) = (filter, rest)
  }

  /// True if all rows are selected. Avoids `==`, which would copy the filter.
  var isAll: Bool {
    if case .some = filter { return false }
    return rest.isDefault
  }

  /// Throws `.misuse` if the clauses do not fit the extent: `.selected` needs a filter or limit, and `.all` can't have
  /// a filter, order or limit.
  func check(_ extent: ChangeExtent, of table: TableInfo, _ change: String, _ all: String) throws {
    switch extent {
    case .row: return
    case .selected where filter == nil && !isLimited:
      throw SqlError.misuse(
        "\(change) without a filter or limit would change every row of table \(table.name); use \(all), or \"all\": "
          + "true in a document"
      ).at(table: table.name)
    case .all where !isAll:
      throw SqlError.misuse("\(all) changes every row of table \(table.name), and can't have a filter, order or limit")
        .at(table: table.name)
    case .selected, .all: return
    }
  }

  /// True if the selection has a limit or an offset. Only then does the order of the rows matter.
  package var isLimited: Bool { !rest.isDefault && (rest.value.limit != nil || rest.value.offset != nil) }
}

package enum Returned: Sendable, Hashable {
  case rows
  case terms([SqlExpression])
}

extension SqlExpression {
  /// Throws for an aggregate or window function outside a subquery: RETURNING evaluates its terms for one row.
  func checkUsesOneRow() throws {
    if case .call(let call) = node, let name = call.nameOverRows {
      throw SqlError.invalidStatement(
        "RETURNING can't contain \(name), which needs several rows; use a separate query or a subquery")
    }
    for term in node.terms { try term.checkUsesOneRow() }
  }
}

extension StatementTree {
  var writtenColumns: WrittenColumns {
    switch self {
    case .insert(let query) where !query.rest.isDefault:
      guard let columns = query.rest.value.columns else { return .all }
      return .positions(columns.compactMap { query.table.position(named: $0.name) })
    case .update(let query) where !query.rest.isDefault:
      guard let columns = query.rest.value.columns else { return .all }
      let key = query.isRowLevel ? query.table.key : []
      return .positions(columns.compactMap { query.table.position(named: $0.name) } + key)
    case .delete(let query) where query.isRowLevel: return .key
    default: return .all
    }
  }
}
