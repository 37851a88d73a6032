import Foundation
import Sqlable
import Testing

@Suite("Deposit: a new file at once, the rows later")
struct DepositTests {
  @Test func rowsAreMergedWhereTheirKeysAreFree() throws {
    try withDirectory { directory in
      let path = directory + "/a.sqlite"
      let schema = Schema(Person.self, Bicycle.self)
      let damaged = try DamagedDatabase(path) { db in
        try db.createTables(of: schema)
        for id in 1...100 {
          try Person(id: id, name: "person \(id)").insert().run(db)
          try Bicycle(id: id, name: "bicycle \(id)", color: "red", ownerId: id).insert().run(db)
        }
        // Refers to a person who is not there.
        try db.execute("PRAGMA foreign_keys = 0; DELETE FROM person WHERE id = 50")
      }
      _ = damaged
      try Data("a log".utf8).write(to: URL(fileURLWithPath: path + "-wal"))
      let aside = try Salvage.putAside(path)
      let names = files(in: directory)
      #expect(names.count == 2 && names.allSatisfy { $0.hasPrefix("a.sqlite.damaged-") })
      let db = try SqliteDatabase(filepath: path)
      try db.createTables(of: schema)
      try Person(id: 7, name: "new").insert().run(db)
      try Person(id: 500, name: "new").insert().run(db)
      let merged = try Salvage(damaged: aside).merge(into: db)
      let people = try #require(merged.first { $0.table == "person" })
      let bikes = try #require(merged.first { $0.table == "bicycle" })
      #expect((people.added, people.conflicts, people.withoutParent) == (98, 1, 0))
      #expect((bikes.added, bikes.conflicts, bikes.withoutParent) == (99, 0, 1))
      #expect(try Person.count().run(db) == 100)
      #expect(try Person.read().filter(Person.id == 7).run(db).first?.name == "new")
      #expect(try db.query("SELECT count(*) FROM pragma_foreign_key_check", as: Int.self) == [0])
      #expect(files(in: directory).filter { $0.contains("salvaged") }.isEmpty)
      // Again: everything is there already.
      #expect(try Salvage(damaged: aside).merge(into: db).allSatisfy { $0.added == 0 })
      try db.close()
    }
  }

  @Test func aFileThatIsNotThereIsNotMovedAside() throws {
    try withDirectory { directory in
      #expect(sqlError { _ = try Salvage.putAside(directory + "/a.sqlite") }?.kind == .io)
    }
  }
}
