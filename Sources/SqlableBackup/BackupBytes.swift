import Glibc
import SqlableCore
import SqlablePool

extension SqliteDatabase {
  /// Returns a backup as a sequence of chunks of bytes, for a store that is not a file system.
  ///
  /// ```swift
  /// for try await chunk in db.backupBytes() { try await upload.append(chunk) }
  /// ```
  ///
  /// The bytes are those of the file that ``backup(to:_:)-(String,_)`` creates. Each `for` loop over the sequence first
  /// makes a checked copy in a temporary file, then reads the file. All chunks contain `chunkSize` bytes, except that
  /// the last chunk can be shorter. The temporary file is unlinked before the first chunk, so the system frees its
  /// space when the loop or the process ends. Throws the errors of the backup.
  ///
  /// The temporary file is created in `directory`. If `directory` is nil, the file is created in the directory of the
  /// database. For an in-memory database, the file is created in the directory for temporary files.
  public func backupBytes(
    _ options: BackupOptions = BackupOptions(), chunkSize: Int = 1 << 20, directory: String? = nil
  ) -> some AsyncSequence<[UInt8], any Error> & Sendable {
    BackupBytes(db: self, pool: nil, options: options, chunkSize: chunkSize, directory: directory)
  }
}

/// A backup as a sequence of chunks of bytes.
struct BackupBytes: AsyncSequence, Sendable {
  let db: SqliteDatabase
  /// The pool that `db` belongs to; nil for a handle.
  let pool: SqlitePool?
  let options: BackupOptions
  let chunkSize: Int
  let directory: String?

  func makeAsyncIterator() -> Iterator { Iterator(bytes: self) }

  /// The loop over the chunks, which copies the database before the first chunk.
  struct Iterator: AsyncIteratorProtocol {
    fileprivate let bytes: BackupBytes
    fileprivate var file: PartialFile?
    fileprivate var position = 0
    fileprivate var isDone = false

    fileprivate init(bytes: BackupBytes) { self.bytes = bytes }

    /// Returns the next chunk; nil after the last chunk.
    mutating func next() async throws -> [UInt8]? {
      guard !isDone else { return nil }
      // End the loop after an error too: a later chunk would leave a gap after the last delivered chunk.
      isDone = true
      let (bytes, position) = (bytes, position)
      let stop = BackupStop(bytes.db.configuration, bytes.options, deadline: Deadline.current)
      let file = if let file { file } else { try await bytes.copyOnOwnThread(stop) }
      self.file = file
      let chunk = try await onBackupThread(stop) { try file.read(bytes.chunkSize, at: position) }
      try Task.checkCancellation()
      guard !chunk.isEmpty else {
        self.file = nil
        return nil
      }
      self.position += chunk.count
      isDone = false
      return chunk
    }
  }

  private func copyOnOwnThread(_ stop: BackupStop) async throws -> PartialFile {
    guard let pool else { return try await onBackupThread(stop) { try copy(stop) } }
    try pool.checkFork()
    let work = try pool.beginWork(stop.close)
    defer { pool.endWork(work) }
    return try await onBackupThread(stop) { try pool.runWork(work) { try copy(stop) } }
  }

  private func copy(_ stop: BackupStop) throws -> PartialFile {
    try db.labelling {
      try stop.mapping {
        guard chunkSize > 0 else { throw SqlError.misuse("a chunk of a backup must have at least one byte") }
        guard directory != "" else { throw SqlError.misuse("the path of the backup's directory can't be empty") }
        let source = try BackupSource.handle(db, options, stop)
        let file = try PartialFile.makeNumbered(beside: basePath(source.path()))
        try db.fill(file, from: source, options)
        file.removeName()
        return file
      }
    }
  }

  /// Returns the path beside which the temporary file is created.
  private func basePath(_ path: String) throws -> String {
    let name = path.utf8.split(separator: UInt8(ascii: "/")).last.map { String(decoding: $0, as: UTF8.self) }
    guard let directory = directory ?? (path.isEmpty ? PartialFile.temporaryDirectory : nil) else { return path }
    return try BackupTarget(directory + "/" + (name ?? "sqlable-memory")).path
  }
}

extension PartialFile {
  /// Returns `count` bytes; fewer only at the end of the file.
  func read(_ count: Int, at position: Int) throws -> [UInt8] {
    var size = stat()
    guard fstat(descriptor, &size) == 0 else { throw SqlError.system("read", path, errno) }
    let count = min(count, max(0, Int(size.st_size) - position))
    var code: Int32 = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      while filled < count {
        let part = pread(descriptor, buffer.baseAddress.map { $0 + filled }, count - filled, off_t(position + filled))
        if part > 0 {
          filled += part
        } else if part == 0 || errno != EINTR {
          code = part == 0 ? EIO : errno
          return
        }
      }
    }
    guard code == 0 else { throw SqlError.system("read", path, code) }
    return bytes
  }
}
