import CSQLite
import FoundationEssentials
import Synchronization

/// Where a database is, and how a connection to it is opened.
enum Location: Sendable {
  case file(String)
  /// SQLite's memdb file system keeps it by this name for as long as a connection is open.
  case memory(name: String)

  private static let memoryCount = Atomic(0)

  static func newMemory() -> Location {
    .memory(name: "/sqlable-\(memoryCount.add(1, ordering: .relaxed).newValue)")
  }

  var filepath: String {
    switch self {
    case .file(let path): path
    case .memory: ""
    }
  }

  func open(_ configuration: Configuration) throws -> Connection {
    let connection: Connection
    switch self {
    case .file(let path):
      try Location.prepareDirectory(for: path, configuration)
      let flags =
        configuration.isReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
      connection = try Connection(
        path: path, flags: flags, isURI: false, label: configuration.label,
        cacheCapacity: configuration.statementCacheCapacity)
    case .memory(let name):
      guard !configuration.isReadOnly else { throw SqlError.misuse("a new database in memory can't be read-only") }
      connection = try Connection(
        path: "file:\(name)?vfs=memdb", flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, isURI: true,
        label: configuration.label, cacheCapacity: configuration.statementCacheCapacity)
    }
    try connection.apply(configuration, isInMemory: filepath.isEmpty)
    return connection
  }

  private static func prepareDirectory(for path: String, _ configuration: Configuration) throws {
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw SqlError.misuse("the path of a database can't be empty or hold a NUL byte")
    }
    var isDirectory = false
    // SQLite opens a directory for reading, and calls the first read from it a disk I/O error.
    if FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory), isDirectory {
      throw SqlError(.cannotOpen, message: "the path of the database is a directory: \(path)")
    }
    let components = path.split(separator: "/", omittingEmptySubsequences: false).dropLast()
    let directory = components.joined(separator: "/")
    guard configuration.createsDirectories, !configuration.isReadOnly, !directory.isEmpty,
      !FileManager.default.fileExists(atPath: directory)
    else { return }
    do {
      try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    } catch {
      throw SqlError(.cannotOpen, message: "the directory of the database can't be created: \(directory)")
    }
  }
}

extension Connection {
  /// Sets what a connection has of its own; SQLite's defaults are those of 2004, kept for compatibility.
  fileprivate func apply(_ configuration: Configuration, isInMemory: Bool) throws {
    setBusyTimeout(milliseconds: Int32(configuration.busyTimeout * 1000))
    try setFlag(SQLITE_DBCONFIG_DQS_DML, false)  // "nosuch" is a missing column, not a text
    try setFlag(SQLITE_DBCONFIG_DQS_DDL, false)
    try setFlag(SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)
    try setFlag(SQLITE_DBCONFIG_DEFENSIVE, true)
    try pragma("PRAGMA foreign_keys = \(configuration.foreignKeys ? "ON" : "OFF")")
    try pragma("PRAGMA secure_delete = \(configuration.secureDelete.rawValue)")
    try pragma("PRAGMA synchronous = \(configuration.synchronous.rawValue)")
    try pragma("PRAGMA cache_size = -\(configuration.cacheSize)")
    if let pages = configuration.maximumPageCount { try pragma("PRAGMA max_page_count = \(pages)") }
    guard !isInMemory else { return }
    try pragma("PRAGMA wal_autocheckpoint = \(configuration.walAutocheckpoint)")
    // The first statement that reads the file: it tells a file of another kind, or a directory, now and not later.
    guard configuration.isReadOnly else {
      // SQLite opens a file that it can't write to for reading, and would tell with the first write.
      guard !isReadOnly else {
        throw SqlError(.readOnly, message: "the database file can't be written to")
      }
      let mode = try pragma("PRAGMA journal_mode = \(configuration.journalMode.rawValue)")
      guard mode == configuration.journalMode.rawValue else {
        throw SqlError(
          .cannotOpen, message: "the database can't be put into journal mode \(configuration.journalMode.rawValue)")
      }
      return
    }
    try pragma("PRAGMA schema_version")
  }
}
