import CSqlableSQLite
import FoundationEssentials
import Glibc

package enum Location: Sendable {
  case file(String)
  /// A database in memory. ``MemoryFileSystem`` stores the database under this name while a connection is open.
  case memory(name: String)

  static func newMemory() -> Location { .memory(name: MemoryFileSystem.newDatabaseName()) }

  /// Throws for a path such as `~/bikes.sqlite`, because only a shell expands `~`. Does not access any file.
  func validate() throws {
    guard case .file(let path) = self, path.beginsAtHome else { return }
    throw SqlError.misuse("the path of the database \(String.homeIsNotExpanded)")
  }

  var filepath: String {
    switch self {
    case .file(let path): path
    case .memory: ""
    }
  }

  /// The absolute path without symbolic links; empty for a database in memory.
  var absolutePath: String {
    guard case .file(let path) = self else { return "" }
    return Location.absolutePath(path, links: 0)
  }

  private static func absolutePath(_ path: String, links: Int) -> String {
    let absolute = path.begins(with: "/") ? path : FileManager.default.currentDirectoryPath + "/" + path
    if let resolved = resolved(absolute) { return resolved }
    // The file or its directory does not exist, so resolve the directory and the link separately.
    let end = absolute.utf8.lastIndex(of: UInt8(ascii: "/")) ?? absolute.startIndex
    let directory = resolved(String(absolute[..<end])) ?? String(absolute[..<end])
    if links < 40, let target = try? FileManager.default.destinationOfSymbolicLink(atPath: absolute) {
      return absolutePath(target.begins(with: "/") ? target : directory + "/" + target, links: links + 1)
    }
    return (directory == "/" ? "" : directory) + String(absolute[end...])
  }

  private static func resolved(_ path: String) -> String? {
    FileIdentity.resolved(path.isEmpty ? "/" : path)
  }

  /// Opens the database.
  ///
  /// - Parameters:
  ///   - path: The path of the file; nil for the location's path.
  ///   - creates: True if SQLite may create the file.
  func open(_ configuration: Configuration, at path: String?, creates: Bool) throws -> Connection {
    let connection: Connection
    switch self {
    case .file(let given):
      let path = path ?? given
      try Location.prepareDirectory(for: path, configuration)
      let flags = creates ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READWRITE
      connection = try Location.connect(to: path, flags, configuration)
    case .memory(let name):
      guard !configuration.isReadOnly else { throw SqlError.misuse("an in-memory database can't be opened read-only") }
      let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | configuration.flagsForAttaching
      if Library.sharesMemory {
        guard let system = MemoryFileSystem.name else {
          throw SqlError(
            .cannotOpen, message: "in-memory databases need an SQLite built with memdb")
        }
        connection = try Connection(
          path: name, flags: flags, fileSystem: system, label: configuration.label,
          cacheCapacity: configuration.statementCacheBytes)
      } else {
        connection = try Connection(
          path: ":memory:", flags: flags, label: configuration.label, cacheCapacity: configuration.statementCacheBytes)
      }
    }
    for (name, path) in configuration.attached where !configuration.attachedReadOnly.contains(name) {
      try Location.prepareDirectory(for: path, configuration)
    }
    try connection.prepare(configuration, isInMemory: filepath.isEmpty)
    return connection
  }

  func open(_ configuration: Configuration) throws -> Connection {
    try open(configuration, at: nil, creates: true)
  }

  /// Opens another connection to `parent`'s database. Throws `.io` if `parent`'s file is no longer at its path.
  func openChild(of parent: Connection, _ configuration: Configuration) throws -> Connection {
    guard case .file = self else {
      guard Library.sharesMemory else {
        throw SqlError.misuse(Library.needed(for: "a child handle of an in-memory database", since: 36))
      }
      return try open(configuration)
    }
    // Check the parent before and after the child is opened, because another file could be moved to the path meanwhile.
    try Location.check(parent)
    // Use the path that SQLite resolved, because the working directory might have changed. SQLite must not create the
    // file.
    let connection = try Location.connect(to: parent.absolutePath, SQLITE_OPEN_READWRITE, configuration)
    try Location.check(connection)
    try Location.check(parent)
    try connection.prepare(configuration, isInMemory: false)
    return connection
  }

  private static func connect(to path: String, _ flags: Int32, _ configuration: Configuration) throws -> Connection {
    let isImmutable = configuration.isReadOnly && configuration.isImmutable
    // With SQLITE_OPEN_URI, SQLite would read a relative path that begins with `file:` as a URI, so `./` is added.
    let isURILike = path.begins(with: "file:")
    return try Connection(
      path: isImmutable ? uri(path, "immutable=1") : isURILike ? "./" + path : path,
      flags: (isImmutable
        ? SQLITE_OPEN_READONLY | SQLITE_OPEN_URI : configuration.isReadOnly ? SQLITE_OPEN_READONLY : flags)
        | configuration.flagsForAttaching,
      label: configuration.label, cacheCapacity: configuration.statementCacheBytes,
      cipher: Cipher(configuration.key, configuration.cipher), isCompact: configuration.isCompact)
  }

  /// Returns the URI with which SQLite opens a file with an option, such as `immutable=1`.
  fileprivate static func uri(_ path: String, _ option: String) -> String {
    let isPlain = { (byte: UInt8) in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"),
        UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
        true
      default: false
      }
    }
    let digits = Array("0123456789ABCDEF".utf8)
    let encoded = path.utf8.flatMap { byte -> [UInt8] in
      isPlain(byte) ? [byte] : [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }
    // A URI has a host name after two slashes. An empty host keeps a path that begins with `//` from being misread.
    return (path.begins(with: "/") ? "file://" : "file:") + String(decoding: encoded, as: UTF8.self) + "?" + option
  }

  private static func check(_ connection: Connection) throws {
    guard !connection.fileHasMoved else {
      throw SqlError(.io, message: "can't create a child handle: the database file was moved or deleted")
    }
  }

  /// Returns a file's size in bytes, or 0 without a file. Does not open the file: closing it would drop SQLite's locks.
  package static func size(ofFileAt path: String) -> Int {
    var info = stat()
    return stat(path, &info) == 0 ? Int(info.st_size) : 0
  }

  private static func prepareDirectory(for path: String, _ configuration: Configuration) throws {
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw SqlError.misuse("the path of a database can't be empty or contain a NUL byte")
    }
    var info = stat()
    // SQLite can open a directory read-only, and then fails only at the first read, with an I/O error. Opening a pipe
    // read-only waits for a writer.
    if stat(path, &info) == 0 {
      guard info.st_mode & S_IFMT != S_IFREG else { return }
      let kind = info.st_mode & S_IFMT == S_IFDIR ? "is a directory" : "is not a regular file"
      throw SqlError(.cannotOpen, message: "the path of the database \(kind): \(path)")
    }
    let end = path.utf8.lastIndex(of: UInt8(ascii: "/"))
    let directory = end.map { String(decoding: path.utf8[..<$0], as: UTF8.self) } ?? ""
    guard configuration.createsDirectories, !configuration.isReadOnly, !directory.isEmpty,
      !FileManager.default.fileExists(atPath: directory)
    else { return }
    do {
      try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    } catch {
      throw SqlError(.cannotOpen, message: "can't create the directory of the database: \(directory)")
    }
  }
}

