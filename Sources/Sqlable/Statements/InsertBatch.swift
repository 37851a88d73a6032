/// The inserts of one run: rows that give the same columns share a compiled statement, which is looked up once.
final class InsertBatch {
  private let query: Query
  private let table: TableInfo
  private let connection: Connection
  private var statement: PreparedStatement?
  /// Which columns the statement binds.
  private var shape: [Bool] = []

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
    if let statement, hasShape(slots) {
      var index: Int32 = 0
      for parameter in slots where parameter.isSet {
        index += 1
        try statement.bind(parameter, at: index)
      }
      return statement
    }
    finish()
    let new = try connection.prepared(since: connection.parameters.mark) {
      try StatementWriter(table: table, sql: connection.sql, parameters: connection.parameters)
        .write(query, slots: UnsafeBufferPointer(slots))
    }
    // The values belong to the row, which releases them itself.
    new.mark = nil
    statement = new
    shape = query.columns == nil ? slots.map(\.isSet) : []
    return new
  }

  /// Whether the row gives the columns that the statement binds. With chosen columns there is one row, so no second look.
  private func hasShape(_ slots: UnsafeMutableBufferPointer<Parameter>) -> Bool {
    guard shape.count == slots.count else { return false }
    for position in slots.indices where shape[position] != slots[position].isSet { return false }
    return true
  }

  /// Gives the statement back.
  func finish() {
    if let statement { connection.finish(statement) }
    statement = nil
  }
}
