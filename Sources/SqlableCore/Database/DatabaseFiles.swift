import CSqlableSQLite
import FoundationEssentials
import Glibc

/// The files of a database: the file itself, and those beside it.
///
/// ```swift
/// let files = DatabaseFiles(of: "/var/lib/bikes/bikes.sqlite")
/// print(files.paths)     // ["/var/lib/bikes/bikes.sqlite", "/var/lib/bikes/bikes.sqlite-wal", …]
/// print(files.size)      // 1052672
/// try files.move(to: "/srv/bikes.sqlite")
/// ```
///
/// A value that opens nothing until it is used. A symbolic link at the path stands for the file that it leads to. In
/// the process that has the database open, ask for paths and size only.
public struct DatabaseFiles: Sendable, Hashable {
  /// The path of the database file.
  public let filepath: String
  private let key: EncryptionKey?
  private let cipher: CipherSettings

  /// The files of the database at a path; moving and copying an encrypted one needs its key.
  public init(of filepath: String, key: EncryptionKey? = nil, cipher: CipherSettings = CipherSettings()) {
    (self.filepath, self.key, self.cipher) = (filepath, key, cipher)
  }

  /// Whether the paths are equal.
  public static func == (left: DatabaseFiles, right: DatabaseFiles) -> Bool { left.filepath == right.filepath }

  public func hash(into hasher: inout Hasher) { hasher.combine(filepath) }

  /// What SQLite and pools keep beside the file: the write-ahead log, its shared memory, the rollback journal and the
  /// lock file of pools.
  static let endings = ["-wal", "-shm", "-journal", "-gate"]

  /// The paths of the files that are there, the database file first.
  public var paths: [String] {
    let place = place
    return ([""] + DatabaseFiles.endings).map { place + $0 }.filter { FileManager.default.fileExists(atPath: $0) }
  }

  /// Where the file is: SQLite has the log beside the file that a symbolic link leads to.
  private var place: String {
    guard FileIdentity.linkInfo(filepath)?.isLink == true else { return filepath }
    return FileIdentity.resolved(filepath) ?? filepath
  }

  /// The size of all of them in bytes. Files grow by what is committed until a checkpoint has copied the log.
  public var size: Int { paths.reduce(0) { $0 + Location.size(ofFileAt: $1) } }

  /// Deletes the files. Missing ones are not an error.
  ///
  /// Close the handles first: one that is still open would write to a deleted file, and throws `.io` instead. With
  /// `overwriting` the contents are overwritten with zeros and flushed before: against reading the disk, as far as the
  /// file system and the device write in place, which copy-on-write file systems and SSDs do not. A symbolic link is
  /// deleted with the files that it leads to. Throws `.misuse` for a directory, which stays, and `.io` for a file that
  /// can't be deleted.
  public func remove(overwriting: Bool = false) throws {
    try check(filepath)
    let place = place
    for path in DatabaseFiles.endings.reversed().map({ place + $0 }) + Set([place, filepath]) {
      if overwriting, path != filepath || path == place { try overwrite(path) }
      do {
        try FileManager.default.removeItem(atPath: path)
      } catch let error as CocoaError where error.code == .fileNoSuchFile {
        continue
      } catch {
        throw SqlError(.io, message: "can't delete the database file, or one that belongs to it")
      }
    }
  }

  /// Moves the database to another path of the same file system, in one step that a crash does not tear.
  ///
  /// It first copies the write-ahead log into the file, which must be nowhere open: another connection, in this process
  /// or another, makes it throw `.busy`. A process that opens the database just then may still open the old path. It
  /// leaves the file outside of WAL mode, which the next handle turns on again.
  ///
  /// A symbolic link is deleted, and the file that it leads to is moved.
  ///
  /// Throws `.misuse` if there is a file at the new path already, which stays, `.cannotOpen` if there is no database,
  /// and `.io` if the path is on another file system or can't be written to. The files are then where they were.
  public func move(to path: String) throws {
    try checkTarget(path)
    try settle()
    let place = place
    // Unlike rename, this replaces nothing that came into being meanwhile.
    guard sqlable_rename_to_new(place, path) == 0 else {
      let reason = String(cString: strerror(errno))
      throw SqlError(.io, message: "can't move the database file to \(path): \(reason)")
    }
    // Empty files of the old place; a failure leaves nothing that a new database there could take for its own.
    try? DatabaseFiles(of: place).remove()
    if place != filepath { unlink(filepath) }
    for directory in Set([filepath, place, path].map(DatabaseFiles.directory)) { try? syncDirectory(directory) }
  }

