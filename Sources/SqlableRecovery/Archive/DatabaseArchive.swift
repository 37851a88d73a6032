import FoundationEssentials
import Glibc
import SqlableBackup
import SqlableCore
import SqlableSchema

/// An archive of a database's commits. The database can be restored at any of these commits.
///
/// ```swift
/// let archive = DatabaseArchive(at: "/backups/bikes")
/// let restored = try archive.restore(to: "bikes.sqlite", at: .time(noon))
/// print(restored.commit, restored.time)
/// ```
///
/// A restore only reads the archive. `SqlitePool.archive(to:)` can add commits at the same time.
public struct DatabaseArchive: Sendable, Hashable {
  /// The directory of the archive.
  let path: String

  public init(at path: String) { self.path = path }

  /// A commit or time to restore.
  public enum RestorePoint: Sendable, Hashable {
    /// The last commit that was archived.
    case latest
    /// The commit with this number.
    case commit(Int)
    /// The last commit that was archived at or before this time.
    case time(Date)
  }

  /// A commit of an archive.
  public struct Commit: Sendable, Hashable {
    public let commit: Int
    /// The time of archiving. The first commit of a range has the time of the database copy, which can be much later
    /// than the commit. Other commits are archived at most an interval later, unless archiving failed or lagged.
    public let time: Date
  }

  /// A sequence of commits without a gap.
  public struct Range: Sendable, Hashable {
    public let first: Commit
    public let last: Commit
  }

  private var files: ArchiveFiles { ArchiveFiles(path: path) }

  /// Returns the ranges of commits that can be restored, one for each database copy. Commits can be missing between two
  /// ranges if the second copy began after the pool or file was closed, or after archiving was interrupted. Otherwise
  /// there is no gap. Does not read pages. Throws `.cannotOpen` if the directory does not exist.
  public func ranges() throws -> [Range] {
    try files.generations().map { generation in
      let description = try files.description(ofGeneration: generation)
      let first = Commit(commit: description.commit, time: Date(archived: description.time))
      let last = try ArchiveReader(files: files, generation: generation).last()
      return Range(first: first, last: last.map { Commit(commit: $0.number, time: Date(archived: $0.time)) } ?? first)
    }
  }

  /// Restores the database at a commit or time into a new file, and returns the restored commit.
  ///
  /// The file gets its final name when the file is complete, synced and checked. Blocks the thread. In `async` code,
  /// use the overload with `await`. Throws:
  ///
  /// - `.corrupt` if the restored database is damaged, or if commits are missing or damaged in the archive. The error
  ///   names these commits; earlier commits can still be restored;
  /// - `.schema(.mismatch)` if tables differ from the models of `schema`;
  /// - `.constraint(.foreignKey)` with the check `.foreignKeys`, for rows that reference missing rows;
  /// - `.misuse` if the path already has a file, and for a time that is NaN;
  /// - `.misuse` for a commit or time before the first commit or in a gap between two ranges, and for a commit after
  ///   the last commit.
  @discardableResult
  public func restore(
    to filepath: String, at moment: RestorePoint = .latest, checks: BackupChecks = .integrity, schema: Schema? = nil
  ) throws -> Commit {
    try restore(to: filepath, at: moment, checks: checks, schema: schema, progress: nil)
  }

  /// Restores the database as the public `restore` does, and reports the progress.
  ///
  /// - Parameter progress: A closure that the restoring thread calls with the number of bytes read so far, and the
  ///   number of bytes to read.
  package func restore(
    to filepath: String, at moment: RestorePoint, checks: BackupChecks, schema: Schema? = nil,
    progress: ((_ bytes: Int, _ total: Int) -> Void)?
  ) throws -> Commit {
    let generation = try generation(for: moment)
    let target = try BackupTarget(filepath)
    guard DatabaseFiles(of: target.path).paths.isEmpty else {
      throw SqlError.misuse("can't create \(filepath): the file, or a WAL or journal beside it, already exists")
    }
    let file = try PartialFile.make(beside: target.path, mode: 0o600)
    let advance = try progress.map { try advancing($0, ofGeneration: generation, upTo: moment) }
    try copyBase(ofGeneration: generation, to: file, advance)
    let commit = try applyCommits(ofGeneration: generation, upTo: moment, to: file, advance)
    try file.removeNeedForWAL()
    try file.sync()
    let options = BackupOptions(checks: checks, schema: schema)
    let copy = try BackupSource.file(file.path, for: nil, BackupStop(Configuration(), options))
    try copy.check(options, "the restored database")
    try file.rename(to: target)
    return commit
  }

