import Foundation
import Sqlable

/// The location of the database: a path given by the user, or a temporary directory.
struct DatabasePlace {
  /// Written to the file's header to identify databases of this program, before anything in them is replaced.
  static let applicationId = 0x466C_6774  // "Flgt"

  let path: String
  private let temporaryDirectory: URL?

  init(path: String?) throws {
    if let path {
      self.path = path
      temporaryDirectory = nil
    } else {
      let directory = FileManager.default.temporaryDirectory.appendingPathComponent("flights-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
      self.path = directory.appendingPathComponent("flights.sqlite").path
      temporaryDirectory = directory
    }
  }

  var isTemporary: Bool { temporaryDirectory != nil }

  /// Opens the database, creating it if it is missing.
  func open() throws -> SqliteDatabase {
    do {
      try checkOwner()
      let db = try SqliteDatabase(filepath: path, configuration: Configuration(label: "flights"))
      // A pragma takes no parameters, and the number is a constant.
      try db.execute(SQL(verbatim: "PRAGMA application_id = \(DatabasePlace.applicationId)"))
      return db
    } catch let error as SqlError {
      throw FileProblem(path: path, error)
    }
  }

  /// Throws for a database of another program. If the header shows that, the file is not opened, which would leave
  /// empty write-ahead log files beside it; otherwise it is opened read-only, so that every byte stays as it is.
  private func checkOwner() throws {
    var isDirectory: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else { return }
    guard !isDirectory.boolValue else { throw FileProblem(path: path, reason: "is a directory, not a database") }
    let (owner, isEmpty) = try headerSays() ?? databaseSays()
    guard owner == DatabasePlace.applicationId || (owner == 0 && isEmpty) else {
      throw FileProblem(path: path, reason: "is a database of another program; it was left as it is")
    }
  }

  /// Reads the file's header; nil if it is not a database, or a journal beside it may have newer data. To be called
  /// before a handle is open, whose locks would be lost when the file is closed.
  private func headerSays() throws -> (owner: Int, isEmpty: Bool)? {
    for journal in ["-wal", "-journal"] {
      let attributes = try? FileManager.default.attributesOfItem(atPath: path + journal)
      guard (attributes?[.size] as? Int ?? 0) == 0 else { return nil }
    }
    guard let file = FileHandle(forReadingAtPath: path) else { return nil }
    defer { try? file.close() }
    guard let header = try file.read(upToCount: 100), header.count == 100,
      header.starts(with: Data("SQLite format 3\0".utf8))
    else { return nil }
    // Big-endian numbers of four bytes. The schema cookie is 0 until the first table is created.
    func number(at offset: Int) -> Int { header.dropFirst(offset).prefix(4).reduce(0) { $0 << 8 | Int($1) } }
    return (owner: number(at: 68), isEmpty: number(at: 40) == 0)
  }

  private func databaseSays() throws -> (owner: Int, isEmpty: Bool) {
    let db = try SqliteDatabase(filepath: path, configuration: Configuration(label: "flights", isReadOnly: true))
    let owner = try db.query("PRAGMA application_id", as: Int.self).first ?? 0
    let isEmpty = try db.query("SELECT count(*) FROM sqlite_schema", as: Int.self).first == 0
    try db.close()
    return (owner, isEmpty)
  }

  /// Removes a temporary database. Its handles must be closed before.
  func remove() {
    guard let temporaryDirectory else { return }
    try? SqliteDatabase.deleteDatabase(at: path)
    try? FileManager.default.removeItem(at: temporaryDirectory)
  }
}
