import Foundation
import Sqlable
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// A table that is bound to a model and a database.
@Suite struct ModelTableTests {
  private let trek = Bicycle(id: 1, name: "Trek", color: "red")

  private func withArchive(_ body: (SqliteDatabase, ModelTable<Bicycle, SqliteDatabase>) throws -> Void) throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      try db.createTable(Bicycle.self, named: "archive")
      try body(db, db.table(Bicycle.self, named: "archive"))
    }
  }

  @Test func statementsNameTheTable() throws {
    try withArchive { db, archive in
      let condition = Bicycle.color == "red"
      let columns = #""id", "name", "color", "owner_id""#
      let statements: [(any Runnable, String)] = [
        (archive.read(), "SELECT \(columns) FROM \"archive\""),
        (archive.read(condition), "SELECT \(columns) FROM \"archive\" WHERE \"color\" = ?"),
        (archive.byId(1), "SELECT \(columns) FROM \"archive\" WHERE \"id\" = ? LIMIT ?"),
        (archive.count(), #"SELECT count(*) FROM "archive""#),
        (archive.count(condition), #"SELECT count(*) FROM "archive" WHERE "color" = ?"#),
        (archive.exists(), #"SELECT EXISTS (SELECT 1 FROM "archive")"#),
        (archive.exists(condition), #"SELECT EXISTS (SELECT 1 FROM "archive" WHERE "color" = ?)"#),
        (archive.insert(trek), #"INSERT INTO "archive" ("id", "name", "color") VALUES (?, ?, ?)"#),
        (archive.insert(trek, Bicycle.name), #"INSERT INTO "archive" ("name") VALUES (?)"#),
        (archive.insert([trek]), #"INSERT INTO "archive" ("id", "name", "color") VALUES (?, ?, ?)"#),
        (archive.update(trek, Bicycle.color), #"UPDATE "archive" SET "color" = ? WHERE "id" = ?"#),
        (archive.updateAll(Bicycle.color.set(to: "red")), #"UPDATE "archive" SET "color" = ?"#),
        (archive.delete(trek), #"DELETE FROM "archive" WHERE "id" = ?"#),
        (archive.delete(condition), #"DELETE FROM "archive" WHERE "color" = ?"#),
        (archive.deleteAll(), #"DELETE FROM "archive""#),
        (
          archive.insert(from: Bicycle.read(condition)),
          "INSERT INTO \"archive\" (\(columns)) SELECT \(columns) FROM \"bicycle\" WHERE \"color\" = ?"
        ),
        (
          archive.update(Bicycle.color.set(to: "red")).filter(Bicycle.id == 1),
          #"UPDATE "archive" SET "color" = ? WHERE "id" = ?"#
        ),
      ]
      for (statement, sql) in statements { #expect(statement.sql == sql) }
      #expect(archive.save(trek).sql.hasPrefix(#"INSERT INTO "archive" ("#))
      #expect(archive.delete().filter(condition) == Bicycle.delete(condition).in("archive"))
      #expect(archive.update(trek) == trek.update().in("archive"))
      let own = db.table(Bicycle.self)
      #expect(own.name == "bicycle")
      #expect(own.read() == Bicycle.read())
      let quoted = db.table(Bicycle.self, named: "a\"; DROP TABLE bicycle")
      #expect(quoted.deleteAll().sql == #"DELETE FROM "a""; DROP TABLE bicycle""#)
    }
  }

  @Test func statementsRunOnTheTable() throws {
    try withArchive { db, archive in
      #expect(try archive.read().run(archive) == [])
      #expect(try archive.byId(1).run(archive) == nil)
      let giant = Bicycle(id: 2, name: "Giant", color: "blue", ownerId: nil)
      #expect(try archive.insert([trek, giant]).run(archive) == [1, 2])
      #expect(try archive.read(Bicycle.color == "blue").run(archive) == [giant])
      #expect(try archive.read(Bicycle.ownerId == nil).orderBy(Bicycle.id.desc).first(archive) == giant)
      #expect(try archive.save(Bicycle(id: 2, name: "Giant", color: "red")).run(archive) == 2)
      #expect(try archive.count(Bicycle.color == "red").run(archive) == 2)
      #expect(try archive.update(Bicycle(id: 2, name: "Cube", color: "green"), Bicycle.name).run(archive) == 1)
      #expect(try archive.byId(2).run(archive)?.name == "Cube")
      #expect(try archive.byId(2).run(archive)?.color == "red")
      try db.transaction { db in
        try archive.delete(Bicycle.id == 1).run(db)
        #expect(try archive.exists(Bicycle.id == 1).run(archive) == false)
      }
      #expect(try archive.deleteAll().run(archive) == 1)
      #expect(try Bicycle.count().run(db) == 0)
      expectMisuse { try archive.delete().run(archive) }
      let missing = db.table(Bicycle.self, named: "missing")
      expectError(.schema(.missingTable("missing"))) { _ = try missing.count().run(missing) }
      try db.close()
      expectError(.closed) { _ = try archive.count().run(archive) }
    }
  }

  @Test func aTableOfAPoolRunsOnReadersAndTheWriter() async throws {
    try await withMembers { pool in
      try await pool.transaction { db in try db.createTable(Member.self, named: "former") }
      let former = pool.table(Member.self, named: "former")
      try await former.insert((1...3).map { Member(id: $0, name: "\($0)") }).run(former)
      #expect(try await former.count().run(former) == 3)
      #expect(try await former.read(Member.id > 1).first(former)?.id == 2)
      let moved = try await pool.transaction { db in
        try Member.insert(from: former.read(Member.id == 3)).run(db)
        return try former.delete(Member.id == 3).run(db)
      }
      #expect(moved == 1)
      #expect(try await Member.count().run(pool) == 1)
    }
  }
}
