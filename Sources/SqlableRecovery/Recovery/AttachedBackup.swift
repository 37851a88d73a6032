import FoundationEssentials
import SqlableCore
import SqlableSchema

struct BackupHeader {
  let path: String
  let header: DatabaseHeader
  var encoding: TextEncoding? { header.encoding }

  /// Throws `.cannotOpen` for a file that can't be read, and `.notADatabase` for a file that is not a database.
  init(path: String) throws {
    let file = try RawFile(path: path)
    guard let header = DatabaseHeader(file.bytes(at: 0, count: 100)), header.isSound else {
      throw SqlError(.notADatabase, message: "the backup is not a database", label: path)
    }
    (self.path, self.header) = (path, header)
  }
}

struct AttachedBackup {
  static let name = "sqlable_backup"
  let entries: [SchemaEntry]

  init(_ backup: BackupHeader, to connection: Connection) throws {
    let isPlain = { (byte: UInt8) in
      (97...122).contains(byte.foldedLetter) || (48...57).contains(byte) || "/-._~".utf8.contains(byte)
    }
    let digits = Array("0123456789ABCDEF")
    let path =
      FileIdentity.resolved(backup.path) ?? FileManager.default.currentDirectoryPath + "/" + backup.path
    let escaped = path.utf8.map { byte in
      isPlain(byte) ? String(UnicodeScalar(byte)) : "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
    }.joined()
    // For a backup without a WAL, `immutable=1` prevents SQLite from creating files beside the backup.
    let hasWAL = FileManager.default.fileExists(atPath: path + "-wal")
    let uri = "file:\(escaped)?\(hasWAL ? "mode=ro" : "immutable=1")"
    try connection.pragma("ATTACH \(uri.quotedText) AS \(AttachedBackup.name)")
    entries = try connection.schemaEntries(of: AttachedBackup.name)
  }
}

extension SalvageRun {
  func completeFromBackup() throws {
    guard let backup else { return }
    for table in tables where !table.tally.isComplete && table.use != .none && !table.entry.isInternal {
      guard let sink = table.sink,
        let entry = backup.entries.first(where: {
          $0.type == "table" && $0.name.isSameName(as: table.entry.name)
        }), let old = try? SchemaReader.table(entry.sql)
      else { continue }
      try complete(table, sink, from: TableShape(old))
    }
  }

  private func complete(_ table: SalvagedTable, _ sink: TableSink, from old: TableShape) throws {
    let columns = sink.columns.filter { name in old.columns.contains { $0.name.isSameName(as: name) } }
    let source = "\(AttachedBackup.name).\(sink.name.quotedName)"
    guard let rowid = sink.rowidColumn else {
      // Without a rowid, lost rows can't be distinguished from rows that were deleted after the backup, so all rows are
      // copied.
      return try copy(table, columns, from: source, condition: "")
    }
    let oldRowid =
      old.columns.first(where: \.isRowid)?.name ?? String.rowidName(avoiding: old.table.columns.map(\.name))
    guard !old.isWithoutRowid, let oldRowid else { return }
    guard try keepsRowids(table, rowid, oldRowid, columns, source) else {
      report.problems.append(
        "rows of \(sink.name) were not restored from the backup: the backup stores these rows with other ids")
      return
    }
    for range in table.tally.missingRowids {
      let condition = """
        WHERE \(oldRowid.quotedName) BETWEEN \(range.lowerBound.literal) AND \(range.upperBound.literal)
          AND \(oldRowid.quotedName) NOT IN (SELECT \(rowid.quotedName) FROM main.\(sink.name.quotedName))
        """
      try copy(table, [rowid] + columns, taking: [oldRowid] + columns, from: source, condition: condition)
    }
  }

  private func copy(
    _ table: SalvagedTable, _ columns: [String], taking sourceColumns: [String]? = nil, from source: String,
    condition: String
  ) throws {
    let list = columns.map(\.quotedName).joined(separator: ", ")
    let values = (sourceColumns ?? columns).map(\.quotedName).joined(separator: ", ")
    let connection = output.connection
    let before = connection.totalChanges
    let target = "main.\(table.entry.name.quotedName)(\(list))"
    let sql = "INSERT OR IGNORE INTO \(target) SELECT \(values) FROM \(source) \(condition)"
    do { try connection.pragma(sql) } catch let error as SqlError where !error.endsSalvage || error.kind == .corrupt {
      report.problems.append("rows of \(table.entry.name) were not restored from the backup: \(error.message)")
    }
    table.rowsFromBackup += connection.rowsChanged(since: before)
  }

  /// True if a row has the same rowid in the backup as in the damaged file. VACUUM can change the rowids of a table
  /// that declares no column for the rowid.
  private func keepsRowids(
    _ table: SalvagedTable, _ rowid: String, _ oldRowid: String, _ columns: [String], _ source: String
  ) throws -> Bool {
    if table.shape?.columns.contains(where: \.isRowid) == true || columns.isEmpty { return true }
    let comparison = columns.map { "new.\($0.quotedName) IS old.\($0.quotedName)" }.joined(separator: " AND ")
    let counts = try output.connection.rows(
      """
      SELECT count(*), total(same) FROM (SELECT \(comparison) AS same FROM main.\(table.entry.name.quotedName) AS new
        JOIN \(source) AS old ON new.\(rowid.quotedName) = old.\(oldRowid.quotedName) LIMIT 200)
      """
    ).first
    guard let counts else { return true }
    let (all, equal) = (Int(counts[0]) ?? 0, Int(Double(counts[1]) ?? 0))
    return all == 0 || equal * 10 >= all * 8
  }
}

extension Int64 {
  /// The integer as SQL. The lowest integer has no literal: SQLite parses its digits without the sign as a real.
  var literal: String { self == .min ? "(-9223372036854775807 - 1)" : String(self) }
}
