import Foundation
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Returns a query in FTS5's syntax.
private func text(_ query: FullTextQuery) -> String { query.rawValue }

@Suite struct FullTextQueryTests {
  @Test func inputBecomesQuotedWords() {
    #expect(text(.words("swift  sqlite")) == #""swift" "sqlite""#)
    #expect(text(.words(" one\n")) == #""one""#)
    #expect(text(.anyWord("a b")) == #""a" OR "b""#)
    #expect(text(.phrase("a  b")) == #""a  b""#)
    #expect(text(.prefix("hello sw")) == #""hello" "sw" *"#)
    #expect(text(.near("a b", "c", within: 5)) == #"NEAR("a b" "c", 5)"#)
    #expect(text(.words("x y", in: Story.title, Memo.body)) == #"{"title" "body"} : ("x" "y")"#)
    #expect(text(.prefix("x", in: Story.title)) == #"{"title"} : "x" *"#)
    #expect(text(.phrase("x", in: Story.title)) == #"{"title"} : "x""#)
    // Words and signs of FTS5's own syntax.
    #expect(text(.words(#"a" OR b*"#)) == #""a""" "OR" "b*""#)
    #expect(text(.phrase(#"NEAR(a "b", 2) ^x {t} : -y"#)) == #""NEAR(a ""b"", 2) ^x {t} : -y""#)
    for nothing in ["", " ", "\0", "\t\u{A0}\u{2003}\0"] {
      #expect(text(.words(nothing)) == #""""#)
      #expect(text(.prefix(nothing)) == #""" *"#)
    }
    #expect(text(.words("a\0b")) == #""a" "b""#)
    #expect(text(.phrase("a\0b")) == #""a b""#)
  }

  @Test func queriesAreCombined() {
    let (a, b, c) = (FullTextQuery.words("a"), FullTextQuery.words("b"), FullTextQuery.words("c d"))
    #expect(text(a && b && c) == #""a" AND "b" AND ("c" "d")"#)
    #expect(text(a || b || c) == #""a" OR "b" OR ("c" "d")"#)
    #expect(text((a || b) && c) == #"("a" OR "b") AND ("c" "d")"#)
    #expect(text(a && (b || c)) == #""a" AND ("b" OR ("c" "d"))"#)
    #expect(text(c.excluding(a).excluding(b)) == #"("c" "d") NOT ("a" OR "b")"#)
    #expect(text(a.excluding(b)) == #""a" NOT ("b")"#)
    #expect(text(a.excluding(b && c).excluding(b || c)) == #""a" NOT (("b" AND ("c" "d")) OR ("b" OR ("c" "d")))"#)
    #expect(text(a.excluding(b).excluding(c.excluding(b))) == #""a" NOT ("b" OR (("c" "d") NOT ("b")))"#)
    #expect(text((a || b).restricted(to: [Story.title])) == #"{"title"} : ("a" OR "b")"#)
    #expect(text(a && .words("x y", in: Story.title)) == #""a" AND {"title"} : ("x" "y")"#)
    #expect(text(FullTextQuery(rawValue: "x NOT y") && a) == #"(x NOT y) AND "a""#)
    #expect((a && b) == (a && b))
    #expect((a && b) != (a || b))
    #expect(Set([a, a, b]).count == 2)
  }

