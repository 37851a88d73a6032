import CSqlableSQLite
import Glibc

/// A replacement of all bytes of a database file by the bytes of another file, in one atomic step.
///
/// The database file is overwritten in place. A rename would leave the old inode to programs that wait for its lock.
/// Such a program would then use the new file's WAL with the old inode, and delete this WAL when it closes the file.
///
/// As in a transaction of SQLite, a rollback journal holds the old pages until the new bytes are synced. After a crash,
/// any SQLite that opens the file restores the old pages from the journal.
struct FileReplacement {
  private let file: UnsafeMutablePointer<sqlite3_file>
  private let methods: sqlite3_io_methods
  private let path: String
  private let label: String?
  /// The size of a page in bytes, and the number of pages, before the replacement.
  private let (pageSize, pageCount): (Int, Int)

  private static let magic: [UInt8] = [0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7]
  /// The size of the journal's header in bytes. SQLite reads this size from the header.
  private static let sectorSize = 512
  /// The offset of SQLite's lock bytes. The page with these bytes has no contents, and gets no record in the journal,
  /// because SQLite stops reading a journal at such a record.
  private static let lockOffset = 0x4000_0000
  /// The maximum number of bytes of one read or write. SQLite's file system transfers at most 131,071 bytes.
  private static let chunkSize = 1 << 16

