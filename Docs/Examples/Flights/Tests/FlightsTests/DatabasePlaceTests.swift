import Foundation
import Sqlable
import Testing

@testable import Flights

/// Where the program keeps its database, and which files it leaves alone.
@Suite struct DatabasePlaceTests {
  private func bytes(_ path: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path)) }

  /// What opening the database at `path` is refused for.
  private func refusal(_ path: String) -> String? {
    do {
      try DatabasePlace(path: path).open().close()
      return nil
    } catch {
      return "\(error)"
    }
  }

  @Test(arguments: ["DELETE", "WAL"])
  func aDatabaseOfAnotherProgramIsRefusedAndStaysAsItIs(journalMode: String) throws {
    try withDirectory { directory in
      let path = directory + "/other.sqlite"
      let other = try SqliteDatabase(filepath: path)
      _ = try other.query(SQL(verbatim: "PRAGMA journal_mode = \(journalMode)"), as: String.self)
      try other.execute("CREATE TABLE flight (id INTEGER PRIMARY KEY, note TEXT)")
      try other.execute("INSERT INTO flight VALUES (1, 'mine')")
      try other.close()
      let before = try bytes(path)
      #expect(refusal(path) == "\(path): is a database of another program; it was left as it is")
      #expect(try bytes(path) == before)
      #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["other.sqlite"])
      let again = try SqliteDatabase(filepath: path)
      #expect(try again.query("SELECT note FROM flight", as: String.self) == ["mine"])
      #expect(try again.query("PRAGMA application_id", as: Int.self) == [0])
      try again.close()
    }
  }

  /// What makes it another's is in the write-ahead log only.
  @Test func aDatabaseThatAnotherProgramHasOpenIsRefused() throws {
    try withDirectory { directory in
      let path = directory + "/other.sqlite"
      let other = try SqliteDatabase(filepath: path, configuration: Configuration(walAutocheckpoint: 0))
      let before = try bytes(path)
      try other.execute("PRAGMA application_id = 77; CREATE TABLE flight (id INTEGER PRIMARY KEY)")
      #expect(refusal(path) == "\(path): is a database of another program; it was left as it is")
      #expect(try bytes(path) == before)
      #expect(try other.query("PRAGMA application_id", as: Int.self) == [77])
      try other.close()
    }
  }

  @Test func anEmptyDatabaseOfAnotherProgramIsRefused() throws {
    try withDirectory { directory in
      let path = directory + "/marked.sqlite"
      let other = try SqliteDatabase(filepath: path)
      try other.execute("PRAGMA application_id = 77")
      try other.close()
      let before = try bytes(path)
      #expect(refusal(path) == "\(path): is a database of another program; it was left as it is")
      #expect(try bytes(path) == before)
    }
  }

  @Test func aFileThatIsNoDatabaseIsRefusedAndStaysAsItIs()
    throws
  {
    try withDirectory { directory in
      let path = try writeFlights([FlightLines.flight(1)], to: directory + "/flights.csv")
      let before = try bytes(path)
      #expect(refusal(path) == "\(path): file is not a database")
      #expect(try bytes(path) == before)
      #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["flights.csv"])
    }
  }

  @Test func aDirectoryIsRefused() throws {
    try withDirectory { directory in
      #expect(refusal(directory) == "\(directory): is a directory, not a database")
    }
  }

  @Test func anEmptyFileAndANewPathBecomeDatabasesOfThisProgram() throws {
    try withDirectory { directory in
      let empty = directory + "/empty.sqlite"
      #expect(FileManager.default.createFile(atPath: empty, contents: Data()))
      for path in [empty, directory + "/new/deep/flights.sqlite"] {
        for _ in 0..<2 {
          let db = try DatabasePlace(path: path).open()
          #expect(try db.query("PRAGMA application_id", as: Int.self) == [DatabasePlace.applicationId])
          try db.createTable(Airline.self)
          try db.close()
        }
      }
    }
  }

  @Test func aTemporaryDatabaseIsRemovedAndANamedOneIsNot() throws {
    let temporary = try DatabasePlace(path: nil)
    try temporary.open().close()
    #expect(temporary.isTemporary)
    #expect(FileManager.default.fileExists(atPath: temporary.path))
    temporary.remove()
    #expect(!FileManager.default.fileExists(atPath: (temporary.path as NSString).deletingLastPathComponent))
    try withDirectory { directory in
      let named = try DatabasePlace(path: directory + "/flights.sqlite")
      try named.open().close()
      named.remove()
      #expect(!named.isTemporary)
      #expect(FileManager.default.fileExists(atPath: named.path))
    }
  }
}