extension String {
  /// True for `~`, `~/…` and `~name/…`, which a shell expands to a home directory. `~name` can be a file's name.
  var beginsAtHome: Bool { begins(with: "~") && (utf8.count == 1 || utf8.contains(UInt8(ascii: "/"))) }

  /// The end of the message for a path that `beginsAtHome`.
  static let homeIsNotExpanded =
    "begins with ~, which is not expanded; pass an absolute path, or write ./~ for a file whose name begins with ~"
}

extension Configuration {
  /// The flag that lets ATTACH open a file read-only, by a URI.
  fileprivate var flagsForAttaching: Int32 { attachedReadOnly.isEmpty ? 0 : SQLITE_OPEN_URI }
}

extension Connection {
  fileprivate func prepare(_ configuration: Configuration, isInMemory: Bool) throws {
    try apply(configuration, isInMemory: isInMemory)
    isKeyProven = true
    // Load extensions first, because attached files might need them.
    for item in configuration.extensions { try load(item) }
    try attach(configuration)
  }

  private func apply(_ configuration: Configuration, isInMemory: Bool) throws {
    if !isInMemory { busyWait.touchedFile = GateRecord.path(besideFileAt: absolutePath) }
    setBusyTimeout(milliseconds: Int32(configuration.busyTimeout * 1000))
    try setFlag(SQLITE_DBCONFIG_DQS_DML, false)  // "nosuch" is a missing column, not a string
    try setFlag(SQLITE_DBCONFIG_DQS_DDL, false)
    try setFlag(SQLITE_DBCONFIG_TRUSTED_SCHEMA, configuration.trustsSchema)
    if !configuration.trustsSchema { try FullTextModule.prepareForDistrust(self) }
    try setFlag(SQLITE_DBCONFIG_DEFENSIVE, true)
    try setFlag(SQLITE_DBCONFIG_ENABLE_FKEY, configuration.foreignKeys)
    try pragma("PRAGMA recursive_triggers = \(configuration.recursiveTriggers ? "ON" : "OFF")")
    firesDeleteTriggersOnReplace = configuration.recursiveTriggers
    try pragma("PRAGMA secure_delete = \(configuration.secureDelete.rawValue)")
    try pragma("PRAGMA synchronous = \(configuration.synchronous.rawValue)")
    try pragma("PRAGMA cache_size = -\(configuration.cacheSize)")
    if let pages = configuration.maximumPageCount { try pragma("PRAGMA max_page_count = \(pages)") }
    guard !isInMemory else { return }
    setAutocheckpoint(pages: configuration.walAutocheckpoint)
    // Setting the journal mode reads the file for the first time, so a file of another format is rejected here.
    guard configuration.isReadOnly else {
      // SQLite opens a write-protected file read-only, and would report the problem only at the first write.
      guard !isReadOnly else {
        throw SqlError(.readOnly, message: "can't write to the database file")
      }
      let mode = try setJournalMode("journal_mode", configuration)
      guard mode == configuration.journalMode.rawValue else {
        throw SqlError(
          .cannotOpen, message: "can't change the journal mode to \(configuration.journalMode.rawValue)")
      }
      return
    }
    try pragma("PRAGMA schema_version")
  }

