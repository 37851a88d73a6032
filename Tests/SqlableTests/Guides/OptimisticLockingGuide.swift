import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

private struct Article: Codable, Equatable {
  var id: Int?
  var title: String
  var text: String
  var version = 1
}

extension Article: SqlCodable {
  static let id = column("id", Int.self, PrimaryKey(autoincrement: true))
  static let title = column("title", String.self)
  static let text = column("text", String.self)
  static let version = column("version", Int.self, Default(1))
  static let tableLayout = [id.column, title.column, text.column, version.column]
}

extension Article {
  /// Updates the row and raises its version, unless the row has changed since it was read.
  func updateIfUnchanged() -> Statement<Article, Int> {
    var next = self
    next.version += 1
    return next.update().filter(Article.version == version)
  }
}

private enum Outcome: Equatable {
  case stored, deleted
  case conflict(Article)
}

extension Article {
  func store(in pool: SqlitePool) async throws -> Outcome {
    try await pool.transaction { db in
      if try updateIfUnchanged().run(db) == 1 { return .stored }
      guard let id, let newer = try Article.byId(id).run(db) else { return .deleted }
      return .conflict(newer)
    }
  }
}

/// The examples of Docs/OptimisticLocking.md.
@Suite struct OptimisticLockingGuide {
  /// Raises the version of a row whose update did not.
  let raise = Trigger(
    "article_version", after: .update, on: Article.self, when: Article.version.new <= Article.version.old,
    run: Article.update(Article.version.set(to: Article.version.old + 1)).filter(Article.id == Article.id.new))

