/// Rows of a batch that are collected for one statement: `INSERT INTO … VALUES (…), (…), …`.
///
/// Each struct writes its values to separate slots, from which the statement binds the values.
///
/// One statement for many rows saves most of the work that SQLite does for each statement. In a table that
/// ``Connection/rowsPerInsert(into:)`` accepts, one statement for each row would store the same rows. If the statement
/// fails, no row of the group is stored. The rows are then inserted one by one to find the row that fails.
struct RowGroup {
  /// The maximum number of rows that a statement inserts into a table without change-log triggers.
  fileprivate static let usualSize = 16
  /// The maximum number of rows that a statement inserts into a logged table. The triggers of the change log make
  /// SQLite create an intermediate table and a journal for each statement, so one statement with more rows is faster.
  fileprivate static let loggedSize = 32
  /// The minimum size of a batch for which examining the table is worthwhile.
  static let minimumBatch = 256
  /// The maximum number of parameters of a group: the limit of some builds of SQLite, and the default before 3.32.
  fileprivate static let maximumParameters = 999
  /// The limit for ids that SQLite assigns in a group. Once a table has an id at or above this limit, rows without a
  /// key form no groups, because SQLite assigns random ids after the highest possible id.
  private static let highestId: Int64 = 1 << 62

  private let query: InsertQuery
  private let connection: Connection
  private let size: Int
  /// The writer of the next row, which follows the rows that wait to be inserted.
  var writer: RowWriter
  /// The slots of all rows: for each row, one slot for each column of the table.
  private let storage: ParameterSlots
  private let columns: Int
  /// The address of the slots of the row after the waiting rows.
  private var firstSlot: UnsafeMutablePointer<BoundValue>?
  /// The position of the key, which is a single column.
  private let key: Int
  /// The compiled statement for rows that set the columns in `shape`.
  private var statement: (shape: UInt64, compiled: PreparedStatement)?
  /// The mark before the values of the first waiting row; nil if no group has started.
  private var mark: ParameterBuffer.Mark?
  /// The columns that the waiting rows set, one bit each.
  private var shape: UInt64 = 0
  private(set) var count = 0
  private var givesIdsInARow: Bool?
  /// The connection's `totalChanges` after the batch's latest insert.
  private var changes: Int

  private var setsKey: Bool { shape & (1 << UInt64(key)) != 0 }

  /// Returns nil if rows must be inserted one by one.
  init?(_ query: InsertQuery, on connection: Connection) throws {
    guard query.form == .rows, query.conflict == nil, query.rest.isDefault,
      let size = try connection.rowsPerInsert(into: query.table)
    else { return nil }
    storage = ParameterSlots(count: size * query.table.count)
    (self.query, self.connection, self.size, changes) = (query, connection, size, connection.totalChanges)
    (columns, key) = (query.table.count, query.table.key[0])
    writer = RowWriter(table: query.table, storage: storage, bytes: connection.parameterBytes)
    firstSlot = storage.memory.baseAddress
  }

  var isFull: Bool { count == size }

  /// Starts a group before the values of its first row are written.
  mutating func begin() {
    if mark == nil { mark = connection.parameters.mark }
  }

  /// Forgets the waiting rows. Call after an insert.
  mutating func clear() {
    changes = connection.totalChanges
    if let mark { connection.parameters.release(to: mark) }
    (mark, count) = (nil, 0)
    useSlots(ofRow: 0)
  }

  private func slots(ofRow number: Int) -> UnsafeMutableBufferPointer<BoundValue> {
    UnsafeMutableBufferPointer(rebasing: storage.memory[number * columns..<(number + 1) * columns])
  }

  @inline(__always)
  private mutating func useSlots(ofRow number: Int) {
    writer.slots = slots(ofRow: number)
    firstSlot = writer.slots.baseAddress
  }

  private func row(_ number: Int) -> RowValues { RowValues(slots: slots(ofRow: number), shape: shape) }

  /// Adds the row that the writer has written. Returns false if the row can't join the group. Throws `.misuse` if the
  /// model's `write(to:)` has assigned another row's writer to its parameter.
  @inline(__always)
  mutating func add() throws -> Bool {
    // A writer retains its memory, so no other writer has slots at this address.
    guard writer.slots.baseAddress == firstSlot else { throw writer.staleError }
    let row = writer.values
    // Check the id even if the row can't join the group.
    if case .integer(let id) = row[key], id >= RowGroup.highestId { givesIdsInARow = false }
    guard let shape = row.shape, shape != 0, count == 0 || shape == self.shape else { return false }
    self.shape = shape
    if setsKey {
      guard case .integer = row[key] else { return false }
    } else {
      guard try hasIdsInARow() else { return false }
    }
    count += 1
    if !isFull { useSlots(ofRow: count) }
    return true
  }

  private mutating func hasIdsInARow() throws -> Bool {
    if let givesIdsInARow { return givesIdsInARow }
    let table = query.table
    let name = table.columns[key].name.quotedName
    let row = try connection.rows("SELECT max(\(name)) FROM main.\(table.name.quotedName)").first
    let highest = row.flatMap { Int64($0[0]) } ?? 0
    givesIdsInARow = highest < RowGroup.highestId
    return highest < RowGroup.highestId
  }

