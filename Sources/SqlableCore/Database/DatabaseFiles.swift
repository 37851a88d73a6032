import CSqlableSQLite
import FoundationEssentials
import Glibc

/// The files of a database: the database file, and the files that SQLite and pools create beside it.
///
/// ```swift
/// let files = DatabaseFiles(of: "/var/lib/bikes/bikes.sqlite")
/// print(files.paths)     // ["/var/lib/bikes/bikes.sqlite", "/var/lib/bikes/bikes.sqlite-wal", …]
/// print(files.size)      // 1052672
/// try files.move(to: "/srv/bikes.sqlite")
/// ```
///
/// Creating the value opens no file. A symbolic link at the path is followed. While this process has the database open,
/// use only `paths` and `size`.
public struct DatabaseFiles: Sendable, Hashable {
  /// The path of the database file.
  public let filepath: String
  private let key: EncryptionKey?
  private let cipher: CipherSettings

  /// Creates the value for the database at a path. Moving or copying an encrypted database requires its key.
  public init(of filepath: String, key: EncryptionKey? = nil, cipher: CipherSettings = CipherSettings()) {
    (self.filepath, self.key, self.cipher) = (filepath, key, cipher)
  }

  /// True if the paths are equal.
  public static func == (left: DatabaseFiles, right: DatabaseFiles) -> Bool { left.filepath == right.filepath }

  public func hash(into hasher: inout Hasher) { hasher.combine(filepath) }

  /// The suffixes of the files beside the database: WAL, shared memory, rollback journal and the pools' lock file.
  static let endings = ["-wal", "-shm", "-journal", "-gate"]

  /// The paths of the existing files, the database file first.
  public var paths: [String] {
    let resolvedPath = resolvedPath
    return ([""] + DatabaseFiles.endings).map { resolvedPath + $0 }.filter {
      FileManager.default.fileExists(atPath: $0)
    }
  }

  /// The path of the database file. If the file is a symbolic link, the path of the target, because SQLite keeps the
  /// WAL beside the target.
  private var resolvedPath: String {
    guard FileIdentity.linkInfo(filepath)?.isLink == true else { return filepath }
    return FileIdentity.resolved(filepath) ?? filepath
  }

  /// The total size of the files, in bytes. Commits increase the size until a checkpoint has copied the WAL.
  public var size: Int { paths.reduce(0) { $0 + Location.size(ofFileAt: $1) } }

  /// Deletes the files. Missing files are not an error.
  ///
  /// Close the handles first: after the deletion, a write on an open handle throws `.io`, and a read returns old rows.
  /// With `overwriting`, the contents are overwritten with zeros and flushed before the deletion. The contents are
  /// erased only if the file system and the device write in place, unlike copy-on-write file systems and SSDs. A
  /// symbolic link is deleted together with the files of its target. Throws `.misuse` for a directory, which is not
  /// deleted, and `.io` for a file that can't be deleted.
  public func remove(overwriting: Bool = false) throws {
    try check(filepath)
    let resolvedPath = resolvedPath
    for path in DatabaseFiles.endings.reversed().map({ resolvedPath + $0 }) + Set([resolvedPath, filepath]) {
      if overwriting, path != filepath || path == resolvedPath { try overwrite(path) }
      do {
        try FileManager.default.removeItem(atPath: path)
      } catch let error as CocoaError where error.code == .fileNoSuchFile {
        continue
      } catch {
        throw SqlError(.io, message: "can't delete the database file, or a WAL or journal beside the file")
      }
    }
  }

  /// Moves the database to another path of the same file system, in one atomic step.
  ///
  /// The move first copies the WAL into the database file. Throws `.busy` if a connection, in any process, has the
  /// database open in WAL mode, or reads or writes it in another mode. A process that opens the database during the
  /// move might still open the old path. The moved file is not in WAL mode; the next handle turns WAL mode on again.
  ///
  /// A symbolic link is deleted, and its target is moved.
  ///
  /// Throws `.misuse` if a file exists at the new path, and `.cannotOpen` if there is no database. Throws `.io` if the
  /// new path is on another file system or can't be written to. After an error, the database is still at the old path.
  public func move(to path: String) throws {
    try checkTarget(path)
    try exclusively { try rename(to: path) }
  }

