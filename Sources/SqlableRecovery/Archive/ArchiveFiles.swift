import FoundationEssentials
import Glibc
import SqlableCore

/// The directory of an archive. Each generation has a subdirectory with a copy of the database and log files.
///
/// A new generation gets its final name only when it is complete.
struct ArchiveFiles {
  let path: String

  static let baseName = "base.sqlite"
  private static let prefix = "from-"
  private static let partialName = "partial"

  /// Returns the number of each generation's first commit, in ascending order.
  func generations() throws -> [Int] {
    try ArchiveFiles.names(in: path).compactMap { name in
      name.hasPrefix(ArchiveFiles.prefix) ? Int(name.dropFirst(ArchiveFiles.prefix.count)) : nil
    }.sorted()
  }

  func directory(ofGeneration number: Int) -> String { "\(path)/\(ArchiveFiles.prefix)\(number.padded)" }

  func base(ofGeneration number: Int) -> String { directory(ofGeneration: number) + "/" + ArchiveFiles.baseName }

  /// Returns the number of the first commit in each log file of a generation, in ascending order.
  func logs(ofGeneration number: Int) throws -> [Int] {
    try ArchiveFiles.names(in: directory(ofGeneration: number)).compactMap { name in
      name.hasPrefix("log-") ? Int(name.dropFirst(4)) : nil
    }.sorted()
  }

  func description(ofGeneration number: Int) throws -> GenerationDescription {
    let path = directory(ofGeneration: number) + "/" + GenerationDescription.fileName
    guard let data = try? Data(contentsOf: URL(filePath: path)),
      let description = try? JSONDecoder().decode(GenerationDescription.self, from: data)
    else { throw SqlError(.corrupt, message: "the archive at \(self.path) is damaged: can't read \(path)") }
    guard description.version == GenerationDescription.currentVersion else {
      throw SqlError(.notADatabase, message: "the archive at \(self.path) has a format that this version can't read")
    }
    return description
  }

  /// Returns the last commit; zeros for an empty archive.
  func last() throws -> ArchiveEnd {
    guard let generation = try generations().last else { return ArchiveEnd() }
    let description = try description(ofGeneration: generation)
    let (number, time) =
      try ArchiveReader(files: self, generation: generation).last() ?? (description.commit, description.time)
    let (elapsed, isTooLong) = time.subtractingReportingOverflow(description.time)
    let age = description.steadyAge.addingSaturated(isTooLong ? 0 : max(0, elapsed))
    return ArchiveEnd(number: number, time: time, age: age)
  }

  /// Throws `.misuse` if the last generation belongs to another database.
  func check(_ database: String, _ options: ArchiveOptions) throws {
    guard !options.acceptsOtherDatabase, let generation = try generations().last,
      let other = try description(ofGeneration: generation).database, other != database
    else { return }
    func name(_ path: String) -> String { path.isEmpty ? "an in-memory database" : path }
    throw SqlError.misuse(
      "the archive at \(path) belongs to \(name(other)), not to \(name(database)); use another directory, or "
        + "acceptsOtherDatabase if the database was moved"
    )
  }

  /// Returns the size and checksum of a database copy. The size is a multiple of 512.
  static func sum(ofFileAt path: String) throws -> (size: Int, sum: UInt64) {
    var (size, sum) = (0, WALChecksum(isBigEndian: false))
    try eachPart(ofFileAt: path) { offset, part in
      sum = sum.adding(part)
      size = offset + part.count
    }
    return (size, sum.value)
  }

