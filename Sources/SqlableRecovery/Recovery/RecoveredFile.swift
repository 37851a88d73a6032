import CSqlableSQLite
import FoundationEssentials
import Glibc
import SqlableBackup
import SqlableCore
import SqlableSchema

/// The new file for the recovered rows. The file has a temporary name until it is complete.
final class RecoveredFile {
  let connection: Connection
  private let file: PartialFile
  private let path: String
  private let encoding: TextEncoding
  /// The number of all rows inserted so far. The transaction is committed after every 5,000 rows.
  private var pendingRows = 0
  private var aside: (table: String, columns: Int)?
  private(set) var rowsSetAside = 0

  /// Throws `.misuse` if the file exists, and `.busy` if another salvage into the file is running.
  ///
  /// - Parameters:
  ///   - encoding: The text encoding of the damaged file.
  ///   - stored: The text encoding of the new file. With a backup, this is the backup's encoding, because SQLite can't
  ///     attach a file with another encoding.
  init(
    path: String, _ geometry: PageGeometry, _ encoding: TextEncoding, stored: TextEncoding,
    functions: FunctionRegistry?
  ) throws {
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw SqlError.misuse("the path of the recovered file can't be empty or contain a NUL byte")
    }
    guard !FileManager.default.fileExists(atPath: path) else {
      throw SqlError.misuse("the recovered file already exists: \(path)")
    }
    self.path = path.begins(with: "/") ? path : FileManager.default.currentDirectoryPath + "/" + path
    self.encoding = encoding
    file = try PartialFile.make(beside: self.path, mode: 0o644, for: "salvage")
    connection = try Connection(
      path: file.path, flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI, label: path,
      cacheCapacity: 0)
    try functions?.apply(to: connection)
    // These settings do not protect the file if the process dies, but the file is then incomplete in any case. The
    // journal only undoes failed statements.
    for pragma in [
      "page_size = \(geometry.pageSize)", "encoding = \(stored.name.quotedText)", "journal_mode = MEMORY",
      "synchronous = OFF", "foreign_keys = OFF", "recursive_triggers = OFF",
    ] { try connection.pragma("PRAGMA " + pragma) }
  }

  /// Runs `body` in a transaction, and commits. If `body` or the commit throws, the file is deleted when this object is
  /// released.
  func making<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      try connection.pragma("BEGIN")
      let result = try body()
      try connection.pragma("COMMIT")
      return result
    } catch {
      connection.finalizeStatements()
      throw error
    }
  }

  /// Syncs the file to the disk, and gives the file its final name. Call `finish` after the last use of the connection.
  func finish() throws {
    try file.sync()
    try file.rename(to: path, replaces: false)
  }

  // MARK: Rows

  /// Runs a statement of the schema. Returns the error if the statement fails. Throws only errors that end the salvage.
  func attempt(_ sql: String) throws -> SqlError? {
    do { try connection.pragma(sql) } catch let error as SqlError where !error.endsSalvage { return error }
    return nil
  }

  func hasTable(_ name: String) throws -> Bool {
    try connection.pragma(
      "SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND lower(name) = lower(\(name.quotedText))") != nil
  }

  /// Inserts a row. Returns the error if the row is refused. Throws only errors that end the salvage.
  func insert(_ row: TreeCrawler.TreeRow, _ sink: TableSink) throws -> SqlError? {
    guard let record = row.record else { return nil }
    do {
      try sink.insert(rowid: row.rowid, record, encoding, connection)
    } catch let error as SqlError where !error.endsSalvage { return error }
    try didInsert()
    return nil
  }

  private func didInsert() throws {
    pendingRows += 1
    guard pendingRows.isMultiple(of: 5_000) else { return }
    try connection.pragma("COMMIT")
    try connection.pragma("BEGIN")
  }

  /// Stores a row in the lost-and-found table, because the row's table is unknown or refuses the row.
  func setAside(_ row: TreeCrawler.TreeRow, of table: String?, rowid: Bool, _ reason: String) throws {
    rowsSetAside += 1
    // Stay below SQLite's limit of 2,000 columns.
    let fields = (row.record?.fields ?? []).prefix(1_900)
    let name = try asideTable(columns: fields.count)
    let holders = [String](repeating: "?", count: 4 + fields.count).joined(separator: ", ")
    let columns = fields.indices.map { ", \"c\($0)\"" }.joined()
    let statement = try connection.prepareText(
      "INSERT INTO \(name.quotedName)(\"table\", \"page\", \"id\", \"reason\"\(columns)) VALUES (\(holders))")
    defer { statement.reset() }
    try statement.bindCopy(table.map { .text($0) } ?? .null, at: 1)
    try statement.bindCopy(.integer(Int64(row.page)), at: 2)
    try statement.bindCopy(rowid ? .integer(row.rowid) : .null, at: 3)
    try statement.bindCopy(.text(reason), at: 4)
    if let record = row.record {
      try record.bound(Array(fields), encoding, to: statement, from: 5) { _ = try statement.step() }
    } else {
      _ = try statement.step()
    }
    try didInsert()
  }

  private func asideTable(columns: Int) throws -> String {
    var aside = try self.aside ?? newAsideTable()
    while aside.columns < columns {
      try connection.pragma("ALTER TABLE \(aside.table.quotedName) ADD COLUMN \"c\(aside.columns)\"")
      aside.columns += 1
    }
    self.aside = aside
    return aside.table
  }

  private func newAsideTable() throws -> (table: String, columns: Int) {
    let names = try connection.rows("SELECT name FROM main.sqlite_schema").map { $0[0] }
    var (name, number) = ("lost_and_found", 1)
    while names.contains(where: { $0.isSameName(as: name) }) {
      number += 1
      name = "lost_and_found_\(number)"
    }
    try connection.pragma(
      "CREATE TABLE \(name.quotedName)(\"table\" TEXT, \"page\" INTEGER, \"id\" INTEGER, \"reason\" TEXT)")
    return (name, 0)
  }

  var lostAndFound: String? { aside?.table }
}

