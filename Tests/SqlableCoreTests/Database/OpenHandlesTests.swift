import Foundation
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// The lookup of open handles by path and label.
@Suite struct OpenHandlesTests {
  private func numbers(_ handles: [SqliteDatabase]) -> [Int] { handles.map(\.number) }

  @Test func handlesAreFoundByTheirFile() throws {
    try withDirectory { directory in
      let path = directory + "/a.sqlite"
      #expect(numbers(SqliteDatabase.handles(at: path)) == [])
      let db = try SqliteDatabase(filepath: path)
      let child = try db.createChild()
      let lazy = try SqliteDatabase(filepath: path, configuration: Configuration(opensLazily: true))
      let other = try SqliteDatabase(filepath: directory + "/b.sqlite")
      try FileManager.default.createSymbolicLink(atPath: directory + "/link", withDestinationPath: path)
      try FileManager.default.linkItem(atPath: path, toPath: directory + "/hard")
      for name in ["a.sqlite", "./a.sqlite", "link", "hard"] {
        #expect(numbers(SqliteDatabase.handles(at: directory + "/" + name)) == numbers([db, child, lazy]), "\(name)")
      }
      #expect(numbers(SqliteDatabase.handles(at: directory + "/b.sqlite")) == [other.number])
      #expect(numbers(SqliteDatabase.handles(at: directory)) == [])
      #expect(numbers(SqliteDatabase.handles(at: "")) == [])
      try db.close()
      #expect(numbers(SqliteDatabase.handles(at: path)) == numbers([child, lazy]))
      #expect(!lazy.isConnected)
    }
  }

  @Test func aLazyHandleIsFoundBeforeItsFileExists() throws {
    try withDirectory { directory in
      let path = directory + "/new.sqlite"
      let lazy = try SqliteDatabase(filepath: path, configuration: Configuration(opensLazily: true))
      #expect(numbers(SqliteDatabase.handles(at: path)) == [lazy.number])
      #expect(files(in: directory) == [])
    }
  }

  @Test func handlesAreFoundByTheirLabel() throws {
    let label = UUID().uuidString
    #expect(numbers(SqliteDatabase.handles(labelled: label)) == [])
    let memory = try SqliteDatabase.inMemory(configuration: Configuration(label: label))
    let second = try onThread { try memory.createChild() }
    var third: SqliteDatabase? = try .inMemory(configuration: Configuration(label: label))
    #expect(SqliteDatabase.handles(labelled: label).count == 3)
    #expect(third?.isOpen == true)
    // The process does not retain handles. Another test can retain them for a moment: `releaseMemory` visits them all.
    third = nil
    waitUntil { SqliteDatabase.handles(labelled: label).count == 2 }
    #expect(numbers(SqliteDatabase.handles(labelled: label)) == numbers([memory, second]))
    // The library's own connections are not found.
    try withDirectory { directory in
      let db = try SqliteDatabase(filepath: directory + "/a.sqlite", configuration: Configuration(label: label))
      let own = try [db.openApart(), db.openFile(at: directory + "/a.sqlite", isImmutable: false), db.scratch()]
      #expect(numbers(SqliteDatabase.handles(labelled: label)) == numbers([memory, second, db]))
      #expect(own.map(\.isOpen) == [true, true, true])
    }
  }
}
