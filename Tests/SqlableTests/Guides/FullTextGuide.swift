import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

private struct Article {
  var id: Int?
  var title: String
  var body: String
  var year: Int
}

extension Article: Sqlable {
  static let id = column("id", Int?.self, PrimaryKey(autoincrement: true))
  static let title = column("title", String.self)
  static let body = column("body", String.self)
  static let year = column("year", Int.self)
  static let tableLayout = [id.column, title.column, body.column, year.column]
  static let tableFullText = FullTextIndex(title, body, tokenizer: .porter, prefixes: [2, 3])

  func write(to row: inout RowWriter) throws {
    row.set(Article.id, id)
    row.set(Article.title, title)
    row.set(Article.body, body)
    row.set(Article.year, year)
  }

  init(row: ReadRow) throws {
    id = try row.get(Article.id)
    title = try row.get(Article.title)
    body = try row.get(Article.body)
    year = try row.get(Article.year)
  }
}

private struct Page {
  var rowid: Int?
  var text: String
  var url: String
}

extension Page: Sqlable {
  static let rowid = column("rowid", Int?.self, PrimaryKey())
  static let text = column("text", String.self)
  static let url = column("url", String.self, Unindexed())
  static let tableLayout = [rowid.column, text.column, url.column]
  static let tableOptions: [TableOption] = [.fullText(tokenizer: .porter)]

  func write(to row: inout RowWriter) throws {
    row.set(Page.rowid, rowid)
    row.set(Page.text, text)
    row.set(Page.url, url)
  }

  init(row: ReadRow) throws {
    rowid = try row.get(Page.rowid)
    text = try row.get(Page.text)
    url = try row.get(Page.url)
  }
}

private struct Photo {
  var id: Int?
  var keywords: String
}

extension Photo: Sqlable {
  static let id = column("id", Int?.self, PrimaryKey())
  static let keywords = column("keywords", String.self)
  static let tableLayout = [id.column, keywords.column]
  static let tableFullText = FullTextIndex(keywords, tokenizer: .named("tags"))

  func write(to row: inout RowWriter) throws {
    row.set(Photo.id, id)
    row.set(Photo.keywords, keywords)
  }

  init(row: ReadRow) throws {
    id = try row.get(Photo.id)
    keywords = try row.get(Photo.keywords)
  }
}