  @Test func searchQueryIsBoundAsOneValue() throws {
    let search = Story.search(.words("a b")).limit(3)
    #expect(
      search.sql == """
        SELECT "story"."id", "story"."title", "story"."body", "story"."year", "story"."slug" FROM "story" \
        JOIN "story_fulltext" ON "story_fulltext"."rowid" = "story"."id" \
        WHERE "story_fulltext"."story_fulltext" MATCH ? ORDER BY "story_fulltext"."rank" LIMIT ?
        """)
    #expect(search.bindings == [.text(#""a" "b""#), 3])
    #expect(
      Story.count().filter(Story.matches(.words("a")) && Story.year > 2020).sql == """
        SELECT count(*) FROM "story" WHERE "id" IN (SELECT "rowid" FROM "story_fulltext" \
        WHERE "story_fulltext" MATCH ?) AND "year" > ?
        """)
    #expect(
      Memo.search(.words("a")).sql == """
        SELECT "rowid", "title", "body", "stars" FROM "memo" WHERE "memo" MATCH ? ORDER BY "rank"
        """)
    #expect(
      Memo.read().filter(!Memo.matches(.words("a"))).sql == """
        SELECT "rowid", "title", "body", "stars" FROM "memo" \
        WHERE NOT "rowid" IN (SELECT "rowid" FROM "memo" WHERE "memo" MATCH ?)
        """)
  }

  @Test func noInputIsASyntaxErrorOrReachesAnotherColumn() throws {
    try withDatabase { db in
      try db.createTables(Story.self, Memo.self)
      try Story(1, "swift", "the secret").insert().run(db)
      try Memo(1, "swift", "the secret").insert().run(db)
      let hostile = [
        "\"", "\"\"", "'", "*", "\"*", "^", "^swift", "-", "--", "AND", "OR", "NOT", "NEAR", "NEAR(", "NEAR(a b, 2)",
        "a AND", "(", ")", "())", "{title}", "{title} : x", "title:", "title : swift", "- title : swift", ":", "+",
        "a + b", "a\0b", "\0", "\0\"", "\"\0", "", " ", "😀", "👨‍👩‍👧‍👦 \u{FEFF}", "\u{202E}abc", "\\", "%", "_", ";",
        "; DROP TABLE memo",
        "x' OR 1=1 --", "\u{301}", "e\u{301}", String(repeating: "(", count: 500), String(repeating: "\" ", count: 500),
        String(repeating: "word ", count: 20_000), String(repeating: "x", count: 200_000), "\u{10FFFF}", "\r\n",
      ]
      for input in hostile {
        let queries: [FullTextQuery] = [
          .words(input), .anyWord(input), .phrase(input), .prefix(input), .near(input, input),
          .words(input, in: Story.title), .words("x").excluding(.phrase(input)), .words(input) && .prefix(input),
          .anyWord(input) || .near(input, within: 0),
        ]
        for query in queries {
          let found = try Story.search(query).run(db)
          #expect(found.isEmpty || input.contains("swift"), "\(input.prefix(20).debugDescription)")
        }
        // No input finds a match in another column.
        let reached = try Memo.search(.words("body : secret " + input, in: Memo.title)).run(db)
        #expect(reached.isEmpty, "\(input.prefix(20).debugDescription)")
      }
      // A part without words is skipped.
      #expect(try Story.search(.words("-- swift ' *")).run(db).count == 1)
      #expect(try Story.search(.prefix("sw --")).run(db).count == 0)
      #expect(try Story.search(.prefix("secret -- sw")).run(db).count == 1)
      #expect(try Story.search(.words("swift").excluding(.words("--"))).run(db).count == 1)
    }
  }

  @Test func manyQueriesCombineOrAreRefused() throws {
    try withDatabase { db in
      try db.createTable(Story.self)
      try Story(1, "swift").insert().run(db)
      let words = (0..<2_000).map { FullTextQuery.words("w\($0) x") }
      let any = words.reduce(.words("swift")) { $0 || $1 }
      #expect(try Story.search(any).run(db).count == 1)
      #expect(try Story.search(words.reduce(.words("swift")) { $0.excluding($1) }).run(db).count == 1)
      #expect(try Story.search(words.reduce(.words("swift")) { $0 && $1 }).run(db).isEmpty)
      var deep = FullTextQuery.words("swift")
      for depth in 1...200 {
        deep = depth.isMultiple(of: 2) ? .words("a b") || deep : .words("swift") && deep
        let error = sqlError { _ = try Story.search(deep).run(db) }
        if let error {
          #expect(error.message.contains("nested too deeply"), "\(depth)")
          #expect(depth == 29)
          break
        }
      }
      var excluding = FullTextQuery.words("swift")
      for _ in 1...14 { excluding = .words("swift").excluding(excluding) }
      _ = try Story.search(excluding).run(db)
      expectInvalidStatement { _ = try Story.search(.words("swift").excluding(excluding)).run(db) }
      var narrow = FullTextQuery.anyWord("swift a")
      var depth = 0
      while depth < 200, sqlError({ _ = try Story.search(narrow).run(db) }) == nil {
        narrow = (narrow && .words("swift")).restricted(to: [Story.title]) || .words("b c")
        depth += 1
      }
      let error = sqlError { _ = try Story.search(narrow).run(db) }
      #expect(error?.message.contains("nested too deeply") == true)
      #expect(depth > 10)
    }
  }

  @Test func aQueryOfAnotherColumnOrModelIsRefused() throws {
    try withDatabase { db in
      try db.createTables(Story.self, Memo.self)
      expectInvalidStatement { _ = try Story.search(.words("x", in: Memo.title)).run(db) }
      expectInvalidStatement { _ = try Story.search(.words("x", in: Story.slug)).run(db) }
      expectInvalidStatement { _ = try Memo.search(.words("x", in: Memo.stars)).run(db) }
      expectInvalidStatement { _ = try Story.search(.near("a", within: -1)).run(db) }
      expectInvalidStatement { _ = try Story.search(FullTextQuery(rawValue: "a\0b")).run(db) }
      expectInvalidStatement { _ = try Story.search(.words("x"), weights: [Story.year: 2]).run(db) }
      for weight in [-1, .nan, .infinity, 1_000_001] {
        expectInvalidStatement { _ = try Story.search(.words("x"), weights: [Story.title: weight]).run(db) }
      }
      // The first table is missing in the query; the second has no full-text index.
      expectInvalidStatement { _ = try Bicycle.read().filter(Story.matches(.words("x"))).run(db) }
      expectInvalidStatement { _ = try Story.read().select(Story.searchRank).run(db) }
      expectInvalidStatement { _ = try Memo.read().orderBy(Memo.searchRank).run(db) }
      expectInvalidStatement { _ = try Story.search(.words("x")).select(Story.snippet(tokens: 65)).run(db) }
      expectInvalidStatement { _ = try Story.search(.words("x")).select(Story.snippet(before: "\0")).run(db) }
      expectInvalidStatement { _ = try Story.search(.words("x")).select(Story.highlight(Story.slug)).run(db) }
      // A raw FTS5 query may be invalid; the error does not quote it.
      let syntax = expectSqlError { _ = try Story.search(FullTextQuery(rawValue: "secret AND (")).run(db) }
      #expect(syntax?.description.contains("secret") == false)
      let column = expectSqlError { _ = try Story.search(FullTextQuery(rawValue: "secret : x")).run(db) }
      #expect(column?.description.contains("secret") == false)
    }
  }
}