  /// - Parameter connection: A connection that holds the exclusive lock of a file outside WAL mode, and has read the
  ///   file.
  init(_ connection: Connection) throws {
    var file: UnsafeMutablePointer<sqlite3_file>?
    guard sqlite3_file_control(connection.handle, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK, let file,
      let methods = file.pointee.pMethods?.pointee
    else { throw SqlError(.io, message: "can't replace the contents of the file", label: connection.label) }
    (self.file, self.methods) = (file, methods)
    (path, label) = (connection.absolutePath, connection.label)
    pageSize = try connection.pageSize()
    pageCount = Int(try connection.pragma("PRAGMA main.page_count") ?? "") ?? 0
  }

  private var journal: String { path + "-journal" }

  /// Commits the replacement by deleting the journal.
  func commit() throws {
    guard unlink(journal) == 0 else { throw SqlError.system("delete", journal, errno).labelled(label) }
    // An error of the sync is harmless: after a power failure, the journal might restore the complete old file.
    try? syncDirectory(directory(ofFileAt: path))
  }

  // MARK: The journal

  /// Writes the old pages into a journal. SQLite ignores the journal until the header is written.
  func writeJournal() throws {
    // The connection that holds the exclusive lock has read the file, so an existing journal is not needed for
    // recovery.
    guard unlink(journal) == 0 || errno == ENOENT else { throw SqlError.system("delete", journal, errno) }
    let descriptor = open(journal, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw SqlError.system("create", journal, errno).labelled(label) }
    defer { close(descriptor) }
    do {
      if let info = FileIdentity.info(path) {
        // Other users of the database must be able to read the journal.
        _ = fchown(descriptor, info.st_uid, info.st_gid)
        _ = fchmod(descriptor, info.st_mode & 0o777)
      }
      let nonce = UInt32.random(in: 0...UInt32.max)
      let count = try writePages(to: descriptor, nonce)
      try sync(descriptor)
      try syncDirectory(directory(ofFileAt: path))
      try write(header(count: count, nonce), to: descriptor, at: 0)
      try sync(descriptor)
    } catch {
      unlink(journal)
      throw (error as? SqlError)?.labelled(label) ?? error
    }
  }

  private func header(count: Int, _ nonce: UInt32) -> [UInt8] {
    let numbers = [UInt32(count), nonce, UInt32(pageCount), UInt32(FileReplacement.sectorSize), UInt32(pageSize)]
    let header = FileReplacement.magic + numbers.flatMap { $0.bigEndianBytes }
    return header + [UInt8](repeating: 0, count: FileReplacement.sectorSize - header.count)
  }

  /// Writes a record for each page, and returns the number of records.
  private func writePages(to descriptor: Int32, _ nonce: UInt32) throws -> Int {
    let lockPage = FileReplacement.lockOffset / pageSize + 1
    let pagesPerChunk = max(1, FileReplacement.chunkSize / pageSize)
    var (page, count, offset) = (1, 0, FileReplacement.sectorSize)
    while page <= pageCount {
      let pages = min(pagesPerChunk, pageCount - page + 1)
      let bytes = try read((page - 1) * pageSize, pages * pageSize)
      var records: [UInt8] = []
      records.reserveCapacity(pages * (pageSize + 8))
      for index in 0..<pages where page + index != lockPage {
        let content = bytes[index * pageSize..<(index + 1) * pageSize]
        records += UInt32(page + index).bigEndianBytes
        records += content
        records += FileReplacement.checksum(content, nonce).bigEndianBytes
        count += 1
      }
      try write(records, to: descriptor, at: offset)
      offset += records.count
      page += pages
    }
    return count
  }

  /// SQLite's checksum of a page in a journal: the sum of every 200th byte from the end.
  private static func checksum(_ page: ArraySlice<UInt8>, _ nonce: UInt32) -> UInt32 {
    stride(from: page.count - 200, to: 0, by: -200).reduce(nonce) { $0 &+ UInt32(page[page.startIndex + $1]) }
  }

  private func write(_ bytes: [UInt8], to descriptor: Int32, at offset: Int) throws {
    try bytes.withUnsafeBytes { try writeAll($0, to: descriptor, at: offset, journal) }
  }

  private func sync(_ descriptor: Int32) throws {
    guard fsync(descriptor) == 0 else { throw SqlError.system("sync", journal, errno) }
  }

  // MARK: The database file

  func overwrite(with source: PartialFile) throws {
    var info = stat()
    guard fstat(source.descriptor, &info) == 0 else { throw SqlError.system("read", source.path, errno) }
    let (old, new) = (pageCount * pageSize, Int(info.st_size))
    // Enlarge the file first, so that a full disk causes an error before anything is overwritten.
    if new > old { try copy(old..<new, of: source) }
    try copy(0..<min(old, new), of: source)
    if new < old { try check(methods.xTruncate?(file, sqlite3_int64(new)), "shorten") }
    try check(methods.xSync?(file, SQLITE_SYNC_FULL), "sync")
  }

  private func copy(_ range: Range<Int>, of source: PartialFile) throws {
    var bytes = [UInt8](repeating: 0, count: min(FileReplacement.chunkSize, range.count))
    for offset in stride(from: range.lowerBound, to: range.upperBound, by: FileReplacement.chunkSize) {
      let wanted = min(FileReplacement.chunkSize, range.upperBound - offset)
      var count = 0
      while count < wanted {
        let got = bytes.withUnsafeMutableBytes { bytes in
          pread(source.descriptor, bytes.baseAddress.map { $0 + count }, wanted - count, off_t(offset + count))
        }
        if got < 0, errno == EINTR { continue }
        guard got > 0 else { throw SqlError.system("read", source.path, got < 0 ? errno : EIO) }
        count += got
      }
      try check(methods.xWrite?(file, bytes, Int32(wanted), sqlite3_int64(offset)), "write")
    }
  }

  private func read(_ offset: Int, _ count: Int) throws -> [UInt8] {
    try [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      try check(methods.xRead?(file, buffer.baseAddress, Int32(count), sqlite3_int64(offset)), "read")
      initialized = count
    }
  }

  private func check(_ code: Int32?, _ action: String) throws {
    guard code != SQLITE_OK else { return }
    let code = code ?? SQLITE_IOERR
    let reason = sqlite3_errstr(code).map { String(cString: $0) } ?? ""
    throw Connection.error(code, extendedCode: code, message: "can't \(action) \(path): \(reason)", label: label)
  }
}

extension UInt32 {
  fileprivate var bigEndianBytes: [UInt8] {
    [UInt8(truncatingIfNeeded: self >> 24), UInt8(truncatingIfNeeded: self >> 16)]
      + [UInt8(truncatingIfNeeded: self >> 8), UInt8(truncatingIfNeeded: self)]
  }
}

extension Connection {
  /// Replaces all bytes of the database file with the bytes of another file. Afterwards, only close this connection.
  ///
  /// The connection must hold the exclusive lock of a file outside WAL mode. After an error, the journal can be left
  /// with the old pages: then the next connection restores the old file.
  package func replaceFile(withBytesOf source: PartialFile) throws {
    let replacement = try FileReplacement(self)
    try replacement.writeJournal()
    try replacement.overwrite(with: source)
    try replacement.commit()
  }

  /// Takes the exclusive lock of the main file, and keeps the lock until the connection closes. Throws `.busy` if
  /// another connection uses the file, or has turned on WAL mode again.
  package func lockExclusively() throws {
    try pragma("PRAGMA main.locking_mode = EXCLUSIVE")
    try run(.beginExclusive)
    try run(.commit)
    guard try journalMode() == "delete" else {
      throw SqlError(.busy, message: "another connection uses the file", label: label)
    }
  }
}
