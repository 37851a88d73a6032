import Foundation
import Sqlable

/// Where the database is: a path of the user's, or a temporary directory.
struct DatabasePlace {
  /// Written into the file's header, so that a database is known as this program's before anything in it is replaced.
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

  /// Opens the database, creating it if there is none.
  func open() throws -> SqliteDatabase {
    do {
      try checkOwner()
      let db = try SqliteDatabase(filepath: path, configuration: Configuration(label: "flights"))
      // A pragma takes no parameters; the number is a constant of this program.
      try db.execute(SQL(verbatim: "PRAGMA application_id = \(DatabasePlace.applicationId)"))
      return db
    } catch let error as SqlError {
      throw FileProblem(path: path, error)
    }
  }

  /// Refuses a database of another program. Where its header tells, it is not opened, which would leave the empty files of a
  /// write-ahead log beside it; else it is opened for reading only, so that it stays as it is to the last byte.
  private func checkOwner() throws {
    var isDirectory: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else { return }
    guard !isDirectory.boolValue else { throw FileProblem(path: path, reason: "is a directory, not a database") }
    let (owner, isEmpty) = try headerSays() ?? databaseSays()
    guard owner == DatabasePlace.applicationId || (owner == 0 && isEmpty) else {
      throw FileProblem(path: path, reason: "is a database of another program; it was left as it is")
    }
  }

  /// What the file's first bytes say, unless it is no database or a journal beside it may know better. No handle of this
  /// program is open yet, whose locks would be lost when the file is closed.
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
    // Numbers of four bytes, the highest first; the cookie rises from 0 with the first table.
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

  /// Removes a temporary database. Its handles have to be closed before.
  func remove() {
    guard let temporaryDirectory else { return }
    try? SqliteDatabase.deleteDatabase(at: path)
    try? FileManager.default.removeItem(at: temporaryDirectory)
  }
}
