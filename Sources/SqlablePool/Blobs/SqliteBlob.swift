import FoundationEssentials
import SqlableCore

/// An open blob whose bytes are read and written in parts. `readBlob` and `writeBlob` of a handle open a blob.
///
/// A blob is valid inside the closure that receives it; later calls throw `.misuse`. If a statement of the closure
/// changes or deletes the row, or a savepoint is rolled back, later calls throw `.notFound`.
public final class SqliteBlob {
  private let blob: IncrementalBlob
  private let db: SqliteDatabase

  fileprivate init(_ blob: IncrementalBlob, _ db: SqliteDatabase) { (self.blob, self.db) = (blob, db) }

  /// The size in bytes, which does not change.
  public var count: Int { blob.count }

  /// Fills the buffer with the bytes at `offset`.
  ///
  /// ```swift
  /// try buffer.withUnsafeMutableBytes { try blob.read(into: $0, at: 4096) }
  /// ```
  ///
  /// Throws `.misuse` if the blob ends before the buffer is full, and then reads nothing.
  public func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws {
    try db.running { _ in try blob.read(into: buffer, at: offset) }
  }

  /// Returns `count` bytes at `offset`. Throws `.misuse` if the blob has fewer bytes there.
  public func read(_ count: Int, at offset: Int) throws -> [UInt8] {
    guard count >= 0, count <= self.count else { throw IncrementalBlob.outside }
    return try [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      try read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
      filled = count
    }
  }

  /// Overwrites the bytes at `offset`. Throws `.misuse` if the bytes do not fit, and then writes nothing.
  public func write(_ bytes: some ContiguousBytes, at offset: Int) throws {
    try bytes.withUnsafeBytes { try db.write($0, to: blob, at: offset) }
  }
}

extension SqliteDatabase {
  /// Opens a blob of a row for reading in parts, without loading the whole blob.
  ///
  /// ```swift
  /// let header = try db.readBlob(Photo.image, of: Photo.byId(7)) { blob in try blob.read(16, at: 0) }
  /// // SELECT "id", typeof("image") FROM "main"."photo" WHERE "id" = ? LIMIT ?, then sqlite3_blob_open
  /// ```
  ///
  /// The closure reads one snapshot. A TEXT value is opened as its bytes in the encoding of the file. Throws
  /// `.notFound` if there is no row, and `.decoding` for NULL and numbers. Throws `.misuse` for a view, a virtual
  /// table, a table without rowid, a table with generated columns, and a query of several tables.
  public func readBlob<Model, Value>(
    _ column: some ColumnConvertible, of row: Statement<Model, Model?>, _ body: (SqliteBlob) throws -> Value
  ) throws -> Value {
    func read(_ db: SqliteDatabase) throws -> Value {
      try db.open(BlobPlace(column.column, row, isWritten: false)) { try body(SqliteBlob($0, db)) }
    }
    // Read without a transaction inside an SQL function of the program. The statement that called the function already
    // holds a snapshot, and SQLite can't begin a transaction there.
    if try locked({ try openConnection().userCode.isRunning }) { return try read(self) }
    return try transaction(.deferred, read)
  }

  /// Opens a blob of a row for overwriting in parts.
  ///
  /// ```swift
  /// try db.writeBlob(Photo.image, of: Photo.byId(7), size: 1 << 20) { blob in
  ///   while let part = try source.next() { try blob.write(part.bytes, at: part.offset) }
  /// }
  /// // BEGIN IMMEDIATE; UPDATE "main"."photo" SET "image" = zeroblob(?) WHERE "id" = ?; sqlite3_blob_open …; COMMIT
  /// ```
  ///
  /// The closure runs in a transaction, or in a savepoint of an open transaction: if the closure throws, no byte is
  /// changed. Observers are notified of one update of the row, after the commit. A write of a part fires no trigger,
  /// and SQLite checks no CHECK constraint. A change log of the table records an update after the closure. A log of
  /// rows then has two copies of the whole blob, before and after the write. If the log is not up to date with the
  /// table's columns, throws `.schema(.mismatch)`.
  ///
  /// `size` is the size of a new blob of zeros, which replaces the current value before the closure runs. Nil keeps the
  /// current blob and its size.
  ///
  /// Throws `.notFound` if there is no row. Throws `.decoding` if `size` is nil and the value is not a blob. Throws
  /// `.misuse` for an indexed column, a key and a foreign key. Throws `.misuse` for a view, a virtual table, a table
  /// without rowid, and a table with generated columns. A negative size and a transaction inside the closure throw
  /// `.misuse` too. Throws `.readOnly` on a read-only handle.
  public func writeBlob<Model, Value>(
    _ column: some ColumnConvertible, of row: Statement<Model, Model?>, size: Int? = nil,
    _ body: (SqliteBlob) throws -> Value
  ) throws -> Value {
    try transaction { db in
      try db.open(BlobPlace(column.column, row, isWritten: true, size: size)) { try body(SqliteBlob($0, db)) }
    }
  }

