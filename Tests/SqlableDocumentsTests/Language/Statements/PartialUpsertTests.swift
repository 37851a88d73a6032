import Foundation
import SqlableCodable
import SqlableCore
import SqlableDocuments
import SqlableSchema
import Testing

@testable import SqlableTestSupport

private struct Subscriber: Codable, Equatable {
  var id: Int?
  var email: String
  var name: String
  var level = 1
  var deletedAt: Date?
}

extension Subscriber: SqlCodable {
  static let id = column("id", Int.self, PrimaryKey())
  static let email = column("email", String.self)
  static let name = column("name", String.self)
  static let level = column("level", Int.self)
  static let deletedAt = column("deleted_at", Date?.self)
  static let tableLayout = [id.column, email.column, name.column, level.column, deletedAt.column]
  static let tableIndexes = [
    Index(email, unique: true, where: deletedAt.isNull),
    Index(name, unique: true, where: level > 2 && email != "it's"),
  ]
}

/// Upserts on a unique index of some of the rows.
@Suite struct PartialUpsertTests {
  private func withSubscribers(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.createTable(Subscriber.self)
      let gone = Date(timeIntervalSince1970: 1)
      try Subscriber.insert([
        Subscriber(id: 1, email: "a@b.c", name: "Old", deletedAt: gone),
        Subscriber(id: 2, email: "a@b.c", name: "Anna"),
      ]).run(db)
      try body(db)
    }
  }

  private let anna = Subscriber(id: nil, email: "a@b.c", name: "Anna B")

  @Test(.needs(35, "RETURNING")) func anUpsertUpdatesTheRowOfAPartialIndex() throws {
    try withSubscribers { db in
      let upsert = anna.insert().onConflict(
        Subscriber.email, where: Subscriber.deletedAt.isNull, update: Subscriber.name)
      #expect(
        upsert.sql == #"""
          INSERT INTO "subscriber" ("email", "name", "level", "deleted_at") VALUES (?, ?, ?, ?) \#
          ON CONFLICT ("email") WHERE "deleted_at" IS NULL DO UPDATE SET "name" = excluded."name" RETURNING "id"
          """#)
      let id = try upsert.run(db)
      #expect(id == 2)
      #expect(try Subscriber.select(Subscriber.name).orderBy(Subscriber.id).run(db) == ["Old", "Anna B"])
      try Subscriber.update(Subscriber.deletedAt.set(to: Date())).filter(Subscriber.id == 2).run(db)
      let next = try upsert.run(db)
      #expect(next == 3)
    }
  }

  @Test(.needs(35, "RETURNING")) func conditionOfTheUpdateFollowsTheColumns() throws {
    try withSubscribers { db in
      let upsert = anna.insert().onConflict(
        Subscriber.email, where: Subscriber.deletedAt.isNull, set: Subscriber.level.set(to: Subscriber.level + 1),
        where: Subscriber.level < 3)
      #expect(
        upsert.sql == #"""
          INSERT INTO "subscriber" ("email", "name", "level", "deleted_at") VALUES (?, ?, ?, ?) \#
          ON CONFLICT ("email") WHERE "deleted_at" IS NULL \#
          DO UPDATE SET "level" = "subscriber"."level" + ? WHERE "subscriber"."level" < ? RETURNING "id"
          """#)
      let ids = try (1...3).map { _ in try upsert.run(db) }
      #expect(ids == [2, 2, 0])
      #expect(try Subscriber.byId(2).run(db)?.level == 3)
    }
  }

  @Test func aRowThatConflictsIsSkipped() throws {
    try withSubscribers { db in
      let skip = anna.insert().onConflict(Subscriber.email, where: Subscriber.deletedAt.isNull)
      let id = try skip.run(db)
      #expect(id == 0)
      #expect(try Subscriber.count().run(db) == 2)
    }
  }

  @Test func valuesOfTheConditionBecomeLiterals() throws {
    try withSubscribers { db in
      let star = Subscriber(id: nil, email: "s@b.c", name: "Star", level: 5)
      let upsert = star.insert().onConflict(
        Subscriber.name, where: Subscriber.level > 2 && Subscriber.email != "it's", update: Subscriber.email)
      #expect(upsert.sql.contains(#"ON CONFLICT ("name") WHERE "level" > 2 AND "email" <> 'it''s' DO UPDATE"#))
      let ids = try [upsert.run(db), upsert.run(db)]
      #expect(ids[0] == ids[1])
      // Statements that differ only in a literal are different statements.
      let other = star.insert().onConflict(
        Subscriber.name, where: Subscriber.level > 3 && Subscriber.email != "it's", update: Subscriber.email)
      let error = sqlError { try other.run(db) }
      #expect(error?.message.hasPrefix("table subscriber has no unique index for ON CONFLICT (name); ") == true)
    }
  }

  @Test(.needs(35, "several conflict clauses")) func severalIndexesOfTheSameColumnsAreDistinguished() throws {
    try withSubscribers { db in
      let upsert = anna.insert().onConflict(
        Subscriber.email, where: Subscriber.deletedAt.isNull, update: Subscriber.name
      )
      .onConflict(Subscriber.name, where: Subscriber.level > 2 && Subscriber.email != "it's")
      let id = try upsert.run(db)
      #expect(id == 2)
      expectInvalidStatement {
        try anna.insert().onConflict(Subscriber.email, where: Subscriber.deletedAt.isNull, update: Subscriber.name)
          .onConflict(Subscriber.email, where: Subscriber.deletedAt.isNull).run(db)
      }
    }
  }

  @Test func invalidConditionsThrow() throws {
    try withSubscribers { db in
      expectInvalidStatement { try anna.insert().onConflict(where: Subscriber.deletedAt.isNull).run(db) }
      expectMisuse {
        try anna.insert().onConflict(Subscriber.email, where: Subscriber.level == Parameter("level")).run(db)
      }
      expectMisuse {
        try anna.insert().onConflict(Subscriber.email, where: exists(Subscriber.read()), update: Subscriber.name).run(
          db)
      }
    }
  }

  @Test func theConditionIsEncoded() throws {
    let upsert = anna.insert().onConflict(
      Subscriber.email, where: Subscriber.deletedAt.isNull, update: Subscriber.name, where: Subscriber.level < 3)
    let same = try Statement<Subscriber, Int>(json: upsert.json())
    #expect(same == upsert)
    #expect(same.sql == upsert.sql)
  }
}
