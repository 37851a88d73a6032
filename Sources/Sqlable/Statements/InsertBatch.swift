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
    return Int(id)
  }

  /// The statement for these columns, with the values bound.
  private func statement(for slots: UnsafeMutableBufferPointer<Parameter>) throws -> PreparedStatement {
    let columns = InsertBatch.shape(of: slots)
    // With chosen columns there is one row, so no second look.
    if query.columns == nil, let columns, let known = shapes.first(where: { $0.columns == columns })?.statement {
      var index: Int32 = 0
      for parameter in slots where parameter.isSet {
        index += 1
        try known.bind(parameter, at: index)
      }
      return known
    }
    while shapes.count >= InsertBatch.maximumShapes || (columns == nil && !shapes.isEmpty) {
      connection.finish(shapes.removeLast().statement)
    }
    let new = try connection.prepared(since: connection.parameters.mark) {
      try StatementWriter(table: table, sql: connection.sql, parameters: connection.parameters)
        .write(query, slots: UnsafeBufferPointer(slots))
    }
    // The values belong to the row, which releases them itself.
    new.mark = nil
    shapes.insert((columns ?? 0, new), at: 0)
    return new
  }

  /// A bit for every column that the row gives; nil for a table too wide for it.
  private static func shape(of slots: UnsafeMutableBufferPointer<Parameter>) -> UInt64? {
    guard slots.count <= UInt64.bitWidth else { return nil }
    var shape: UInt64 = 0
    for position in slots.indices where slots[position].isSet { shape |= 1 << UInt64(position) }
    return shape
  }

  /// Gives the statements back.
  func finish() {
    for (_, statement) in shapes { connection.finish(statement) }
    shapes = []
  }
}