  private func attach(_ configuration: Configuration) throws {
    for (name, path) in configuration.attached.ordered(by: { $0.key < $1.key }) {
      let isShared = configuration.attachedReadOnly.contains(name)
      do {
        guard !isShared || FileIdentity.info(path)?.isRegular == true else {
          throw SqlError(.cannotOpen, message: "no such file: \(path)")
        }
        try attach(
          isShared ? Location.uri(path, "mode=ro") : path, as: name,
          configuration.attachedKeys[name] ?? configuration.key)
        try checkLastAttached()
        let setting = { (setting: String) in setting.quotedName(inDatabase: name) }
        try pragma("PRAGMA \(setting("secure_delete")) = \(configuration.secureDelete.rawValue)")
        try pragma("PRAGMA \(setting("synchronous")) = \(configuration.synchronous.rawValue)")
        try pragma("PRAGMA \(setting("cache_size")) = -\(configuration.cacheSize)")
        if configuration.isReadOnly || isShared {
          try pragma("PRAGMA \(setting("schema_version"))")
        } else if try setJournalMode(setting("journal_mode"), configuration) != configuration.journalMode.rawValue {
          throw SqlError(.cannotOpen, message: "can't change the journal mode to \(configuration.journalMode.rawValue)")
        }
      } catch var error as SqlError {
        error.message = "the attached database \(name): \(error.message)"
        throw error
      }
    }
  }

  /// Throws `.misuse` if the last attached file is already open in this connection under another name, and detaches the
  /// file. A transaction that writes under both names would wait for its own lock.
  func checkLastAttached() throws {
    var files: [(name: String, file: FileIdentity?)] = try rows("PRAGMA database_list").map {
      ($0[1], $0[2].isEmpty ? nil : FileIdentity($0[2]))
    }
    guard let last = files.popLast(), let file = last.file, let other = files.first(where: { $0.file == file })
    else { return }
    _ = try? pragma("DETACH \(last.name.quotedName)")
    throw SqlError.misuse(
      "the attached file is already open as database \(other.name); attach each file only once")
  }

  /// Sets the journal mode, and returns the resulting mode.
  ///
  /// A change of mode needs exclusive access to the file. SQLite ignores the busy timeout for this access, so this
  /// method retries. Otherwise, connections that open a new file at the same time would fail with `.busy`.
  private func setJournalMode(_ name: String, _ configuration: Configuration) throws -> String? {
    let end = ContinuousClock.now + .seconds(configuration.busyTimeout)
    var pause: UInt32 = 500
    while true {
      do {
        return try pragma("PRAGMA \(name) = \(configuration.journalMode.rawValue)")
      } catch let error as SqlError where error.kind == .busy && ContinuousClock.now < end {
        // The pause is random, so that waiting connections do not retry at the same time.
        usleep(UInt32.random(in: pause / 2...pause))
        pause = min(pause * 2, 50_000)
      }
    }
  }
}
