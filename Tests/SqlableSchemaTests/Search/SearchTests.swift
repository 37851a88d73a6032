import Foundation
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

private func withStories(_ body: (SqliteDatabase) throws -> Void) throws {
  try withDatabase { db in
    try db.createTables(Story.self, Memo.self)
    try Story.insert([
      Story(1, "Swift", "a language", year: 2014), Story(2, "Databases", "rows of swift structs", year: 2024),
      Story(3, "SQLite", "swift and swift again, a small fast database that is swift", year: 2000),
      Story(4, "Bicycles", nil, year: 2020),
    ]).run(db)
    try Memo.insert([Memo(1, "Swift", "one", stars: 1), Memo(2, "two", "swift swift", stars: 2), Memo(3, "three")])
      .run(db)
    try body(db)
  }
}

@Suite struct SearchTests {
  @Test func bestRowsComeFirst() throws {
    try withStories { db in
      let rows = try Story.search(.words("swift")).select(Story.id, Story.searchRank).run(db)
      #expect(Set(rows.map(\.0)) == [1, 2, 3])
      #expect(rows.map(\.1) == rows.map(\.1).sorted())
      #expect(rows.allSatisfy { $0.1 < 0 })
      let byHand = try db.query(
        "SELECT rowid FROM story_fulltext WHERE story_fulltext MATCH 'swift' ORDER BY rank", as: Int?.self)
      #expect(rows.map(\.0) == byHand)
      let weighted = Story.search(.words("swift"), weights: [Story.title: 1000, Story.body: 0.000_01])
      #expect(try weighted.first(db)?.id == 1)
      #expect(
        weighted.bindings == [.text(#""swift""#), .text("bm25(1000.000000, 0.000010)")])
      let bodies = try Story.search(.words("swift"), weights: [Story.title: 0]).run(db).map(\.id)
      #expect(bodies.last == 1)
      #expect(try Memo.search(.words("swift"), weights: [Memo.title: 50]).run(db).map(\.rowid) == [1, 2])
      #expect(try Memo.search(.words("swift"), weights: [Memo.body: 50]).run(db).map(\.rowid) == [2, 1])
      #expect(try Memo.search(.words("swift")).select(Memo.searchRank).run(db).count == 2)
    }
  }

  @Test func snippetsAndHighlightsMarkTheMatches() throws {
    try withStories { db in
      let search = Story.search(.words("swift fast"))
      let part = Story.snippet(of: Story.body, before: "[", after: "]", ellipsis: "…", tokens: 3)
      let rows = search.select(Story.id, part, Story.highlight(Story.body), Story.highlight(Story.title))
      #expect(
        rows.sql == """
          SELECT "story"."id", snippet("story_fulltext"."story_fulltext", 1, ?, ?, ?, 3), \
          highlight("story_fulltext"."story_fulltext", 1, ?, ?), \
          highlight("story_fulltext"."story_fulltext", 0, ?, ?) FROM "story" \
          JOIN "story_fulltext" ON "story_fulltext"."rowid" = "story"."id" \
          WHERE "story_fulltext"."story_fulltext" MATCH ? ORDER BY "story_fulltext"."rank"
          """)
      let row = try rows.first(db)
      #expect(row?.0 == 3)
      #expect(row?.1?.contains("[") == true)
      #expect(
        row?.2 == "<b>swift</b> and <b>swift</b> again, a small <b>fast</b> database that is <b>swift</b>")
      #expect(row?.3 == "SQLite")
      #expect(try Story.search(.words("bicycle")).select(Story.highlight(Story.body)).run(db) == [nil])
      #expect(try Story.search(.words("bicycle")).select(Story.snippet()).run(db) == ["<b>Bicycles</b>"])
      let hostile = "'\"); DROP TABLE story; --"
      let mark = Story.snippet(before: hostile, after: "", ellipsis: hostile)
      #expect(try Story.search(.words("bicycle")).select(mark).run(db) == [hostile + "Bicycles"])
      let untyped = Memo.search(.words("one")).select(Memo.title, Memo.snippet(of: Memo.body).expression)
      #expect(try untyped.run(db).map(\.values) == [["Swift", "<b>one</b>"]])
      #expect(try Memo.search(.words("one")).orderBy(Memo.stars).select(Memo.highlight(Memo.body)).run(db).count == 1)
    }
  }

