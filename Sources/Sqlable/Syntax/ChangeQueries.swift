/// An insert: of structs, or of what a query gives.
@usableFromInline
struct InsertQuery: Sendable, Hashable {
  @usableFromInline
  enum Form: Sendable, Hashable {
    /// One struct.
    case row
    /// Any number of structs.
    case rows
    /// One struct, which updates the row that has its key.
    case save
    /// What a query gives.
    case query
  }

  @usableFromInline
  struct Rest: RareValue {
    /// The columns that are written; nil for all.
    var columns: [ColumnReference]?
    var upsert: Upsert?
    /// The query whose rows are inserted.
    var source: SelectQuery?
    var returned: Returned?
    var defect: SqlError?

    @usableFromInline
    init() {}
  }

  unowned(unsafe) var table: TableInfo
  let form: Form
  var conflict: ConflictPolicy?
  var rest = Rare<Rest>()

  @usableFromInline
  init(_ form: Form, into table: TableInfo) {
    self.form = form
    self.table = table
  }

  /// An insert that writes these columns, or all.
  @usableFromInline
  init(_ form: Form, into table: TableInfo, writing columns: [any ColumnConvertible], of source: SelectQuery? = nil) {
    self.init(form, into: table)
    if !columns.isEmpty { rest.value.columns = columns.map { ColumnReference($0.column) } }
    if let source { rest.value.source = source }
  }

  var isUpsert: Bool { form == .save || rest.value.upsert != nil }
}

/// An update: of the row of a struct, or of all that are selected.
@usableFromInline
struct UpdateQuery: Sendable, Hashable {
  @usableFromInline
  struct Rest: RareValue {
    /// The columns that are written of a struct; nil for all.
    var columns: [ColumnReference]?
    /// What columns are set to.
    var assignments: [Assignment] = []
    var returned: Returned?
    var defect: SqlError?

    @usableFromInline
    init() {}
  }

  unowned(unsafe) var table: TableInfo
  /// Whether it is about the row that has a struct's key, among those that are selected.
  let isOfRow: Bool
  var conflict: ConflictPolicy?
  var selection = RowSelection()
  var rest = Rare<Rest>()

  /// An update of a struct's row, that writes these of its columns, or all.
  @usableFromInline
  init(ofRowIn table: TableInfo, writing columns: [any ColumnConvertible]) {
    self.table = table
    isOfRow = true
    if !columns.isEmpty { rest.value.columns = columns.map { ColumnReference($0.column) } }
  }

  init(_ table: TableInfo, _ assignments: [Assignment]) {
    self.table = table
    isOfRow = false
    rest.value.assignments = assignments
  }
}

/// A delete: of the row of a struct, or of all that are selected.
@usableFromInline
struct DeleteQuery: Sendable, Hashable {
  @usableFromInline
  struct Rest: RareValue {
    var returned: Returned?
    var defect: SqlError?

    @usableFromInline
    init() {}
  }

  unowned(unsafe) var table: TableInfo
  /// Whether it is about the row that has a struct's key, among those that are selected.
  let isOfRow: Bool
  var selection = RowSelection()
  var rest = Rare<Rest>()

  @usableFromInline
  init(_ table: TableInfo, isOfRow: Bool) {
    self.table = table
    self.isOfRow = isOfRow
  }
}

/// The rows that an update or delete is about.
@usableFromInline
struct RowSelection: Sendable, Hashable {
  @usableFromInline
  struct Rest: RareValue {
    var order: [OrderTerm] = []
    var limit: Int?
    var offset: Int?

    @usableFromInline
    init() {}
  }

  var filter: SqlExpression?
  var rest = Rare<Rest>()

  /// Whether it is all of them. Not by ==, which would copy the filter.
  var isAll: Bool {
    if case .some = filter { return false }
    return rest.isDefault
  }

  /// Whether it is a part of the rows by number: then their order counts, whatever is done to them.
  var isLimited: Bool { !rest.isDefault && (rest.value.limit != nil || rest.value.offset != nil) }
}

/// What a change gives of the rows that it changed.
enum Returned: Sendable, Hashable {
  /// The whole of them.
  case rows
  case terms([SqlExpression])
}
