import Glibc
import SqlableCore

/// A connection from which a database is copied.
///
/// In WAL mode it keeps one snapshot from the first page to the last. Without one, each commit of another connection
/// would make SQLite copy everything anew, and a backup beside a busy writer would never end. The price is that the
/// log can't be reused meanwhile. In the other modes a snapshot keeps others from writing, so there each step reads by
/// itself, until commits have made it begin anew `maximumRestarts` times: then the rest is copied while writers wait.
///
/// Sound as `Sendable`: it is used by one thread at a time.
package final class BackupSource: @unchecked Sendable {
  let db: SqliteDatabase
  let name: String
  let stop: BackupStop
  /// What a write to the file changes, if nothing locks it.
  private var unlocked: (path: String, state: FileState)?
  private var hasSnapshot = false
  /// The temporary file that it reads, if it has one.
  private var file: PartialFile?
  private static let maximumRestarts = 2

  private init(_ db: SqliteDatabase, _ name: String, _ stop: BackupStop) throws {
    (self.db, self.name, self.stop) = (db, name, stop)
    try db.locked { try db.openConnection().use(stop.interruption) }
  }

  deinit {
    try? db.rollbackTransaction()
    try? db.close()
  }

  /// A connection to the database of a handle, or to one that it has attached.
  static func handle(_ parent: SqliteDatabase, _ options: BackupOptions, _ stop: BackupStop) throws -> BackupSource {
    try options.validate()
    guard parent.transactionLevel == 0 else {
      throw parent.misuse("can't back up inside a transaction, whose changes the backup would lack")
    }
    let name = options.database
    var attached: [String: String] = [:]
    if name != "main" {
      guard let path = parent.configuration.attached[name] else {
        throw parent.misuse("there is no attached database \(name) to back up")
      }
      let key = parent.configuration.attachedKeys[name] ?? parent.configuration.key
      guard (key ?? .unencrypted) == (parent.family.key ?? .unencrypted) else {
        throw parent.misuse("the attached database \(name) has another key; back it up with a handle of its own")
      }
      attached[name] = path
    }
    // A database in memory can't be opened read-only.
    let db = try parent.createChild(isReadOnly: !parent.isInMemory, attached: attached)
    return try BackupSource(db, name, stop)
  }

  /// A file, which is only read.
  ///
  /// Reading a file in WAL mode makes two files beside it, which a connection that may not write can't delete again.
  /// Where no other connection has it open, it is read as a file that does not change; ``checkUnchanged()`` finds out
  /// whether it did.
  ///
  /// - Parameter handle: The handle whose functions and label it has; nil for a file of none.
  package static func file(_ path: String, for handle: SqliteDatabase?, _ stop: BackupStop) throws -> BackupSource {
    try BackupTarget.check(path)
    guard let info = FileIdentity.info(path) else { throw SqlError.system("find the backup", path, errno) }
    guard info.isRegular else {
      throw SqlError(.cannotOpen, message: "the path of the backup is a directory, or no file: \(path)")
    }
    // SQLite takes it for a new database, and would replace everything with nothing.
    guard info.st_size > 0 else { throw SqlError(.notADatabase, message: "the backup is an empty file: \(path)") }
    let before = FileState(path)
    do {
      func open(isImmutable: Bool) throws -> SqliteDatabase {
        try handle?.openFile(at: path, isImmutable: isImmutable)
          ?? SqliteDatabase.openFile(at: path, isImmutable: isImmutable, as: Configuration())
      }
      let probe = try open(isImmutable: true)
      let demandsLog = try probe.locked { try probe.openConnection().demandsLog() }
      try probe.close()
      let isQuiet = demandsLog && !before.hasLog
      let source = try BackupSource(open(isImmutable: isQuiet), "main", stop)
      if isQuiet { source.unlocked = (path, before) }
      return source
    } catch var error as SqlError {
      if [.notADatabase, .wrongKey].contains(error.kind), let file = try? RawFile(path: path) {
        if handle?.cipher != nil, file.isPlain {
          throw SqlError.misuse(
            "the backup is not encrypted, and the database is; restore a copy of it by export(to:key:): \(path)")
        }
        if let handle, handle.cipher == nil, file.looksEncrypted {
          throw handle.misuse(
            "the backup is encrypted, and the database is not; restore a copy of it by export(to:key: nil): \(path)")
        }
      }
      // SQLITE_READONLY_ROLLBACK
      if error.extendedCode == 776 {
        error.message = """
          a process was killed while it wrote to the file, and left a journal beside it, which only a connection that \
          may write rolls back; open the file once with a handle that is not read-only
          """
      }
      error.message = "can't open the backup \(path): \(error.message)"
      error.sql = nil
      throw error
    }
  }

  /// A handle of its own.
  static func reading(_ db: SqliteDatabase, _ stop: BackupStop) throws -> BackupSource {
    try BackupSource(db, "main", stop)
  }

  /// A temporary file, which lives as long as the source.
  static func file(_ file: PartialFile, for handle: SqliteDatabase, _ stop: BackupStop) throws -> BackupSource {
    let source = try BackupSource.file(file.path, for: handle, stop)
    source.file = file
    return source
  }

  /// The path of the database; empty for one in memory.
  func path() throws -> String {
    if db.isInMemory, name == "main" { return "" }
    return try db.locked { try db.openConnection().path(ofDatabase: name) }
  }

  /// Whether a copy of its pages demands WAL mode.
  func demandsLog() throws -> Bool {
    try db.locked {
      let connection = try db.openConnection()
      return try connection.demandsLog(ofDatabase: name) || connection.journalMode(ofDatabase: name) == "wal"
    }
  }

  /// How the database is encrypted; nil if it is not.
  var cipher: Cipher? { db.cipher }

  func pageSize() throws -> Int { try db.locked { try db.openConnection().pageSize(ofDatabase: name) } }

  /// Begins the snapshot. `anyMode` does so also where it keeps others from writing.
  func beginSnapshot(anyMode: Bool = false) throws {
    guard !hasSnapshot else { return }
    try db.locked {
      let connection = try db.openConnection()
      guard try anyMode || connection.journalMode(ofDatabase: name) == "wal" else { return }
      try db.beginTransaction(.deferred)
      // Of an attached database too, the first read begins it.
      try connection.pragma("PRAGMA \("schema_version".quotedName(inDatabase: name))")
      hasSnapshot = true
    }
  }

  /// Throws if the file has changed although nothing locks it, or is no longer at its path.
  func checkUnchanged() throws {
    if let unlocked, FileState(unlocked.path) != unlocked.state {
      throw SqlError(.busy, message: "the backup changed while it was read: \(unlocked.path)")
    }
    try db.locked { try db.checkFile(db.openConnection(), isRead: true) }
  }

  /// Copies all pages into `target`, in steps.
  ///
  /// - Parameter commit: Called with the last step, which commits. Without one, the target is a file of its own.
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
        // What is committed can't be stopped.
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