  private func open<Value>(_ place: BlobPlace, _ body: (IncrementalBlob) throws -> Value) throws -> Value {
    let rowid = try rowidName(of: place)
    let id = try self.id(of: place, rowid)
    let log = try running { try place.log(rowid, id, on: $0) }
    try log?.keepOldValue(in: self)
    let blob = try running { connection in
      try IncrementalBlob(
        database: place.database, table: place.table.name, column: place.column.name, id: id,
        isWritable: place.isWritten, on: connection)
    }
    defer { lockedAnyway { blob.close() } }
    let value = try body(blob)
    try log?.logUpdate(in: self)
    return value
  }

  /// Returns the value of the row's rowid. If a new blob replaces the value, first stores a blob of zeros.
  ///
  /// - Parameter rowid: The name by which SQL reads the rowid.
  private func id(of place: BlobPlace, _ rowid: String) throws -> Int64 {
    let query = place.query(ofRowid: rowid)
    let reading = try beginReading(query, as: query.clauses.columns)
    let row: (id: DatabaseValue, type: DatabaseValue)?
    do {
      defer { endReading(reading) }
      row = try reading.step() ? (try reading.row.databaseValue(at: 0), try reading.row.databaseValue(at: 1)) : nil
    }
    guard case (.integer(let id), .text(let type))? = row else {
      throw SqlError(.notFound, message: "the row of the blob does not exist").at(place).labelled(configuration.label)
    }
    if let size = place.size {
      guard size >= 0 else { throw misuse("the size of a blob can't be negative") }
      try execute(
        """
        UPDATE \(table: place.database).\(table: place.table.name) SET \(place.column) = zeroblob(\(size)) \
        WHERE \(column: rowid) = \(id)
        """)
    } else if type != "blob", type != "text" || place.isWritten {
      let typeName = type.uppercased()
      throw SqlError(
        .decoding(.init(expected: "BLOB", found: typeName)),
        message: "column \(place.column.name) contains \(typeName), which can't be opened as a blob"
      ).at(place).labelled(configuration.label)
    }
    return id
  }

  /// Returns a name by which SQL can read the rowid. The model's key is not sufficient: if another program declared the
  /// key of the table as `INT PRIMARY KEY`, the key is not the rowid.
  private func rowidName(of place: BlobPlace) throws -> String {
    let columns = try running { connection in
      try connection.rows(
        "PRAGMA \("table_xinfo".quotedName(inDatabase: place.database))(\(place.table.name.quotedName))")
    }
    guard let name = String.rowidName(avoiding: columns.map { $0[1] }) else {
      throw SqlError.misuse(
        "table \(place.table.name) has columns named rowid, oid and _rowid_, so its blobs can't be opened"
      ).at(table: place.table.name)
    }
    return name
  }
}

/// The blob to open: one column of one row.
private struct BlobPlace {
  let column: Column
  let table: TableInfo
  let database: String
  private let selection: SelectQuery
  let isWritten: Bool
  let size: Int?

  init<Model>(_ column: Column, _ row: Statement<Model, Model?>, isWritten: Bool, size: Int? = nil) throws {
    (self.isWritten, self.size) = (isWritten, size)
    var query = Statement<Model, [Model]>(row.tree).asSelect().query
    table = query.table
    try table.checkDeclarations()
    guard let position = table.position(of: ColumnReference(column)) else {
      throw SqlError.missing(ColumnReference(column), in: [table])
    }
    self.column = table.columns[position]
    guard table.view == nil, !table.isWithoutRowid else {
      throw SqlError.misuse(
        "a blob of a view, or of a table without rowid, can't be opened; read the whole value with a statement"
      ).at(table: table.name)
    }
    guard query.clauses.sources.count == 1, query.clauses.compounds.isEmpty, query.clauses.groups.isEmpty else {
      throw SqlError.misuse(
        "a blob can only be opened with a read of one table without joins, groups or unions, such as `byId` or `first`"
      ).at(table: table.name)
    }
    database = table.database ?? "main"
    if table.database == nil { query.clauses.read(fromDatabase: database) }
    selection = query
  }

  /// Returns the object that records this write in the change log; nil for a read, or if the table is not logged.
  func log(_ rowid: String, _ id: Int64, on connection: Connection) throws -> LoggedBlob? {
    guard isWritten, database.isSameName(as: "main") else { return nil }
    return try LoggedBlob(column.name, of: table.name, size: size, rowid: rowid, id: id, on: connection)
  }

  /// Returns the query for the row's rowid and the type of the value.
  func query(ofRowid rowid: String) -> SelectQuery {
    var query = selection
    let text = SqlExpression.Fragment(texts: [[UInt8](rowid.quotedName.utf8)], hasQuery: false)
    let value = SqlExpression(.column(ColumnReference(column)))
    query.clauses.results = [
      .term(SqlExpression(.special(.init(form: .fragment(text), terms: [])))), .term(value.call(.typeof)),
    ]
    return query
  }
}

extension SqlError {
  fileprivate func at(_ place: BlobPlace) -> SqlError { at(table: place.table.name, column: place.column.name) }
}