  /// Restores the database at a commit or time into a new file, on a separate thread. Cancellation does not interrupt
  /// the work.
  @discardableResult
  public func restore(
    to filepath: String, at moment: RestorePoint = .latest, checks: BackupChecks = .integrity, schema: Schema? = nil
  ) async throws -> Commit {
    try await onOwnThread { try self.restore(to: filepath, at: moment, checks: checks, schema: schema) }
  }

  private func generation(for moment: RestorePoint) throws -> Int {
    if case .time(let time) = moment, time.timeIntervalSince1970.isNaN {
      throw SqlError.misuse(
        "the time of the restore point is NaN; use another time or a commit")
    }
    let all = try files.generations()
    let match =
      switch moment {
      case .latest: all.last
      case .commit(let number): all.last { $0 <= number }
      case .time(let time): try all.last { try files.description(ofGeneration: $0).time <= time.archived }
      }
    if let match { return match }
    guard let first = all.first else { throw SqlError.misuse("no such archive: \(path)") }
    throw SqlError.misuse(
      "the archive at \(path) begins after the restore point; restore commit \(first) or a later commit")
  }

  /// Returns a function that receives the number of bytes that were just read, and calls `progress` with the sum.
  private func advancing(
    _ progress: @escaping (Int, Int) -> Void, ofGeneration generation: Int, upTo moment: RestorePoint
  ) throws -> (Int) -> Void {
    let base = FileIdentity.info(files.base(ofGeneration: generation)).map { Int($0.st_size) } ?? 0
    let total = try base + ArchiveReader(files: files, generation: generation).size(upTo: moment)
    var bytes = 0
    return { count in
      bytes += count
      progress(bytes, total)
    }
  }

  private func copyBase(ofGeneration generation: Int, to file: PartialFile, _ advance: ((Int) -> Void)?) throws {
    let path = files.base(ofGeneration: generation)
    let description = try files.description(ofGeneration: generation)
    var (size, sum) = (0, WALChecksum(isBigEndian: false))
    try ArchiveFiles.eachPart(ofFileAt: path) { offset, part in
      sum = sum.adding(part)
      size = offset + part.count
      try file.write(part, at: offset)
      advance?(part.count)
    }
    // Earlier versions wrote no checksum, so there is nothing to compare.
    guard let expected = description.baseSum else { return }
    guard sum.value == expected, size == description.baseSize else {
      throw SqlError(
        .corrupt,
        message:
          "the archive at \(self.path) is damaged: the checksum of \(path) does not match; "
          + "restore a commit before \(generation) by its number"
      )
    }
  }

  /// Applies the commits up to a commit or time, and returns the last applied commit.
  private func applyCommits(
    ofGeneration generation: Int, upTo moment: RestorePoint, to file: PartialFile, _ advance: ((Int) -> Void)?
  ) throws -> Commit {
    let description = try files.description(ofGeneration: generation)
    var last = (number: description.commit, time: description.time)
    var (size, isReached): (Int?, Bool) = (nil, moment == .commit(last.number))
    // Records after the requested commit or time are not read, because these records might be damaged.
    if !isReached {
      try ArchiveReader(files: files, generation: generation).eachCommit { record, apply in
        if case .time(let time) = moment, record.time > time.archived {
          isReached = true
          return false
        }
        try apply { page, bytes in try file.write(bytes, at: (page - 1) * record.pageSize) }
        advance?(record.size)
        (last, size) = ((record.number, record.time), record.databasePages * record.pageSize)
        isReached = moment == .commit(record.number)
        return !isReached
      }
    }
    if let size { try file.truncate(to: size) }
    if !isReached { try check(moment, after: last.number, ofGeneration: generation) }
    return Commit(commit: last.number, time: Date(archived: last.time))
  }

  private func check(_ moment: RestorePoint, after last: Int, ofGeneration generation: Int) throws {
    switch moment {
    case .latest: return
    case .commit(let number):
      guard number > last else { return }
      throw SqlError.misuse(
        "the archive at \(path) lacks commit \(number); restore commit \(last) or an earlier commit")
    case .time:
      // Without a next generation, the archive ends here, and no gap follows.
      guard let next = try files.generations().first(where: { $0 > generation }),
        try files.description(ofGeneration: next).continues != true
      else { return }
      throw SqlError.misuse(
        "the archive has a gap at that time; restore commit \(last) before the gap, or commit \(next) after the gap, "
          + "by its number"
      )
    }
  }
}

extension PartialFile {
  fileprivate func write(_ bytes: ArraySlice<UInt8>, at offset: Int) throws {
    try bytes.withUnsafeBytes { try writeAll($0, to: descriptor, at: offset, path) }
  }

  fileprivate func truncate(to size: Int) throws {
    guard ftruncate(descriptor, off_t(size)) == 0 else { throw SqlError.system("write to", path, errno) }
  }
}