  /// Copies the database into a new file, which has its name once it is complete and synced.
  ///
  /// It first copies the write-ahead log into the file, which must be nowhere open, as for ``move(to:)``: inside
  /// `withClosed` of its handles or pool. A database that is in use is copied by
  /// ``SqliteDatabase/backup(to:_:)-(String,_)``. A crash leaves at most a file whose name ends in `.sqlable-copy`.
  ///
  /// Throws `.misuse` if there is a file at the path already, which stays, `.cannotOpen` if there is no database, and
  /// `.busy` if another copy to the path is being made, `.full` and others of the file system.
  public func copy(to path: String) throws {
    try checkTarget(path)
    try settle()
    let partial = path + ".sqlable-copy"
    let source = open(filepath, O_RDONLY | O_CLOEXEC)
    guard source >= 0 else { throw SqlError.system("open", filepath, errno) }
    defer { close(source) }
    let target = open(partial, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard target >= 0 else { throw SqlError.system("create", partial, errno) }
    defer { close(target) }
    try takePartial(partial, target, from: source)
    var isNamed = false
    // Under its new name it is no partial one, and another copy may have begun one.
    defer { if !isNamed { unlink(partial) } }
    var (bytes, offset) = ([UInt8](repeating: 0, count: 1 << 20), 0)
    while true {
      let count = read(source, &bytes, bytes.count)
      guard count >= 0 else { throw SqlError.system("read", filepath, errno) }
      if count == 0 { break }
      try bytes.withUnsafeBytes { bytes in
        try writeAll(UnsafeRawBufferPointer(rebasing: bytes[..<count]), to: target, at: offset, path)
      }
      offset += count
    }
    var info = stat()
    guard fstat(source, &info) == 0, fchmod(target, info.st_mode & 0o777) == 0, fsync(target) == 0 else {
      throw SqlError.system("sync", partial, errno)
    }
    guard sqlable_rename_to_new(partial, path) == 0 else { throw SqlError.system("rename a file to", path, errno) }
    isNamed = true
    try syncDirectory(DatabaseFiles.directory(of: path))
  }

  /// Empties the file that becomes a copy, unless it is another's: of another copy, or a database with that name.
  private func takePartial(_ partial: String, _ target: Int32, from source: Int32) throws {
    guard flock(target, LOCK_EX | LOCK_NB) == 0 else {
      throw SqlError(.busy, message: "another copy is being made, as \(partial)")
    }
    var (info, other) = (stat(), stat())
    guard fstat(target, &info) == 0, fstat(source, &other) == 0 else { throw SqlError.system("read", partial, errno) }
    guard FileIdentity(info) != FileIdentity(other), info.isRegular, info.st_nlink <= 1 else {
      throw SqlError.misuse("the temporary name of the copy belongs to another file: \(partial)")
    }
    // The other copy may have been done just now: then it is complete, under its name.
    guard FileIdentity.linkInfo(partial).map({ FileIdentity($0) }) == FileIdentity(info) else {
      throw SqlError(.busy, message: "another copy was being made, as \(partial)")
    }
    guard ftruncate(target, 0) == 0 else { throw SqlError.system("write to", partial, errno) }
  }

  /// Throws unless there is a database, and nothing at a path where it is to be.
  private func checkTarget(_ path: String) throws {
    try check(filepath)
    try check(path)
    guard FileManager.default.fileExists(atPath: filepath) else {
      throw SqlError(.cannotOpen, message: "there is no database file at \(filepath)")
    }
    guard DatabaseFiles(of: path).paths.allSatisfy({ $0 == GateRecord.path(besideFileAt: path) }) else {
      throw SqlError.misuse("there is a file at \(path), or one of a database there")
    }
  }

  /// Copies the log into the file and deletes it. Leaving WAL mode needs the file for itself, so it throws `.busy` if
  /// another connection has it open.
  private func settle() throws {
    let configuration = Configuration(
      createsDirectories: false, busyTimeout: 0, journalMode: .delete, key: key, cipher: cipher)
    try SqliteDatabase(filepath: filepath, configuration: configuration).close()
  }

  private func check(_ path: String) throws {
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw SqlError.misuse("the path of a database can't be empty or contain a NUL byte")
    }
    // removeItem would delete a directory with everything in it.
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

  private static func directory(of path: String) -> String {
    guard let end = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
    return end == path.startIndex ? "/" : String(decoding: path.utf8[..<end], as: UTF8.self)
  }
}

extension SqliteDatabase {
  /// Deletes the database at a path: the file itself, its write-ahead log (`-wal`), shared memory (`-shm`), rollback
  /// journal (`-journal`), and the lock file of pools (`-gate`).
  ///
  /// Missing files are not an error. Throws `.misuse` for a directory, which stays. Close the handles first: one that
  /// is still open would write to a deleted file, and throws `.io` instead.
  public static func deleteDatabase(at filepath: String) throws { try DatabaseFiles(of: filepath).remove() }

