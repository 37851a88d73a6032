import Glibc
import SqlableCore
import SqlablePool
import SqlableSchema

extension SqliteDatabase {
  /// Copies the database into a new file with another key, with other cipher settings, or without encryption.
  ///
  /// ```swift
  /// try db.export(to: "bikes-encrypted.sqlite", key: .rawFile("/run/secrets/bikes.key"))
  /// // ATTACH 'bikes-encrypted.sqlite' AS sqlable_export KEY …
  /// // SELECT sqlcipher_export('sqlable_export')
  /// ```
  ///
  /// The copy is one snapshot of the data committed at the start of the export: tables with their rowids, indexes,
  /// views, triggers, `user_version` and `application_id`. The export writes a temporary file, checks and syncs the
  /// file, and renames it. The new file gets the permissions of the database. `checks` works as for a backup;
  /// `.integrity` also compares the rowids.
  ///
  /// Blocks the thread; other threads can use the handle meanwhile. The method requires the package trait `SQLCipher`.
  /// Throws `.misuse` without the trait, inside a transaction, for an in-memory database, and if a file exists at the
  /// path. Throws `CancellationError` in a cancelled task.
  public func export(
    to path: String, key: EncryptionKey?, cipher: CipherSettings = CipherSettings(), checks: BackupChecks = .integrity
  ) throws {
    try export(to: path, key, cipher, checks, BackupStop(configuration, BackupOptions()))
  }

  fileprivate func export(
    to path: String, _ key: EncryptionKey?, _ cipher: CipherSettings, _ checks: BackupChecks, _ stop: BackupStop
  ) throws {
    try labelling {
      try Cipher.check()
      try cipher.validate()
      guard !isInMemory else { throw misuse("an in-memory database has no file to export") }
      guard cipher.plaintextHeaderSize == 0 || key?.hasSalt == true else {
        throw misuse("a file with a plaintext header can't store the salt; use raw(_:salt:)")
      }
      guard transactionLevel == 0 else {
        throw misuse("can't export inside a transaction: the copy would lack the transaction's changes")
      }
      let target = try BackupTarget(path)
      guard DatabaseFiles(of: target.path).paths.isEmpty else {
        throw misuse("can't create \(path): the file, or a WAL or journal beside it, already exists")
      }
      let file = try PartialFile.make(beside: target.path, mode: 0o600)
      do {
        try fill(file, Cipher(key, cipher), checks, stop)
        try checkExport(file, key, cipher, checks, stop)
      } catch {
        // Check for an interruption first, because SQLCipher reports an interruption as a general error.
        try stop.check()
        throw error
      }
      try file.sync()
      try stop.check()
      try file.rename(to: target)
    }
  }

  private func fill(_ file: PartialFile, _ cipher: Cipher?, _ checks: BackupChecks, _ stop: BackupStop) throws {
    let source = try createChild(isReadOnly: false, attached: [:])
    defer { try? source.close() }
    try source.locked {
      let connection = try source.openConnection()
      connection.use(stop.interruption)
      try connection.export(to: file.path, cipher, comparesRowids: checks.contains(.integrity))
      if let info = FileIdentity.info(connection.absolutePath) { try file.takePermissions(of: info) }
    }
  }

  func checkExport(
    _ file: PartialFile, _ key: EncryptionKey?, _ cipher: CipherSettings, _ checks: BackupChecks, _ stop: BackupStop
  ) throws {
    let reading = Configuration(
      label: configuration.label, isReadOnly: true, journalMode: .delete, foreignKeys: configuration.foreignKeys,
      key: key ?? .unencrypted, cipher: cipher)
    let copy = try SqliteDatabase.openOther(at: file.path, reading, functions)
    try BackupSource.reading(copy, stop).check(BackupOptions(checks: checks), "the exported copy")
  }
}

extension SqlitePool {
  /// Copies the database into a new file with another key, with other cipher settings, or without encryption.
  ///
  /// See ``SqliteDatabase/export(to:key:cipher:checks:)``. The deadline of ``withDeadline(_:_:)`` ends the export.
  /// `close` waits for a running export, as for any call. If the export still runs after the time of `close(within:)`,
  /// the pool stops the export, and the export throws `.closed`. Blocks the thread. In `async` code, use the overload
  /// with `await`.
  public func export(
    to path: String, key: EncryptionKey?, cipher: CipherSettings = CipherSettings(), checks: BackupChecks = .integrity
  ) throws {
    try backingUp(BackupOptions()) { [root] stop in try root.export(to: path, key, cipher, checks, stop) }
  }