  /// Calls `body` with the parts of a file and their offsets. All parts except the last have the same size.
  static func eachPart(ofFileAt path: String, _ body: (Int, ArraySlice<UInt8>) throws -> Void) throws {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw SqlError.system("open", path, errno, isRead: true) }
    defer { close(file) }
    var (offset, part) = (0, [UInt8](repeating: 0, count: 1 << 20))
    while true {
      var used = 0
      while used < part.count {
        let start = used
        let count = part.withUnsafeMutableBytes {
          pread(file, $0.baseAddress.map { $0 + start }, $0.count - start, off_t(offset + start))
        }
        guard count >= 0 else { throw SqlError.system("read", path, errno) }
        if count == 0 { break }
        used += count
      }
      if used > 0 { try body(offset, part[..<used]) }
      if used < part.count { return }
      offset += used
    }
  }

  static func write(_ description: GenerationDescription, to directory: String) throws {
    let path = directory + "/" + GenerationDescription.fileName
    let bytes = [UInt8](try JSONEncoder().encode(description))
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw SqlError.system("create", path, errno) }
    defer { close(descriptor) }
    try bytes.withUnsafeBytes { try writeAll($0, to: descriptor, at: 0, path) }
    guard fsync(descriptor) == 0 else { throw SqlError.system("sync", path, errno) }
  }

  /// Creates a generation. `body` fills the directory, which then gets its final name.
  func makeGeneration(_ number: Int, _ body: (_ directory: String) throws -> Void) throws {
    let partial = path + "/" + ArchiveFiles.partialName
    try removePartial()
    do {
      guard mkdir(partial, 0o700) == 0 else { throw SqlError.system("create", partial, errno) }
      try body(partial)
      try syncDirectory(partial)
      guard rename(partial, directory(ofGeneration: number)) == 0 else {
        throw SqlError.system("rename", partial, errno)
      }
      try syncDirectory(path)
    } catch {
      try? FileManager.default.removeItem(atPath: partial)
      throw error
    }
  }

  /// Deletes a generation. The directory is renamed first, so that no partial generation is visible.
  func removeGeneration(_ number: Int) throws {
    let old = path + "/" + ArchiveFiles.partialName
    try removePartial()
    guard rename(directory(ofGeneration: number), old) == 0 else {
      throw SqlError.system("rename", directory(ofGeneration: number), errno)
    }
    try? FileManager.default.removeItem(atPath: old)
  }

  /// Deletes the incomplete generation that a killed process left at the temporary path. Throws `.misuse` if a file or
  /// another directory is at this path.
  private func removePartial() throws {
    let partial = path + "/" + ArchiveFiles.partialName
    guard let info = FileIdentity.linkInfo(partial) else { return }
    let ownPrefixes = [ArchiveFiles.baseName, GenerationDescription.fileName, "log-"]
    guard info.st_mode & S_IFMT == S_IFDIR,
      try ArchiveFiles.names(in: partial).allSatisfy({ name in ownPrefixes.contains { name.hasPrefix($0) } })
    else {
      throw SqlError.misuse(
        "the archive can't create its temporary directory: another file has the name; move or delete \(partial)")
    }
    try? FileManager.default.removeItem(atPath: partial)
  }

  /// Creates the directory if it is missing, and locks the directory.
  func lock() throws -> ArchiveLock {
    if !FileManager.default.fileExists(atPath: path) {
      do {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
      } catch { throw SqlError(.cannotOpen, message: "can't create the directory of the archive: \(path)") }
    }
    let descriptor = open(path + "/lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw SqlError.system("create", path + "/lock", errno) }
    let lock = ArchiveLock(descriptor, path + "/lock")
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      throw SqlError(.busy, message: "another pool writes to the archive at \(path)")
    }
    return lock
  }

  private static func names(in directory: String) throws -> [String] {
    do { return try FileManager.default.contentsOfDirectory(atPath: directory) } catch {
      throw SqlError(.cannotOpen, message: "can't read the directory: \(directory)")
    }
  }
}

/// The lock of an archive. The lock is released with this object or when the process ends.
final class ArchiveLock: Sendable {
  private let descriptor: Int32
  private let path: String
  private let generation = ForkGuard.generation

  init(_ descriptor: Int32, _ path: String) { (self.descriptor, self.path) = (descriptor, path) }

  deinit {
    // Unlock, because a forked process can keep the descriptor open. A forked process itself must not unlock.
    if ForkGuard.generation == generation { flock(descriptor, LOCK_UN) }
    close(descriptor)
  }

  var isIntact: Bool { FileIdentity.isFile(descriptor, at: path) }
}

extension FileIdentity {
  static func isFile(_ descriptor: Int32, at path: String) -> Bool {
    var info = stat()
    return fstat(descriptor, &info) == 0 && info.st_nlink > 0 && FileIdentity(path) == FileIdentity(info)
  }
}

extension Int {
  /// The number with 19 digits, padded with zeros, so that names sort like numbers.
  var padded: String {
    let digits = String(self)
    return String(repeating: "0", count: Swift.max(0, 19 - digits.utf8.count)) + digits
  }
}

/// The contents of `generation.json`: a description of the database copy with which a generation begins.
struct GenerationDescription: Codable, Sendable {
  static let fileName = "generation.json"
  static let currentVersion = 1

  var version = GenerationDescription.currentVersion
  /// The commit number that the archive has assigned to the copy.
  let commit: Int
  /// The time of the copy, in microseconds since 1970.
  let time: Int64
  /// The age of the archive at the time of the copy, in microseconds; see ``ArchiveClock/age``. Earlier versions stored
  /// neither `age` nor the properties below.
  var age: Int64?
  /// True if the previous generation contains all commits up to this copy.
  var continues: Bool?
  /// The path of the database; empty for an in-memory database.
  var database: String?
  /// The size of the copy in bytes, and the copy's checksum.
  var baseSize: Int?
  var baseSum: UInt64?

  var steadyAge: Int64 { age ?? time }
}
