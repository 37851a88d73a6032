/// The inserts of one run: rows that give the same columns share a compiled statement, which is looked up once.
final class InsertBatch {
  private let query: Query
  private let table: TableInfo
  private let connection: Connection
  /// The compiled statements, by the columns that they bind, the latest first: rows with and without an optional take turns.
  private var shapes: [(columns: UInt64, statement: PreparedStatement)] = []
  private static let maximumShapes = 8

  init(query: Query, table: TableInfo, connection: Connection) {
    self.query = query
    self.table = table
    self.connection = connection
  }

  /// Inserts one row and gives its id: 0 when nothing was inserted, or when the table has no integer id.
  func insert(_ slots: UnsafeMutableBufferPointer<Parameter>) throws -> Int {
    let statement = try statement(for: slots)
    // A statement that inserts nothing leaves the id of an earlier one behind.
    connection.lastInsertedId = 0
    var id: Int64 = 0
    while try statement.step() { id = statement.integer(at: 0) }
    statement.rewind()
    if id == 0 { id = connection.lastInsertedId }
    if id == 0, table.isWithoutRowid, table.key.count == 1, case .integer(let key) = slots[table.key[0]],
      connection.changes > 0
    {
      id = key
    }
    // A save of a row that is there already, and has no other column, does nothing; the row is stored all the same.
    if id == 0, query.kind == .save, table.key.count == 1, case .integer(let key) = slots[table.key[0]] { id = key }
    return Int(id)
  }

  /// The statement for these columns, with the values bound.
  private func statement(for slots: UnsafeMutableBufferPointer<Parameter>) throws -> PreparedStatement {
    let columns = slots.shape
    // With chosen columns there is one row, so no second look.
    if query.columns == nil, let columns, let known = shapes.first(where: { $0.columns == columns })?.statement {
      try known.bindInsert(slots)
      return known
    }
    while shapes.count >= InsertBatch.maximumShapes || (columns == nil && !shapes.isEmpty) {
      connection.finish(shapes.removeLast().statement)
    }
    let new = try connection.prepared(query, table: table, slots: slots)
    // The values belong to the row, which releases them itself.
    new.mark = nil
    shapes.insert((columns ?? 0, new), at: 0)
    return new
  }

  /// Gives the statements back.
  func finish() {
    for (_, statement) in shapes { connection.finish(statement) }
    shapes = []
  }
}