  /// Copies the database into a new file with another key, on a separate thread.
  ///
  /// Throws `CancellationError` if the task is cancelled before the file is renamed to `path`; the temporary file is
  /// then deleted.
  public func export(
    to path: String, key: EncryptionKey?, cipher: CipherSettings = CipherSettings(), checks: BackupChecks = .integrity
  ) async throws {
    try await backingUp(BackupOptions()) { [root] stop in try root.export(to: path, key, cipher, checks, stop) }
  }
}

extension Connection {
  private static let exported = "sqlable_export"

  func export(to path: String, _ cipher: Cipher?, comparesRowids: Bool) throws {
    let settings = ["user_version", "application_id", "auto_vacuum"]
    let size = try pageSize()
    try attach(path, as: Connection.exported, cipher?.key)
    for (name, value) in cipher?.settings.pragmas ?? [("page_size", "\(size)")] {
      try pragma("PRAGMA \(name == "cipher_memory_security" ? "" : Connection.exported + ".")\(name) = \(value)")
    }
    try pragma("PRAGMA \(Connection.exported).journal_mode = OFF")
    try pragma("PRAGMA \(Connection.exported).synchronous = OFF")
    // `copyRowids` inserts rows that might reference missing rows, or violate a CHECK.
    try pragma("PRAGMA foreign_keys = OFF")
    try pragma("PRAGMA ignore_check_constraints = ON")
    try pragma("BEGIN")
    do {
      // The first read starts the snapshot.
      let values = try settings.map { try pragma("PRAGMA main.\($0)") ?? "0" }
      for (name, value) in zip(settings, values).reversed() {
        try pragma("PRAGMA \(Connection.exported).\(name) = \(value)")
      }
      try pragma("SELECT sqlcipher_export('\(Connection.exported)')")
      // The copy already contains the results of triggers, so copying rows must not fire triggers.
      try withoutTriggers {
        for table in try rowidTables() where try !hasSameRowids(table) { try copyRowids(of: table) }
      }
      if comparesRowids { for table in try rowidTables() { try checkRowids(of: table) } }
      try pragma("COMMIT")
    } catch {
      undoTransaction()
      throw error
    }
    try pragma("DETACH \(Connection.exported)")
  }

  /// A table with a rowid, and the name under which SQL can read the rowid.
  private typealias RowidTable = (name: String, rowid: String, columns: [String])

  /// Returns the tables whose rowids the copy must preserve. Tables whose rowid has no name are omitted.
  private func rowidTables() throws -> [RowidTable] {
    var tables: [RowidTable] = []
    let names = try rows(
      "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND rootpage > 0 AND name NOT GLOB 'sqlite_*'"
    ).map { $0[0] }
    for name in names {
      var (all, stored): ([String], [String]) = ([], [])
      for row in try rows("PRAGMA main.table_xinfo(\(name.quotedName))") {
        all.append(row[1])
        if row[6] == "0" { stored.append(row[1]) }
      }
      guard let rowid = String.rowidName(avoiding: all), !stored.isEmpty else { continue }
      // The query fails for a WITHOUT ROWID table.
      do { try pragma("SELECT \(rowid) FROM main.\(name.quotedName) LIMIT 0") } catch is SqlError { continue }
      tables.append((name, rowid, stored))
    }
    return tables
  }

  private func hasSameRowids(_ table: RowidTable) throws -> Bool {
    let (original, copy) = ("main.\(table.name.quotedName)", "\(Connection.exported).\(table.name.quotedName)")
    return try pragma(
      """
      SELECT (SELECT count(*) FROM \(original)) = (SELECT count(*) FROM \(copy)) AND NOT EXISTS
        (SELECT 1 FROM \(original) AS own WHERE NOT EXISTS
          (SELECT 1 FROM \(copy) AS copy WHERE copy.\(table.rowid) = own.\(table.rowid)))
      """) == "1"
  }

  /// Copies a table again with its rowids. `INSERT … SELECT *` assigns new rowids if a table has neither an integer key
  /// nor an index.
  private func copyRowids(of table: RowidTable) throws {
    let (original, copy) = ("main.\(table.name.quotedName)", "\(Connection.exported).\(table.name.quotedName)")
    let columns = ([table.rowid] + table.columns.map(\.quotedName)).joined(separator: ", ")
    try pragma("DELETE FROM \(copy)")
    try pragma("INSERT INTO \(copy)(\(columns)) SELECT \(columns) FROM \(original)")
  }

  private func checkRowids(of table: RowidTable) throws {
    guard try hasSameRowids(table) else {
      throw SqlError(
        .corrupt, message: "the rows of the exported copy have different rowids in table \(table.name)", label: label)
    }
  }
}
