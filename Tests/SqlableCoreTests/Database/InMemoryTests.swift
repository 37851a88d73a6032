import Foundation
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

@Suite struct InMemoryTests {
  @Test func twoInMemoryDatabasesShareNothing() throws {
    let first = try SqliteDatabase.inMemory()
    let second = try SqliteDatabase(filepath: ":memory:")
    #expect(first.filepath == "")
    #expect(second.filepath == "")
    try first.createTable(Person.self)
    expectError(.schema(.missingTable("person"))) { _ = try Person.count().run(second) }
    #expect(!FileManager.default.fileExists(atPath: ":memory:"))
  }

  @Test(.needs(36, "a child of a database in memory"), arguments: [true, false])
  func childrenSeeTheSameData(byPath: Bool) throws {
    let db = try byPath ? SqliteDatabase(filepath: ":memory:") : .inMemory()
    try db.createTable(Person.self)
    let child = try db.createChild()
    let grandchild = try child.createChild()
    try Person(id: nil, name: "Ann").insert().run(grandchild)
    #expect(try Person.read().run(db).map(\.name) == ["Ann"])
    try db.close()
    try child.close()
    #expect(try Person.read().run(grandchild).map(\.name) == ["Ann"])
  }

  @Test(.needs(36, "a child of a database in memory")) func childrenWriteAtTheSameTimeAndLoseNothing() throws {
    let db = try SqliteDatabase.inMemory(configuration: .init(busyTimeout: 600))
    try db.execute("CREATE TABLE counter(n INTEGER NOT NULL)")
    try db.execute("INSERT INTO counter VALUES (0)")
    let failures = Mutex<[String]>([])
    onThreads(4) { _ in
      do {
        let child = try db.createChild()
        for _ in 0..<50 {
          try child.transaction { child in
            let n = try child.query("SELECT n FROM counter", as: Int.self)[0]
            try child.execute("UPDATE counter SET n = \(n + 1)")
          }
        }
      } catch { failures.withLock { $0.append("\(error)") } }
    }
    #expect(failures.withLock { $0 } == [])
    #expect(try db.query("SELECT n FROM counter", as: Int.self) == [200])
  }

  @Test(.needs(36, "a child of a database in memory")) func releasingTheLastHandleDiscardsTheData() throws {
    var db: SqliteDatabase? = try SqliteDatabase.inMemory()
    try db?.createTable(Person.self)
    var child = try db?.createChild()
    db = nil
    #expect(try child.map { try Person.count().run($0) } == 0)
    child = nil
    let other = try SqliteDatabase.inMemory()
    expectError(.schema(.missingTable("person"))) { _ = try Person.count().run(other) }
  }

  @Test func aReadOnlyInMemoryDatabaseIsRefused() throws {
    expectMisuse { _ = try SqliteDatabase.inMemory(configuration: .init(isReadOnly: true)) }
  }
}