  private func rename(to path: String) throws {
    let resolvedPath = resolvedPath
    // Delete these files before the rename, because afterwards another program can create a database at the old path.
    // SQLite has deleted the WAL, and a journal that still exists has no rows of this database.
    for ending in ["-journal", "-gate"] { unlink(resolvedPath + ending) }
    // Unlike rename, this call does not replace a file that was created at the new path meanwhile.
    guard sqlable_rename_to_new(resolvedPath, path) == 0 else {
      let reason = String(cString: strerror(errno))
      throw SqlError(.io, message: "can't move the database file to \(path): \(reason)")
    }
    if resolvedPath != filepath, FileIdentity.linkInfo(filepath)?.isLink == true { unlink(filepath) }
    for directory in Set([filepath, resolvedPath, path].map(directory(ofFileAt:))) { try? syncDirectory(directory) }
  }

  /// Copies the database into a new file, which appears at the path once the copy is complete and synced.
  ///
  /// Like ``move(to:)``, the copy first copies the WAL into the database file. An exclusive lock keeps other processes
  /// from reading and writing during the copy. Call this method inside `withClosed` of a handle or pool. To copy a
  /// database in use, call ``SqliteDatabase/backup(to:_:)-(String,_)``. A crash leaves at most a file named
  /// `….sqlable-copy`, which the next copy to the path removes.
  ///
  /// Throws `.misuse` if a file exists at the path, or if another program's file has the temporary name. Throws
  /// `.cannotOpen` if there is no database. Throws `.busy` like `move`, and if another copy to the path is running.
  /// Also throws `.full` and other errors of the file system.
  public func copy(to path: String) throws {
    try checkTarget(path)
    try exclusively { try copyFile(to: path) }
  }

  private func copyFile(to path: String) throws {
    let source = open(filepath, O_RDONLY | O_CLOEXEC)
    guard source >= 0 else { throw SqlError.system("open", filepath, errno, isRead: true) }
    defer { close(source) }
    let copy = try PartialFile.make(at: path + ".sqlable-copy", mode: 0o600, for: "copy")
    var (bytes, offset) = ([UInt8](repeating: 0, count: 1 << 20), 0)
    while true {
      let count = read(source, &bytes, bytes.count)
      guard count >= 0 else { throw SqlError.system("read", filepath, errno) }
      if count == 0 { break }
      try bytes.withUnsafeBytes { bytes in
        try writeAll(UnsafeRawBufferPointer(rebasing: bytes[..<count]), to: copy.descriptor, at: offset, path)
      }
      offset += count
    }
    var info = stat()
    guard fstat(source, &info) == 0 else { throw SqlError.system("read", filepath, errno) }
    try copy.setMode(info.st_mode)
    try copy.sync()
    try copy.rename(to: path, replaces: false)
    try syncDirectory(directory(ofFileAt: path))
  }

  /// Throws if the database does not exist, or if a file exists at the target. Allows the lock file of pools at the
  /// target.
  private func checkTarget(_ path: String) throws {
    try check(filepath)
    try check(path)
    guard FileManager.default.fileExists(atPath: filepath) else {
      throw SqlError(.cannotOpen, message: "no such database file: \(filepath)")
    }
    guard DatabaseFiles(of: path).paths.allSatisfy({ $0 == GateRecord.path(besideFileAt: path) }) else {
      throw SqlError.misuse("can't create \(path): the file, or a WAL or journal beside it, already exists")
    }
  }

