/// Rows from a remote database. `init(row:)` reads them like the rows of a local statement.
package struct ReceivedRows {
  package let answer: SqlAnswer
  /// The SQL that was sent, for error messages.
  let sql: String

  package init(answer: SqlAnswer, sql: String) {
    (self.answer, self.sql) = (answer, sql)
  }

  package func forEach(_ columns: ExpectedColumns, _ body: (ReadRow) throws -> Void) throws {
    do { try read(columns, body) } catch var error as SqlError {
      error.sql = sql
      throw error
    }
  }

  package func map<Row>(_ columns: ExpectedColumns, _ body: (ReadRow) throws -> Row) throws -> [Row] {
    var rows: [Row] = []
    rows.reserveCapacity(answer.rows.count)
    try forEach(columns) { rows.append(try body($0)) }
    return rows
  }

  /// Reads each row from a `SELECT ?, ?, …` to which the row's values are bound.
  private func read(_ columns: ExpectedColumns, _ body: (ReadRow) throws -> Void) throws {
    guard let count = answer.rows.first?.count, count > 0 else {
      // A transport can omit the column names of a result without rows.
      return answer.columns.isEmpty ? () : try columns.check(answer.columns.count)
    }
    let db = try ReceivedRows.takeHandle()
    defer { ReceivedRows.giveBack(db) }
    try db.locked {
      let names = answer.columns
      let terms = (0..<count).map { $0 < names.count ? "? AS \(names[$0].quotedName)" : "?" }
      var text = "SELECT " + terms.joined(separator: ", ")
      let statement = try text.withUTF8 { try db.openConnection().compile($0, isInternal: true) }
      defer { statement.reset() }
      for (index, row) in answer.rows.enumerated() {
        guard row.count == count else {
          throw SqlError.misuse("the transport returned rows with different numbers of columns")
        }
        statement.rewind()
        for (position, value) in row.enumerated() {
          let isInvalidText = !answer.invalidTexts.isEmpty && answer.invalidTexts.contains(index * count + position)
          try statement.bindCopy(value, asText: isInvalidText, at: Int32(position + 1))
        }
        guard try statement.step() else { return }
        if index == 0 { try statement.expect(columns, isAtRow: true) }
        try body(ReadRow(statement))
      }
    }
  }

  // MARK: Handles

  private static let free = LockedValue<[SqliteDatabase]>([])
  private static let maximumFree = 4

  private static func takeHandle() throws -> SqliteDatabase {
    while let db = free.withLock({ $0.popLast() }) {
      if !db.isForked { return db }
    }
    return try .inMemory()
  }

  private static func giveBack(_ db: SqliteDatabase) {
    free.withLock { if $0.count < maximumFree { $0.append(db) } }
  }
}

extension SqlAnswer {
  /// The integer of an answer with one value; 0 if there is no integer.
  var integer: Int {
    guard case .integer(let integer)? = rows.first?.first else { return 0 }
    return Int(integer)
  }
}
