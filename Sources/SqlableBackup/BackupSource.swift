import Glibc
import SqlableCore

/// A connection to a database that is copied.
///
/// In WAL mode, the connection keeps one snapshot from the first page to the last. Without a snapshot, SQLite would
/// restart the copy after each commit of another connection, and a backup beside a busy writer would never end. The
/// cost: SQLite can't reset the WAL during the copy.
///
/// In other journal modes, a snapshot blocks writers, so each step reads without a snapshot. When commits have
/// restarted the copy `maximumRestarts` times, the source copies the remaining pages in a snapshot while writers wait.
///
/// `BackupSource` is safe as `@unchecked Sendable`: one thread at a time uses the connection.
package final class BackupSource: @unchecked Sendable {
  let db: SqliteDatabase
  let name: String
  let stop: BackupStop
  /// The path and state of a file that is read without locks, for detecting writes; nil for other sources.
  private var unlocked: (path: String, state: FileState)?
  private var hasSnapshot = false
  private var file: PartialFile?
  private static let maximumRestarts = 2

  private init(_ db: SqliteDatabase, _ name: String, _ stop: BackupStop) throws {
    (self.db, self.name, self.stop) = (db, name, stop)
    try db.locked { try db.openConnection().use(stop.interruption) }
  }

  deinit {
    // Roll back only if there is a transaction. Otherwise, the rollback would send an error to traces.
    if db.transactionLevel > 0 { try? db.rollbackTransaction() }
    try? db.close()
  }

  /// Opens a connection to the database of a handle, or to a database that the handle has attached.
  static func handle(_ parent: SqliteDatabase, _ options: BackupOptions, _ stop: BackupStop) throws -> BackupSource {
    try options.validate()
    guard parent.transactionLevel == 0 else {
      throw parent.misuse("can't back up inside a transaction: the backup would lack the transaction's changes")
    }
    let name = options.database
    var attached: [String: String] = [:]
    if name != "main" {
      guard let path = parent.configuration.attached[name] else {
        throw parent.misuse("no such attached database: \(name)")
      }
      let key = parent.configuration.attachedKeys[name] ?? parent.configuration.key
      guard (key ?? .unencrypted) == (parent.family.key ?? .unencrypted) else {
        throw parent.misuse(
          "the attached database \(name) has another key than the main database; back the attached database up with a "
            + "separate handle"
        )
      }
      attached[name] = path
    }
    // SQLite can't open an in-memory database read-only.
    let db = try parent.createChild(isReadOnly: !parent.isInMemory, attached: attached)
    return try BackupSource(db, name, stop)
  }

  /// Opens a file read-only. Uses the functions and the label of `handle`.
  ///
  /// A connection to a file in WAL mode creates a `-wal` and a `-shm` file, and a read-only connection can't delete
  /// them. If a file in WAL mode has no `-wal` file yet, the file is therefore opened as immutable: SQLite then creates
  /// neither file and takes no locks. In this case, ``checkUnchanged()`` detects writes.
  package static func file(_ path: String, for handle: SqliteDatabase?, _ stop: BackupStop) throws -> BackupSource {
    try BackupTarget.check(path)
    guard let info = FileIdentity.info(path) else { throw SqlError.system("find the backup", path, errno) }
    guard info.isRegular else {
      throw SqlError(.cannotOpen, message: "the path of the backup is not a regular file: \(path)")
    }
    // SQLite treats an empty file as a new database, so a restore would delete all contents.
    guard info.st_size > 0 else { throw SqlError(.notADatabase, message: "the backup is an empty file: \(path)") }
    let before = FileState(path)
    do {
      func open(isImmutable: Bool) throws -> SqliteDatabase {
        try handle?.openFile(at: path, isImmutable: isImmutable)
          ?? SqliteDatabase.openFile(at: path, isImmutable: isImmutable, as: Configuration())
      }
      let probe = try open(isImmutable: true)
      let requiresWAL = try probe.locked { try probe.openConnection().requiresWAL() }
      try probe.close()
      let isQuiet = requiresWAL && !before.hasWAL
      let source = try BackupSource(open(isImmutable: isQuiet), "main", stop)
      if isQuiet { source.unlocked = (path, before) }
      return source
    } catch var error as SqlError {
      // The read without locks ignored the journal, so an interrupted write can be the cause of the error.
      if [.notADatabase, .wrongKey, .corrupt].contains(error.kind), RawFile.hasHotJournal(path) {
        error = SqlError.needsRollback.labelled(error.label)
      }
      if [.notADatabase, .wrongKey].contains(error.kind), let file = try? RawFile(path: path) {
        if handle?.cipher != nil, file.isPlain {
          throw SqlError.misuse(
            "the backup is not encrypted, but the database is; restore a copy made with export(to:key:): \(path)")
        }
        if let handle, handle.cipher == nil, file.looksEncrypted {
          throw handle.misuse(
            "the backup is encrypted, but the database is not; restore a copy made with export(to:key: nil): \(path)")
        }
      }
      error.message = "can't open the backup \(path): \(error.message)"
      error.sql = nil
      throw error
    }
  }

  static func reading(_ db: SqliteDatabase, _ stop: BackupStop) throws -> BackupSource {
    try BackupSource(db, "main", stop)
  }

  /// Opens a temporary file, which exists as long as the source.
  static func file(_ file: PartialFile, for handle: SqliteDatabase, _ stop: BackupStop) throws -> BackupSource {
    let source = try BackupSource.file(file.path, for: handle, stop)
    source.file = file
    return source
  }

  func path() throws -> String {
    if db.isInMemory, name == "main" { return "" }
    return try db.locked { try db.openConnection().path(ofDatabase: name) }
  }

  /// True if a copy of the database's pages has a header that requires WAL mode.
  func requiresWAL() throws -> Bool {
    try db.locked {
      let connection = try db.openConnection()
      return try connection.requiresWAL(ofDatabase: name) || connection.journalMode(ofDatabase: name) == "wal"
    }
  }

  var cipher: Cipher? { db.cipher }

  func pageSize() throws -> Int { try db.locked { try db.openConnection().pageSize(ofDatabase: name) } }

  /// Begins the snapshot of a database in WAL mode. In any other mode, a snapshot blocks writers, and begins only if
  /// `anyMode` is true.
  func beginSnapshot(anyMode: Bool = false) throws {
    guard !hasSnapshot else { return }
    try db.locked {
      let connection = try db.openConnection()
      guard try anyMode || connection.journalMode(ofDatabase: name) == "wal" else { return }
      try db.beginTransaction(.deferred)
      // The first read starts the snapshot. For an attached database, the read must be in that database.
      try connection.pragma("PRAGMA \("schema_version".quotedName(inDatabase: name))")
      hasSnapshot = true
    }
  }

  /// Throws `.busy` if a file that is read without locks has changed or is no longer at its path.
  func checkUnchanged() throws {
    if let unlocked, FileState(unlocked.path) != unlocked.state {
      throw SqlError(.busy, message: "the backup changed while it was read: \(unlocked.path)")
    }
    try db.locked { try db.checkFile(db.openConnection(), isRead: true) }
  }

  /// Copies all pages into `target`, in steps.
  ///
  /// - Parameter commit: A function that gets the last step as a closure, calls this closure, and commits. Nil if the
  ///   target is a separate file.
  func copy(to target: Connection, _ options: BackupOptions, _ commit: ((() throws -> Bool) throws -> Void)? = nil)
    throws
  {
    try beginSnapshot()
    try db.locked {
      let pageSize = try pageSize()
      let copy = try PageCopy(of: name, on: db.openConnection(), to: target)
      let pages = Int32(clamping: options.pagesPerStep)
      let check = { [stop] in
        try stop.check()
        try target.checkInterruption()
      }
      let begin = ContinuousClock.now
      var (isDone, restarts, copied, left) = (false, 0, 0, Int.max)
      while !isDone {
        try check()
        if let commit, copy.remaining <= options.pagesPerStep {
          try checkUnchanged()
          try commit {
            isDone = try copy.step(pages)
            return isDone
          }
        } else {
          isDone = try copy.step(pages)
        }
        if !isDone, copy.remaining >= left {
          restarts += 1
          if restarts == BackupSource.maximumRestarts { try beginSnapshot(anyMode: true) }
        }
        left = copy.remaining
        copied += min(options.pagesPerStep, copy.total)
        let progress = BackupProgress(copiedPages: copy.total - left, totalPages: copy.total, pageSize: pageSize)
        // Ignore an error of the progress closure after the commit, because the restore can't be stopped any more.
        if isDone, commit != nil { try? options.progress?(progress) } else { try options.progress?(progress) }
        if let limit = options.bytesPerSecond, !isDone {
          let due = Double(copied) * Double(pageSize) / Double(limit)
          try stop.sleep(until: begin + .seconds(due), check)
        }
      }
    }
    if commit == nil { try checkUnchanged() }
  }
}
