import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

private struct User: Codable, Equatable {
  var id: Int?
  var email: String
  var name: String
  var deletedAt: Date?
}

extension User: SqlCodable {
  static let id = column("id", Int.self, PrimaryKey())
  static let email = column("email", String.self)
  static let name = column("name", String.self)
  static let deletedAt = column("deleted_at", Date?.self)
  static let tableLayout = [id.column, email.column, name.column, deletedAt.column]
  static let tableIndexes = [Index(email, unique: true, where: deletedAt.isNull)]
}

private struct Tag: Codable, Equatable {
  var id: Int?
  var name: String
}

extension Tag: SqlCodable {
  static let id = column("id", Int.self, PrimaryKey())
  static let name = column("name", String.self, Unique())
  static let tableLayout = [id.column, name.column]
}

/// The examples of Docs/Statements.md on partial indexes and existing rows.
@Suite struct ConflictsGuide {
  @Test(.needs(35, "RETURNING")) func upsertNamesAPartialIndex() throws {
    try withDatabase { db in
      try db.createTable(User.self)
      let user = User(id: nil, email: "anna@example.org", name: "Anna")
      let upsert = user.insert().onConflict(User.email, where: User.deletedAt.isNull, update: User.name)
      #expect(
        upsert.sql == #"""
          INSERT INTO "user" ("email", "name", "deleted_at") VALUES (?, ?, ?) \#
          ON CONFLICT ("email") WHERE "deleted_at" IS NULL DO UPDATE SET "name" = excluded."name" RETURNING "id"
          """#)
      let ids = try [upsert.run(db), upsert.run(db)]
      #expect(ids == [1, 1])
    }
  }

  @Test(.needs(35, "RETURNING")) func existingRowIsReturned() throws {
    try withDatabase { db in
      try db.createTable(Tag.self)
      let shapes = Mutex<[String]>([])
      let trace = db.trace { event in shapes.withLock { $0.append(event.sql) } }
      defer { db.removeTrace(trace) }
      let tag = try Tag(id: nil, name: "red").insert().orFind(by: Tag.name).run(db)  // Tag
      #expect(tag == Tag(id: 1, name: "red"))
      let again = try Tag(id: nil, name: "red").insert().orFind(by: Tag.name).run(db)
      #expect(again == tag)
      let sql = shapes.withLock { $0 }
      #expect(sql.first == #"SELECT "id", "name" FROM "tag" WHERE "name" = ? LIMIT ?"#)
      #expect(sql.contains(#"INSERT INTO "tag" ("name") VALUES (?) ON CONFLICT ("name") DO NOTHING RETURNING "id""#))
    }
  }

  @Test func namesQualifyColumnsInRawSQL() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      try db.createTable(Bicycle.self, named: "archive")
      try Person.insert([Person(id: 1, name: "Anna"), Person(id: 2, name: "Bo")]).run(db)
      try Bicycle.insert([
        Bicycle(name: "Norco", color: "red", ownerId: 1), Bicycle(name: "Trek", color: "red", ownerId: 2),
      ]).run(db)
      let owned: SQL = """
        SELECT \(Bicycle.self).* FROM \(Bicycle.self)
        JOIN \(Person.self) ON \(Bicycle.self).\(Bicycle.ownerId) = \(Person.self).\(Person.id)
        WHERE \(Person.self).\(Person.name) = \("Anna")
        """
      let annas = try db.query(owned, as: Bicycle.self)
      let archived = try db.query("SELECT * FROM \(table: "archive")", as: Bicycle.self)
      #expect(
        owned.text == #"""
          SELECT "bicycle".* FROM "bicycle"
          JOIN "person" ON "bicycle"."owner_id" = "person"."id"
          WHERE "person"."name" = ?
          """#)
      #expect(annas.map(\.name) == ["Norco"])
      #expect(archived.isEmpty)
    }
  }
}
