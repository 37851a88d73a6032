import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

private struct Chapter: SqlCodable, Equatable {
  var id: Int?
  var title: String
}

extension Chapter {
  static let natural = Collation("natural") { $0.compare($1, options: [.numeric, .caseInsensitive]) }
  static let slug = ScalarFunction("slug", isDeterministic: true, isAllowedInSchema: true) { (title: String) in
    title.lowercased().split { !$0.isLetter && !$0.isNumber }.joined(separator: "-")
  }

  static let id = column("id", Int.self, PrimaryKey())
  static let title = column("title", String.self, natural)
  static let tableLayout = [id.column, title.column]
  static let tableIndexes = [Index(slug(title), name: "chapter_slug")]
}

/// The examples of Docs/OwnFunctions.md.
@Suite struct OwnFunctionsGuide {
  @Test func functionAndCollationWorkInStatements() async throws {
    let pool = try SqlitePool.inMemory()
    try await pool.transaction { db in try db.createTable(Person.self) }
    try await Person.insert(["item 10", "Item 9", "item 1"].map { Person(id: nil, name: $0) }).run(pool)
    let initials = ScalarFunction("initials") { (name: String) in
      String(name.split(separator: " ").compactMap(\.first)).uppercased()
    }
    let natural = Collation("natural") { $0.compare($1, options: [.numeric, .caseInsensitive]) }
    try pool.register(initials)
    try pool.register(natural)
    let sorted = Person.read().orderBy(Person.name.collate(natural))
    let found = Person.read().filter(initials(Person.name) == "I1")
    let names = try await sorted.run(pool).map(\.name)
    let matches = try await found.run(pool).map(\.name)
    #expect(names == ["item 1", "Item 9", "item 10"])
    #expect(matches == ["item 10", "item 1"])
    #expect(sorted.sql == #"SELECT "id", "name" FROM "person" ORDER BY "name" COLLATE "natural""#)
    #expect(found.sql == #"SELECT "id", "name" FROM "person" WHERE "initials"("name") = ?"#)
    try await pool.close()
  }

  @Test func everyConnectionOfTheFileNeedsThem() async throws {
    try await withDirectoryAsync { directory in
      let path = directory + "/book.sqlite"
      var configuration = PoolConfiguration()
      configuration.handles.onOpen("own functions") { db in
        try db.register(Chapter.natural)
        try db.register(Chapter.slug)
      }
      let pool = try SqlitePool(filepath: path, configuration: configuration)
      try await pool.transaction { db in try db.createTable(Chapter.self) }
      try await Chapter.insert(["Part 10", "part 9: The End", "Part 1"].map { Chapter(title: $0) }).run(pool)
      let chapters = try await Chapter.read().orderBy(Chapter.title).run(pool)
      let end = Chapter.read().filter(Chapter.slug(Chapter.title) == "part-9-the-end")
      let plan = try await end.explain(pool)  // SEARCH chapter USING INDEX chapter_slug (<expr>=?)
      #expect(chapters.map(\.title) == ["Part 1", "part 9: The End", "Part 10"])
      #expect(plan.description == "SEARCH chapter USING INDEX chapter_slug (<expr>=?)")
      #expect(try await end.run(pool).map(\.id) == [2])
      #expect(try await Chapter.count().filter(Chapter.title == "PART 1").run(pool) == 1)
      let sql = try await pool.query("SELECT sql FROM sqlite_schema ORDER BY type DESC", as: String.self)
      #expect(
        sql == [
          #"CREATE TABLE "chapter" ("id" INTEGER PRIMARY KEY, "title" TEXT NOT NULL COLLATE "natural")"#,
          #"CREATE INDEX "chapter_slug" ON "chapter" ("slug"("title"))"#,
        ])
      try await pool.execute("REINDEX")
      try await pool.close()

      let other = try SqliteDatabase(filepath: path)
      let missing = sqlError { _ = try Chapter.read().orderBy(Chapter.title).run(other) }
      #expect(
        missing?.message.hasPrefix(
          "no such collation sequence: natural; if the program defines this collation, ") == true)
      let unknown = sqlError { try Chapter(title: "x").insert().run(other) }
      #expect(
        unknown?.message.hasPrefix("unknown function: slug(); if the program defines this function, ") == true)

      let migrations = Migrations([Migration("chapters") { db in try db.createTable(Chapter.self) }])
      try migrations.checkPastVersions(configuration: configuration.handles) { _, _ in }
      #expect(sqlError { try migrations.checkPastVersions { _, _ in } } != nil)
    }
  }
}