@Suite struct FullTextGuide {
  private func withArticles(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.createTable(Article.self)
      try Article.insert([
        Article(title: "Databases", body: "Rows of swift structs", year: 2024),
        Article(title: "Swift", body: "A language", year: 2014),
      ]).run(db)
      try body(db)
    }
  }

  @Test func fullTextIndexCreatesATableAndTriggers() throws {
    try withArticles { db in
      let definition = try db.query(
        "SELECT sql FROM sqlite_schema WHERE name = 'article_fulltext'", as: String.self)
      #expect(
        definition == [
          """
          CREATE VIRTUAL TABLE "article_fulltext" USING fts5("title", "body", content = 'article', \
          content_rowid = 'id', \
          tokenize = 'porter unicode61 remove_diacritics 2', prefix = '2 3')
          """
        ])
    }
  }

  @Test func searchesBecomeSQL() throws {
    try withArticles { db in
      let input = "swift"
      let found = try Article.search(.words(input)).limit(20).run(db)  // [Article], the best first
      let recent = try Article.read().filter(Article.matches(.words(input)) && Article.year > 2020).run(db)
      let lines = Article.search(.prefix(input), weights: [Article.title: 10]).filter(Article.year > 2020)
        .select(Article.title, Article.searchRank, Article.snippet(of: Article.body, tokens: 8))
      for (title, rank, snippet) in try lines.run(db) { print(title, rank, snippet ?? "") }
      #expect(found.map(\.title) == ["Swift", "Databases"])
      #expect(recent.map(\.title) == ["Databases"])
      #expect(try lines.first(db)?.2 == "Rows of <b>swift</b> structs")
      #expect(
        Article.search(.words(input)).limit(20).sql == """
          SELECT "article"."id", "article"."title", "article"."body", "article"."year" FROM "article" \
          JOIN "article_fulltext" ON "article_fulltext"."rowid" = "article"."id" \
          WHERE "article_fulltext"."article_fulltext" MATCH ? ORDER BY "article_fulltext"."rank" LIMIT ?
          """)
      #expect(
        Article.read().filter(Article.matches(.words(input)) && Article.year > 2020).sql == """
          SELECT "id", "title", "body", "year" FROM "article" \
          WHERE "id" IN (SELECT "rowid" FROM "article_fulltext" WHERE "article_fulltext" MATCH ?) AND "year" > ?
          """)
      #expect(
        lines.sql == """
          SELECT "article"."title", "article_fulltext"."rank", \
          snippet("article_fulltext"."article_fulltext", 1, ?, ?, ?, 8) FROM "article" \
          JOIN "article_fulltext" ON "article_fulltext"."rowid" = "article"."id" \
          WHERE "article_fulltext"."article_fulltext" MATCH ? AND "article_fulltext"."rank" MATCH ? \
          AND "article"."year" > ? \
          ORDER BY "article_fulltext"."rank"
          """)
    }
  }

  /// The table of queries, row by row.
  @Test func queriesBecomeTexts() {
    let queries: [(FullTextQuery, String)] = [
      (.words("swift sqlite"), #""swift" "sqlite""#),
      (.anyWord("swift sqlite"), #""swift" OR "sqlite""#),
      (.phrase("not a database"), #""not a database""#),
      (.prefix("swift sq"), #""swift" "sq" *"#),
      (.near("swift", "full text", within: 5), #"NEAR("swift" "full text", 5)"#),
      (.words("swift", in: Article.title), #"{"title"} : "swift""#),
      (.words("a") && .words("b"), #""a" AND "b""#),
      (.words("a") || .words("b"), #""a" OR "b""#),
      (.words("a").excluding(.words("b")), #""a" NOT ("b")"#),
      (FullTextQuery(rawValue: "swift NOT sq*"), #"swift NOT sq*"#),
    ]
    for (query, text) in queries { #expect(query.rawValue == text) }
  }

  @Test func customTokenizerSplitsTexts() throws {
    let tags = Tokenizer("tags") { text, purpose in
      text.split(separator: ",").map { Tokenizer.Token($0.lowercased(), at: $0.startIndex..<$0.endIndex) }
    }
    try withDatabase { db in
      try db.register(tags)
      try db.createTable(Photo.self)  // static let tableFullText = FullTextIndex(keywords, tokenizer: tags)
      try Photo(keywords: "Grey heron,Reed").insert().run(db)  // not shown
      let herons = try Photo.search(.phrase("grey heron")).run(db)
      #expect(herons.count == 1)
    }
  }

  @Test func fullTextTablesStoreAndFindTheirRows() throws {
    try withDatabase { db in
      try db.createTable(Page.self)
      let definition = try db.query("SELECT sql FROM sqlite_schema WHERE name = 'page'", as: String.self)
      #expect(
        definition == [
          """
          CREATE VIRTUAL TABLE "page" USING fts5("text", "url" UNINDEXED, \
          tokenize = 'porter unicode61 remove_diacritics 2')
          """
        ])
      let page = Page(rowid: 1, text: "Bicycles", url: "https://example.com/bicycles")
      #expect(
        page.save().sql == #"INSERT OR REPLACE INTO "page" ("rowid", "text", "url") VALUES (?, ?, ?)"#)
      try page.save().run(db)
      let search = Page.search(.words("bicycle"))
      #expect(search.sql == #"SELECT "rowid", "text", "url" FROM "page" WHERE "page" MATCH ? ORDER BY "rank""#)
      #expect(try search.run(db).map(\.url) == ["https://example.com/bicycles"])
    }
  }

  @Test func indexIsOptimizedCheckedAndRebuilt() throws {
    try withArticles { db in
      try db.optimizeFullText(Article.self)
      if try !db.isFullTextIntact(Article.self) { try db.rebuildFullText(Article.self) }
      // The statements that these calls run.
      for sql in [
        #"INSERT INTO main."article_fulltext" ("article_fulltext") VALUES ('optimize')"#,
        #"INSERT INTO main."article_fulltext" ("article_fulltext", "rank") VALUES ('integrity-check', 1)"#,
        #"INSERT INTO main."article_fulltext" ("article_fulltext") VALUES ('rebuild')"#,
      ] {
        try db.execute(SQL(verbatim: sql))
      }
    }
  }
}