  @Test func searchCombinesWithEveryPartOfAQuery() throws {
    try withStories { db in
      let recent = try Story.search(.words("swift")).filter(Story.year > 2010).limit(1, offset: 1).run(db)
      #expect(recent.count == 1)
      #expect(try Story.search(.words("swift")).filter(Story.year > 2010 || Story.id == 3).run(db).count == 3)
      #expect(try Story.search(.words("swift")).select(Story.id.count()).run(db) == [3])
      let other = Alias(Memo.self, "m")
      let both = Story.search(.words("database")).join(other, on: other[Memo.stars] == Story.id.column)
      #expect(try both.run(db).map { $0.0.id } == [2])
      #expect(
        both.sql.hasSuffix(
          #"JOIN "memo" AS "m" ON "m"."stars" = "story"."id" WHERE "story_fulltext"."story_fulltext" MATCH ? "#
            + #"ORDER BY "story_fulltext"."rank""#))
      let pairs = Memo.search(.words("swift")).join(Story.self, on: Story.id.column == Memo.rowid)
      #expect(try pairs.run(db).count == 2)
      #expect(
        pairs.sql.hasSuffix(#"ON "story"."id" = "memo"."rowid" WHERE "memo"."memo" MATCH ? ORDER BY "memo"."rank""#))
      let snippets = pairs.select(Memo.snippet(), Story.title)
      #expect(try snippets.run(db).count == 2)
      // Two searches in one statement, and a search in a subquery.
      let twice = Story.search(.words("swift")).filter(Story.matches(.words("structs")))
      #expect(try twice.run(db).map(\.id) == [2])
      let inside = Memo.read().filter(Memo.rowid.in(Story.search(.words("swift")).select(Story.id)))
      #expect(try inside.run(db).count == 3)
      var seen = 0
      try Story.search(.words("swift")).forEach(db) { _ in
        seen += 1
        return .stop
      }
      #expect(seen == 1)
    }
  }

  @Test func matchConditionWorksInEveryStatement() throws {
    try withStories { db in
      let swift = Story.matches(.words("swift"))
      let others = try Story.count().filter(!swift).run(db)
      #expect(others == 1)
      #expect(try Story.count().filter(swift || Story.year == 2020).run(db) == 4)
      #expect(try Story.count().filter(!(swift && Story.year > 2010) || Story.id == 1).run(db) == 3)
      #expect(try Memo.count().filter(Memo.matches(.words("swift")) || Memo.rowid == 3).run(db) == 3)
      #expect(try Memo.delete(!Memo.matches(.words("swift"))).run(db) == 1)
      let word = Case.when(swift, then: "yes").else("no")
      #expect(try Story.select(word).orderBy(Story.id).run(db) == ["yes", "yes", "yes", "no"])
      let a = Alias(Story.self, "a")
      let pairs = Story.join(a, on: a.matches(.words("fast")) && Story.matches(.words("language")))
      #expect(try pairs.run(db).map { [$0.0.id, $0.1.id] } == [[1, 3]])
      let there = exists(Story.read().filter(Story.id.column == Memo.rowid && Story.matches(.words("swift"))))
      #expect(try Memo.count().filter(there).run(db) == 2)
      let outer = exists(Story.read().filter(Memo.matches(.words("one"))))
      #expect(try Memo.read().filter(outer).run(db).map(\.rowid) == [1])
      let update = Story.update(Story.year.set(to: 1)).filter(swift).limit(2)
      #expect(try update.run(db) == 2)
    }
  }

  @Test func beginningsOfWordsPhrasesAndNearWordsAreFound() throws {
    try withStories { db in
      func ids(_ query: FullTextQuery) throws -> [Int] { try Story.search(query).run(db).compactMap(\.id).sorted() }
      let begun = try ids(.prefix("sw"))
      #expect(begun == [1, 2, 3])
      #expect(try ids(.prefix("swift str")) == [2])
      #expect(try ids(.words("sw")) == [])
      #expect(try ids(.phrase("swift and swift")) == [3])
      #expect(try ids(.phrase("and swift and")) == [])
      #expect(try ids(.near("rows", "structs", within: 2)) == [2])
      #expect(try ids(.near("rows", "structs", within: 1)) == [])
      #expect(try ids(.near("small fast", "swift", within: .max)) == [3])
      #expect(try ids(.anyWord("language structs")) == [1, 2])
      #expect(try ids(.words("swift", in: Story.title)) == [1])
      #expect(try ids(.words("swift").excluding(.words("fast"))) == [1, 2])
      #expect(try ids(FullTextQuery(rawValue: "title : swift OR structs NOT again")) == [1, 2])
      // The porter tokenizer stems the words.
      #expect(try ids(.words("struct")) == [2])
    }
  }
}