  /// Inserts the waiting rows, and passes the id of each row to `note`.
  ///
  /// - Parameter index: The index of the group's first row in the batch.
  mutating func insert(with batch: inout InsertBatch, from index: Int, note: (Int) -> Void) throws {
    // The code of a row can write other rows, one of which can have the highest id.
    if givesIdsInARow == true, connection.totalChanges != changes { givesIdsInARow = nil }
    guard try isFull && (setsKey || hasIdsInARow()) else {
      return try insertEach(with: &batch, from: index, note: note)
    }
    do { try insertTogether() } catch {
      guard (error as? SqlError)?.blamesRow == true, !connection.hasLostTransaction else { throw error.inBatch(index) }
      try insertEach(with: &batch, from: index) { _ in }
      throw error.inBatch(index)
    }
    let last = connection.lastInsertedId
    for number in 0..<count {
      if !setsKey {
        note(Int(last) - count + 1 + number)
      } else if case .integer(let id) = row(number)[key] {
        note(Int(id))
      }
    }
  }

  private mutating func insertTogether() throws {
    try connection.checkInterruption()
    if let statement, statement.shape != shape { finish() }
    let compiled = try statement?.compiled ?? connection.preparedInsert(query, of: size, setting: shape)
    statement = (shape, compiled)
    defer { compiled.rewind() }
    var index: Int32 = 0
    for number in 0..<count { try compiled.bindInsert(row(number), after: &index) }
    while try compiled.stepWithoutRow() {}
  }

  private func insertEach(with batch: inout InsertBatch, from index: Int, note: (Int) -> Void) throws {
    for number in 0..<count {
      do { note(try batch.insert(row(number))) } catch { throw error.inBatch(index + number) }
    }
  }

  mutating func finish() {
    if let statement { connection.finish(statement.compiled) }
    statement = nil
  }
}

extension SqlError {
  /// True if the values of one row might have caused the error. All kinds that are not listed count, because indexes
  /// and CHECK constraints can call functions, which can throw any error.
  fileprivate var blamesRow: Bool {
    switch kind {
    case .interrupted, .timeout, .busy, .closed, .handleLost, .io, .full, .readOnly, .cannotOpen, .corrupt,
      .notADatabase, .wrongKey, .outOfMemory, .schema:
      false
    default: true
    }
  }
}

extension Connection {
  /// The table in which triggers record the changes of logged tables. The name of such a trigger contains the name of
  /// the logged table, as in `sqlable_changes_bicycle_insert`. These triggers change no logged table.
  package static let changeTable = "sqlable_changes"

  /// Returns the number of rows of an INSERT with several rows. Nil if the result of such an INSERT could differ from
  /// that of one INSERT for each row.
  ///
  /// The results can differ for a table with a trigger of the program, which fires between the rows, for a table with a
  /// conflict clause, which can skip rows, and for a table with a foreign key to itself, because a row can reference a
  /// later row.
  func rowsPerInsert(into table: TableInfo) throws -> Int? {
    guard table.count * RowGroup.usualSize <= RowGroup.maximumParameters, table.keyIsRowid,
      table.database.map({ $0.isSameName(as: "main") }) != false
    else { return nil }
    let name = table.name.quotedText
    var objects = try rows(
      """
      SELECT type, sql, name FROM main.sqlite_master
      WHERE tbl_name = \(name) COLLATE NOCASE AND type IN ('table', 'trigger')
      UNION ALL SELECT 'temp', '', '' FROM temp.sqlite_master WHERE tbl_name = \(name) COLLATE NOCASE
      """
    )
    let count = objects.count
    let prefix = "\(Connection.changeTable)_\(table.name)_".foldedName
    objects.removeAll { $0[0] == "trigger" && $0[2].foldedName.starts(with: prefix) }
    let isLogged = objects.count < count
    guard objects.count == 1, objects[0][0] == "table" else { return nil }
    if isLogged, try hasTriggersOnChanges() { return nil }
    let words = DetachedSQLToken.words(of: objects[0][1])
    guard !words.contains(where: { ["CONFLICT", "DESC", "VIRTUAL", "WITHOUT"].contains($0.keyword) }) else {
      return nil
    }
    for (word, next) in zip(words, words.dropFirst()) where word.isKeyword("REFERENCES") {
      if next.text.isSameName(as: table.name) { return nil }
    }
    // The model's key column is the rowid only if it is the table's only key column and is declared INTEGER.
    var keys: [String] = []
    for row in try rows("PRAGMA main.table_xinfo(\(table.name.quotedName))") {
      if row[5] != "0" { keys.append("\(row[1]) \(row[2])") }
    }
    guard keys.count == 1, keys[0].isSameName(as: "\(table.columns[table.key[0]].name) INTEGER") else { return nil }
    return isLogged ? min(RowGroup.loggedSize, RowGroup.maximumParameters / table.count) : RowGroup.usualSize
  }

  /// True if the program has created triggers on the change log's tables. Such triggers could change the logged table.
  private func hasTriggersOnChanges() throws -> Bool {
    let triggers = ["main", "temp"].map {
      "SELECT 1 FROM \($0).sqlite_master WHERE type = 'trigger' AND tbl_name LIKE 'sqlable\\_change%' ESCAPE '\\'"
    }
    return try !rows(triggers.joined(separator: " UNION ALL ")).isEmpty
  }
}