  private func withArticle(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.createTable(Article.self)
      try Article(title: "Bikes", text: "Two wheels").insert().run(db)
      try body(db)
    }
  }

  @Test func secondOfTwoUpdatesChangesNoRow() throws {
    try withArticle { db in
      var anna = try #require(try Article.byId(1).run(db))
      var ben = anna
      anna.title = "Bicycles"
      ben.text = "Two wheels, one bell"
      let first = try anna.updateIfUnchanged().run(db)  // 1
      let second = try ben.updateIfUnchanged().run(db)  // 0: the row has another version
      #expect(first == 1)
      #expect(second == 0)
      #expect(
        anna.updateIfUnchanged().sql
          == #"UPDATE "article" SET "title" = ?, "text" = ?, "version" = ? WHERE "id" = ? AND ("version" = ?)"#)
      #expect(try Article.read().run(db) == [Article(id: 1, title: "Bicycles", text: "Two wheels", version: 2)])
    }
  }

  @Test func oneOfManyConcurrentUpdatesIsStored() async throws {
    try await withDirectoryAsync { directory in
      let pool = try SqlitePool(filepath: directory + "/articles.sqlite", configuration: .init(waitTimeout: nil))
      try await pool.transaction { db in try db.createTable(Article.self) }
      let id = try await Article(title: "Bikes", text: "").insert().run(pool)
      let article = try #require(try await Article.byId(id).run(pool))
      let changed = try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 1...20 { group.addTask { try await article.updateIfUnchanged().run(pool) } }
        return try await group.reduce(0, +)
      }
      #expect(changed == 1)
      try await pool.close()
    }
  }

  @Test func conflictReturnsTheNewerRow() async throws {
    try await withDirectoryAsync { directory in
      let pool = try SqlitePool(filepath: directory + "/articles.sqlite", configuration: .init(waitTimeout: nil))
      try await pool.transaction { db in try db.createTable(Article.self) }
      try await Article(title: "Bikes", text: "").insert().run(pool)
      let ben = Article(id: 1, title: "Bikes", text: "One bell")
      try await Article(id: 1, title: "Bicycles", text: "").updateIfUnchanged().run(pool)
      let newer = Article(id: 1, title: "Bicycles", text: "", version: 2)
      #expect(try await ben.store(in: pool) == .conflict(newer))
      switch try await ben.store(in: pool) {
      case .stored, .deleted: Issue.record("the row has changed")
      case .conflict(var merged):
        merged.text = ben.text
        #expect(try await merged.store(in: pool) == .stored)
      }
      #expect(try await Article.byId(1).run(pool) == Article(id: 1, title: "Bicycles", text: "One bell", version: 3))
      try await Article.deleteAll().run(pool)
      #expect(try await ben.store(in: pool) == .deleted)
      try await pool.close()
    }
  }

  @Test func readAndUpdateInOneTransactionNeedNoVersion() async throws {
    try await withDirectoryAsync { directory in
      let pool = try SqlitePool(filepath: directory + "/articles.sqlite", configuration: .init(waitTimeout: nil))
      try await pool.transaction { db in try db.createTable(Article.self) }
      let id = try await Article(title: "Bikes", text: "").insert().run(pool)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 1...20 {
          group.addTask {
            try await pool.transaction { db in
              guard var article = try Article.byId(id).run(db) else { return }
              article.text += "."
              try article.update().run(db)
            }
          }
        }
        try await group.waitForAll()
      }
      #expect(try await Article.byId(id).run(pool)?.text.count == 20)
      try await pool.close()
    }
  }

  @Test(.needs(35, "RETURNING")) func deletionAndAssignmentsCheckTheVersion() throws {
    try withArticle { db in
      let article = try #require(try Article.byId(1).run(db))
      let rename = Article.update(Article.title.set(to: "Cycles"), Article.version.set(to: Article.version + 1))
        .filter(Article.id == 1 && Article.version == article.version)
      let renamed = try rename.returning().first().run(db)  // Article?, nil after a conflict
      let deleted = try article.delete().filter(Article.version == article.version).run(db)  // 0
      #expect(renamed == Article(id: 1, title: "Cycles", text: "Two wheels", version: 2))
      #expect(try rename.returning().first().run(db) == nil)
      #expect(deleted == 0)
      #expect(
        rename.returning().sql == """
          UPDATE "article" SET "title" = ?, "version" = "version" + ? WHERE "id" = ? AND "version" = ? \
          RETURNING "id", "title", "text", "version"
          """)
      #expect(
        article.delete().filter(Article.version == article.version).sql
          == #"DELETE FROM "article" WHERE "id" = ? AND ("version" = ?)"#)
    }
  }

  @Test func existingRowsGetTheFirstVersion() throws {
    try withDatabase { db in
      try db.execute(
        "CREATE TABLE article (id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL, text TEXT NOT NULL)")
      try db.execute("INSERT INTO article (title, text) VALUES ('Bikes', '')")
      #expect(try db.createTable(Article.self).addedColumns == ["version"])
      #expect(try Article.read().run(db).map(\.version) == [1])
    }
  }

  @Test func otherUpdatesIgnoreTheVersion() throws {
    try withArticle { db in
      let stale = try #require(try Article.byId(1).run(db))
      try stale.updateIfUnchanged().run(db)
      try stale.save().run(db)
      #expect(try Article.byId(1).run(db)?.version == 1)
    }
  }

  @Test func triggerRaisesTheVersionOfOtherUpdates() throws {
    try withArticle { db in
      try db.createTables(of: Schema(Article.self).adding(raise))
      let stale = try #require(try Article.byId(1).run(db))
      try stale.updateIfUnchanged().run(db)
      #expect(try Article.byId(1).run(db)?.version == 2)
      try stale.save().run(db)
      #expect(try Article.byId(1).run(db)?.version == 3)
      #expect(try Article.updateAll(Article.title.set(to: "x")).run(db) == 1)
      #expect(try Article.byId(1).run(db)?.version == 4)
      #expect(
        try db.query("SELECT sql FROM sqlite_schema WHERE type = 'trigger'", as: String.self) == [
          """
          CREATE TRIGGER "article_version" AFTER UPDATE ON "article" FOR EACH ROW \
          WHEN "new"."version" <= "old"."version" \
          BEGIN UPDATE "article" SET "version" = "old"."version" + 1 WHERE "id" = "new"."id"; END
          """
        ])
    }
  }
}