  /// The files of the database; those of no file if it is in memory.
  public var files: DatabaseFiles { files(at: filepath) }

  /// Opens the database at a file URL; see ``init(filepath:configuration:)``. Throws `.misuse` for another URL.
  public convenience init(url: URL, configuration: Configuration = Configuration()) throws {
    try self.init(filepath: url.databasePath, configuration: configuration)
  }

  /// Whether a database can be opened at a path with this configuration, without creating or changing anything.
  ///
  /// ```swift
  /// if SqliteDatabase.canOpen(at: path) { … }
  /// ```
  ///
  /// True for a file that is a database, and for a path where one can be created, unless it is to be read only. False
  /// for a file of another format or that can't be read, or written where the configuration demands it. It is
  /// true of this moment only. A damaged database may still open.
  public static func canOpen(at filepath: String, configuration: Configuration = Configuration()) -> Bool {
    guard !filepath.isEmpty, !filepath.utf8.contains(0), (try? configuration.validate()) != nil else { return false }
    var info = stat()
    guard stat(filepath, &info) == 0 else { return errno == ENOENT && canCreate(filepath, configuration) }
    guard info.st_mode & S_IFMT == S_IFREG, configuration.isReadOnly || access(filepath, W_OK) == 0 else {
      return false
    }
    if info.st_size == 0 { return access(filepath, R_OK) == 0 }
    let reading = Configuration(
      isReadOnly: true, busyTimeout: configuration.busyTimeout, key: configuration.key, cipher: configuration.cipher)
    guard let db = try? SqliteDatabase(filepath: filepath, configuration: reading) else { return false }
    defer { try? db.close() }
    return (try? db.query("SELECT count(*) FROM sqlite_schema", as: Int.self)) != nil
  }

  /// Whether a file could be created at a path where none is.
  private static func canCreate(_ filepath: String, _ configuration: Configuration) -> Bool {
    guard !configuration.isReadOnly else { return false }
    var directory = filepath
    repeat {
      guard let end = directory.utf8.lastIndex(of: UInt8(ascii: "/")) else { return access(".", W_OK | X_OK) == 0 }
      directory = end == directory.startIndex ? "/" : String(decoding: directory.utf8[..<end], as: UTF8.self)
      var info = stat()
      if stat(directory, &info) == 0 { return info.st_mode & S_IFMT == S_IFDIR && access(directory, W_OK | X_OK) == 0 }
    } while configuration.createsDirectories && errno == ENOENT && directory != "/"
    return false
  }
}

extension URL {
  /// The path of a database file. Throws `.misuse` for a URL that is not one of a file.
  package var databasePath: String {
    get throws {
      guard isFileURL else { throw SqlError.misuse("the URL of a database must be one of a file") }
      return path(percentEncoded: false)
    }
  }
}