  /// Copies the WAL into the database file, deletes the WAL, and calls `body` with an exclusive lock. Throws `.busy` if
  /// another connection has the file open in WAL mode, or reads or writes it in another mode.
  package func exclusively(_ body: () throws -> Void) throws {
    let configuration = Configuration(
      createsDirectories: false, busyTimeout: 0, journalMode: .delete, key: key, cipher: cipher)
    // Don't create a file: if another program has moved the file meanwhile, an empty database must not take its place.
    let db = try SqliteDatabase.openOther(at: filepath, configuration, nil, creates: false)
    try db.beginTransaction(.exclusive)
    defer {
      // Roll back instead of committing: a commit would throw if `body` has moved the file.
      try? db.rollbackTransaction()
      try? db.close()
    }
    try db.locked { try db.checkFile(db.openConnection()) }
    try body()
  }

  private func check(_ path: String) throws {
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw SqlError.misuse("the path of a database can't be empty or contain a NUL byte")
    }
    // Rejects a directory, because `removeItem` would delete it with all its contents.
    var isDirectory = false
    if FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory), isDirectory {
      throw SqlError.misuse("the path of the database is a directory: \(path)")
    }
  }

  private func overwrite(_ path: String) throws {
    let file = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW)
    guard file >= 0 else {
      guard errno == ENOENT else { throw SqlError(.io, message: "can't overwrite the file \(path)") }
      return
    }
    defer { close(file) }
    let (zeros, size) = ([UInt8](repeating: 0, count: 1 << 20), Location.size(ofFileAt: path))
    for offset in stride(from: 0, to: size, by: zeros.count) {
      try zeros.withUnsafeBytes { zeros in
        let part = UnsafeRawBufferPointer(rebasing: zeros[..<min(zeros.count, size - offset)])
        try writeAll(part, to: file, at: offset, path)
      }
    }
    guard fsync(file) == 0 else { throw SqlError(.io, message: "can't overwrite the file \(path)") }
  }
}

extension SqliteDatabase {
  /// Deletes the database at a path: the file itself, its WAL (`-wal`), shared memory (`-shm`), rollback journal
  /// (`-journal`), and the lock file of pools (`-gate`).
  ///
  /// Missing files are not an error. Throws `.misuse` for a directory, which is not deleted. Close the handles first:
  /// after the deletion, a write on an open handle throws `.io`, and a read returns old rows.
  public static func deleteDatabase(at filepath: String) throws { try DatabaseFiles(of: filepath).remove() }

  /// The files of the database. An in-memory database has no files.
  public var files: DatabaseFiles { files(at: filepath) }

  /// Opens the database at a file URL; see ``init(filepath:configuration:)``. Throws `.misuse` for a URL that is not a
  /// file URL.
  public convenience init(url: URL, configuration: Configuration = Configuration()) throws {
    try self.init(filepath: url.databasePath, configuration: configuration)
  }

  /// True if a database can be opened at a path with this configuration. Creates no file, except an empty WAL and its
  /// index beside a file in WAL mode.
  ///
  /// ```swift
  /// if SqliteDatabase.canOpen(at: path) { … }
  /// ```
  ///
  /// True for a database file, even a damaged file if its schema can be read. Also true for a path where a database can
  /// be created, unless the configuration is read-only. False for a file of another format, and for a file that can't
  /// be read. Unless the configuration is read-only, also false without permission to write to the file. The same
  /// applies to the directory if opening must create a journal or WAL there.
  ///
  /// The files in ``Configuration/attached`` are checked in the same way. False if one file is attached twice. Does not
  /// load ``Configuration/extensions`` or run the `onOpen` actions, so opening can still throw their errors. The result
  /// can be outdated by the next call.
  public static func canOpen(at filepath: String, configuration: Configuration = Configuration()) -> Bool {
    guard (try? configuration.validate()) != nil, canOpenFile(at: filepath, configuration) else { return false }
    var paths = [filepath]
    for (name, path) in configuration.attached {
      var attached = configuration
      attached.isReadOnly = configuration.isReadOnly || configuration.attachedReadOnly.contains(name)
      attached.key = configuration.attachedKeys[name] ?? configuration.key
      attached.cipher = CipherSettings()
      guard canOpenFile(at: path, attached), !paths.contains(where: { isSameFile($0, path) }) else { return false }
      paths.append(path)
    }
    return true
  }

