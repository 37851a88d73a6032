import Dispatch
import Foundation
import Sqlable
import Synchronization
import Testing

@Suite("Deposit: a new file at once, the rows later", .needsPlainFiles("it damages pages by their contents"))
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

  @Test func aPoolGoesOnWithANewFileWhileTasksUseIt() async throws {
    try await withDirectoryAsync { directory in
      let path = directory + "/a.sqlite"
      let schema = Schema(Person.self, Bicycle.self)
      let damaged = try DamagedDatabase(path) { db in
        try db.createTables(of: schema)
        for id in 1...3_000 { try Bicycle(id: id, name: "bicycle \(id)", color: "red").insert().run(db) }
      }
      let leaves = try damaged.pages(ofType: 13)
      try damaged.zero(page: leaves[leaves.count / 2])
      let pool = try SqlitePool(
        filepath: path, configuration: .init(handles: .init(stopsWritesWhenDamaged: true)))
      let aside = Mutex<String?>(nil)
      let isAside = DispatchSemaphore(value: 0)
      pool.onCorruption { report in
        let moved = try? pool.withClosed { files in
          let moved = try Salvage.putAside(files.filepath)
          try SqliteDatabase(filepath: files.filepath).createTables(of: schema)
          return moved
        }
        aside.withLock { $0 = moved }
        isAside.signal()
      }
      let written = try await withThrowingTaskGroup { group in
        for task in 0..<4 {
          group.addTask {
            var written = 0
            for number in 0..<200 {
              let id = 10_000 + task * 1_000 + number
              do {
                try await Bicycle(id: id, name: "new \(id)", color: "blue").insert().run(pool)
                if aside.withLock({ $0 }) != nil { written += 1 }
                _ = try await Bicycle.read().run(pool)
              } catch let error as SqlError {
                // Only the damage itself ends calls, and never the change of files.
                #expect(error.kind == .corrupt, "\(error)")
              }
            }
            return written
          }
        }
        return try await group.reduce(0, +)
      }
      #expect(isAside.wait(timeout: .now() + 20) == .success)
      let file = try #require(aside.withLock { $0 })
      #expect(pool.corruption == nil)
      let before = try await Bicycle.count().run(pool)
      #expect(before >= written)
      try await Bicycle(id: 20_000, name: "new", color: "blue").insert().run(pool)
      let merged = try Salvage(damaged: file).merge(into: pool)
      let bikes = try #require(merged.first { $0.table == "bicycle" })
      #expect(bikes.added > 2_900 && bikes.conflicts == 0, "\(merged)")
      #expect(try await Bicycle.count().run(pool) == before + 1 + bikes.added)
      #expect(try await pool.query("PRAGMA integrity_check", as: String.self) == ["ok"])
      try await pool.close()
    }
  }

  @Test func aMergeIntoAPoolInsideItsTransactionIsRefused() throws {
    try withDirectory { directory in
      _ = try DamagedDatabase(directory + "/old.sqlite") { try SalvageTests.bicycles($0, 10) }
      let pool = try SqlitePool(filepath: directory + "/a.sqlite")
      try pool.withWriter { try $0.createTables(of: Schema(Person.self, Bicycle.self)) }
      expectMisuse {
        try pool.transaction { _ in _ = try Salvage(damaged: directory + "/old.sqlite").merge(into: pool) }
      }
      #expect(files(in: directory).filter { $0.contains("salvaged") }.isEmpty)
      try pool.close()
    }
  }

  @Test func aFileThatIsNotThereIsNotMovedAside() throws {
    try withDirectory { directory in
      #expect(sqlError { _ = try Salvage.putAside(directory + "/a.sqlite") }?.kind == .io)
    }
  }
}
