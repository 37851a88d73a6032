import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

/// Questions of Docs/PeerQuestions.md: reading rows.
@Suite struct PeerReadingTests {
  @Test func questionsAboutReadingHaveTheirSQLAndRows() throws {
    try PeerQuestions.ofCinema { asked in
      try asked.typed(
        "All films, as structs", Film.read(),
        """
        SELECT "id", "title", "year", "minutes", "genre", "is_restored", "tags", "premiere", "studio_id" FROM "film"
        """,
        byHand: "SELECT * FROM film")
      try asked.typed(
        "The film with a known key, or nil", try [Film.byId(4).run(asked.db)?.title ?? "none"],
        byHand: "SELECT title FROM film WHERE id = 4")
      try asked.typed(
        "The row whose key has two columns", try [Credit.byId(4, 3).run(asked.db)?.part ?? "none"],
        byHand: "SELECT part FROM credit WHERE film_id = 4 AND artist_id = 3")
      try asked.typed(
        "The films with any of several keys", Film.read().filter(Film.id.in([1, 4])),
        """
        SELECT "id", "title", "year", "minutes", "genre", "is_restored", "tags", "premiere", "studio_id" \
        FROM "film" WHERE "id" IN (?, ?)
        """,
        byHand:
          "SELECT id, title, year, minutes, genre, is_restored, tags, premiere, studio_id FROM film WHERE id IN (1, 4)")
      try asked.typed(
        "The rows with any of several keys of two columns",
        Credit.read().filter(rowValue(Credit.filmId, Credit.artistId).in([(1, 2), (4, 3)])),
        """
        SELECT "film_id", "artist_id", "part", "fee" FROM "credit" \
        WHERE ("film_id", "artist_id") IN (VALUES (?, ?), (?, ?))
        """,
        byHand: "SELECT * FROM credit WHERE film_id = 1 AND artist_id = 2 OR film_id = 4 AND artist_id = 3")
      try asked.typed(
        "Two columns instead of whole structs", Film.select(Film.title, Film.year),
        #"SELECT "title", "year" FROM "film""#, byHand: "SELECT title, year FROM film")
      try asked.typed(
        "A constant as an additional column", Film.select(Film.title, TypedExpression("film")),
        #"SELECT "title", ? FROM "film""#, byHand: "SELECT title, 'film' FROM film")
      try asked.typed(
        "The distinct genres", Film.select(Film.genre).distinct(), #"SELECT DISTINCT "genre" FROM "film""#,
        byHand: "SELECT DISTINCT genre FROM film")
      try asked.typed(
        "The first film in an order, or nil",
        try [Film.read().orderBy(Film.title).first().run(asked.db)?.title ?? "none"],
        byHand: "SELECT title FROM film ORDER BY title LIMIT 1")
      try asked.typed(
        "The only matching film; an error if none or several match",
        try [Film.read().filter(Film.year == 1948).only().run(asked.db).title],
        byHand: "SELECT title FROM film WHERE year = 1948")
      try asked.typed(
        "A dictionary of films, keyed by their primary keys",
        try Film.read().asDictionary(by: \.id).run(asked.db).sorted { $0.key < $1.key }.map(\.value.title),
        byHand: "SELECT title FROM film ORDER BY id")
      try asked.typed(
        "A dictionary of arrays of films, keyed by genre",
        try Film.read().grouped(by: \.genre).run(asked.db).map { "\($0.key) \($0.value.count)" }.sorted(),
        byHand: "SELECT genre || ' ' || count(*) FROM film GROUP BY genre ORDER BY genre")
      try asked.typed(
        "The halls as a set", try Screening.select(Screening.hall).asSet().run(asked.db).sorted(),
        byHand: "SELECT DISTINCT hall FROM screening ORDER BY hall")
      struct Line: Decodable {
        let title: String
        let year: Int
      }
      try asked.typed(
        "Some columns, decoded as another struct",
        try Film.select(Film.title, Film.year).decoded(as: Line.self).run(asked.db).map { "\($0.title) \($0.year)" },
        byHand: "SELECT title || ' ' || year FROM film")
      var cursor = Optional(try Film.read().orderBy(Film.year.desc, Film.title.asc).cursor(asked.db))
      let first = try cursor?.next()
      cursor = nil
      try asked.typed(
        "One row at a time, until the program stops", [first?.title ?? "none"],
        byHand: "SELECT title FROM film ORDER BY year DESC, title LIMIT 1")
      try asked.typed(
        "The number of films", try [String(Film.count(Film.year > 1960).run(asked.db))],
        byHand: "SELECT CAST(count(*) AS TEXT) FROM film WHERE year > 1960")
      try asked.typed(
        "The number of rows of a query with a limit", Film.read().limit(4).count(),
        #"SELECT count(*) FROM (SELECT 1 FROM "film" LIMIT ?)"#,
        byHand: "SELECT count(*) FROM (SELECT id FROM film LIMIT 4)")
      try asked.typed(
        "True if at least one film matches", try [String(Film.exists(Film.year == 1999).run(asked.db))],
        byHand: "SELECT CASE WHEN EXISTS (SELECT 1 FROM film WHERE year = 1999) THEN 'true' ELSE 'false' END")
      try asked.typed(
        "Ten films after the first three", Film.read().orderBy(Film.title).limit(10, offset: 3),
        """
        SELECT "id", "title", "year", "minutes", "genre", "is_restored", "tags", "premiere", "studio_id" \
        FROM "film" ORDER BY "title" LIMIT ? OFFSET ?
        """,
        byHand: """
          SELECT id, title, year, minutes, genre, is_restored, tags, premiere, studio_id FROM film \
          ORDER BY title LIMIT 10 OFFSET 3
          """)
      let last = try #require(try Film.byId(2).run(asked.db))
      try asked.typed(
        "The page after a given film, without an offset",
        Film.read().orderBy(Film.year).page(after: last, limit: 2),
        """
        SELECT "id", "title", "year", "minutes", "genre", "is_restored", "tags", "premiere", "studio_id" \
        FROM "film" WHERE "year" >= ? AND ("year" > ? OR "id" > ?) ORDER BY "year", "id" LIMIT ?
        """,
        byHand: """
          SELECT id, title, year, minutes, genre, is_restored, tags, premiere, studio_id FROM film \
          WHERE (year, id) > (1962, 2) ORDER BY year, id LIMIT 2
          """)
      try asked.typed(
        "A table without a model",
        try asked.db.table("studio").read().run(asked.db).map { try $0.get("name", as: String.self) },
        byHand: "SELECT name FROM studio")
      try asked.withSQL(
        "The rowids of a table with another primary key",
        Credit.select(Credit.part, TypedExpression<Int>(sql: "rowid")),
        #"SELECT "part", (rowid) FROM "credit""#, byHand: "SELECT part, rowid FROM credit")
    }
  }
}