  /// True if a file can be opened with the configuration, but without the configuration's attached files.
  private static func canOpenFile(at filepath: String, _ configuration: Configuration) -> Bool {
    let location = Location.file(filepath)
    guard !filepath.isEmpty, !filepath.utf8.contains(0), (try? location.validate()) != nil else { return false }
    var info = stat()
    guard stat(filepath, &info) == 0 else { return errno == ENOENT && canCreate(filepath, configuration) }
    guard info.st_mode & S_IFMT == S_IFREG, configuration.isReadOnly || hasAccess(to: filepath, W_OK) else {
      return false
    }
    guard hasAccess(to: filepath, R_OK) else { return false }
    let mode = info.st_size == 0 ? "delete" : journalMode(ofFileAt: filepath, configuration)
    guard let mode else { return false }
    let createsJournal =
      switch configuration.journalMode {
      // If the file is in WAL mode, the call that read the mode has already opened or created the WAL.
      case .wal: mode != "wal"
      case .memory: mode == "wal"
      default: true
      }
    let parent = directory(ofFileAt: location.absolutePath)
    return configuration.isReadOnly || !createsJournal || hasAccess(to: parent, W_OK | X_OK)
  }

  private static func journalMode(ofFileAt path: String, _ configuration: Configuration) -> String? {
    let reading = Configuration(
      isReadOnly: true, busyTimeout: configuration.busyTimeout, key: configuration.key, cipher: configuration.cipher)
    do {
      let db = try SqliteDatabase(filepath: path, configuration: reading)
      defer { try? db.close() }
      _ = try db.query("SELECT count(*) FROM sqlite_schema", as: Int.self)
      return try db.query("PRAGMA journal_mode", as: String.self).first
    } catch {
      // Despite this error, a handle that can write can open the file: it rolls the interrupted write back.
      let needsRollback = (error as? SqlError)?.extendedCode == SqlError.needsRollback.extendedCode
      return needsRollback && !configuration.isReadOnly ? "delete" : nil
    }
  }

  /// True if two paths lead to the same file, or would lead to the same new file.
  package static func isSameFile(_ path: String, _ other: String) -> Bool {
    if let file = FileIdentity(path) { return file == FileIdentity(other) }
    return Location.file(path).absolutePath.isExactly(Location.file(other).absolutePath)
  }

  /// Checks the permissions of the effective user, as opening a file does.
  private static func hasAccess(to path: String, _ mode: Int32) -> Bool {
    faccessat(AT_FDCWD, path, mode, AT_EACCESS) == 0
  }

  private static func canCreate(_ filepath: String, _ configuration: Configuration) -> Bool {
    guard !configuration.isReadOnly else { return false }
    var directory = filepath
    repeat {
      guard let end = directory.utf8.lastIndex(of: UInt8(ascii: "/")) else { return hasAccess(to: ".", W_OK | X_OK) }
      directory = end == directory.startIndex ? "/" : String(decoding: directory.utf8[..<end], as: UTF8.self)
      var info = stat()
      if stat(directory, &info) == 0 {
        return info.st_mode & S_IFMT == S_IFDIR && hasAccess(to: directory, W_OK | X_OK)
      }
    } while configuration.createsDirectories && errno == ENOENT && directory != "/"
    return false
  }
}

extension URL {
  package var databasePath: String {
    get throws {
      guard isFileURL else { throw SqlError.misuse("the URL of a database must be a file URL") }
      return path(percentEncoded: false)
    }
  }
}