/// A table of the new file with its prepared INSERT statements.
final class TableSink {
  private let shape: TableShape
  private let isReplacing: Bool
  /// True if the table was created without constraints and generated columns, because SQLite refused the original SQL.
  private let isPlain: Bool
  private var statements: [Int: PreparedStatement] = [:]

  init(_ shape: TableShape, isPlain: Bool = false, isReplacing: Bool = false) {
    (self.shape, self.isPlain, self.isReplacing) = (shape, isPlain, isReplacing)
  }

  var name: String { shape.table.name }
  private func positions(of count: Int) -> [Int] {
    (0..<min(count, shape.columns.count)).filter { position in
      !shape.columns[position].isRowid && (isPlain || !shape.columns[position].isGenerated)
    }
  }

  /// The column name of the rowid; nil if the table has no rowid, or if no name refers to the rowid.
  var rowidColumn: String? {
    if shape.isWithoutRowid { return nil }
    return shape.columns.first(where: \.isRowid)?.name
      ?? String.rowidName(avoiding: shape.table.columns.map(\.name))
  }

  var columns: [String] { positions(of: shape.columns.count).map { shape.columns[$0].name } }

  /// Inserts a record. Columns that were added after the row was written get their default values.
  func insert(rowid: Int64, _ record: StoredRecord, _ encoding: TextEncoding, _ connection: Connection) throws {
    let positions = positions(of: record.fields.count)
    let statement: PreparedStatement
    if let known = statements[record.fields.count] {
      statement = known
    } else {
      let names = [rowidColumn].compactMap { $0 } + positions.map { shape.columns[$0].name }
      guard !names.isEmpty else { return }
      let list = names.map(\.quotedName).joined(separator: ", ")
      let holders = names.map { _ in "?" }.joined(separator: ", ")
      statement = try connection.prepareText(
        "INSERT \(isReplacing ? "OR REPLACE " : "")INTO main.\(name.quotedName)(\(list)) VALUES (\(holders))")
      statements[record.fields.count] = statement
    }
    defer { statement.reset() }
    var first: Int32 = 1
    if rowidColumn != nil {
      try statement.bindCopy(.integer(rowid), at: 1)
      first = 2
    }
    try record.bound(positions.map { record.fields[$0] }, encoding, to: statement, from: first) {
      _ = try statement.step()
    }
  }
}

extension StoredRecord {
  /// Binds the fields to the parameters `first`, `first + 1` and so on. Calls `body` while the bytes of the fields are
  /// valid.
  func bound(
    _ fields: [Field], _ encoding: TextEncoding, to statement: PreparedStatement, from first: Int32,
    _ body: () throws -> Void
  ) throws {
    try payload.withUnsafeBufferPointer { bytes in
      guard let base = bytes.baseAddress else { return try body() }
      for (index, field) in zip(first..., fields) {
        let (start, count) = (base + field.start, field.end - field.start)
        switch field.storage {
        case .null: try statement.bind(.null, at: index)
        case .integer: try statement.bind(.integer(integer(field) ?? 0), at: index)
        case .real: try statement.bind(.real(real(field) ?? 0), at: index)
        case .text: try statement.bind(text: start, count: count, encoding: encoding.rawValue, at: index)
        case .blob: try statement.bind(.blob(start, count), at: index)
        }
      }
      try body()
    }
  }
}

extension SqlError {
  /// True if the error ends the salvage, because no further row can be written to the new file.
  var endsSalvage: Bool {
    switch kind {
    case .full, .io, .outOfMemory, .corrupt, .cannotOpen, .busy, .interrupted: true
    default: false
    }
  }

  /// The message with the table, if the error names a table. Used in reports and in the lost-and-found table.
  var reason: String { table.map { "\(message) (\($0))" } ?? message }
}
