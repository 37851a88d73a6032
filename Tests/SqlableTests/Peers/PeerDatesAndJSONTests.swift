import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

/// Questions of Docs/PeerQuestions.md: dates and JSON, full-text search, views, triggers and raw SQL.
@Suite struct PeerDatesAndJSONTests {
  @Test(.needs(38, "->")) func questionsAboutDatesAndJSONHaveTheirSQLAndRows() throws {
    try PeerQuestions.ofCinema { asked in
      try asked.typed(
        "Films with a premiere in October", Film.select(Film.title).filter(Film.premiere.month() == 10),
        #"SELECT "title" FROM "film" WHERE CAST(strftime('%m', "premiere", 'unixepoch') AS INTEGER) = ?"#,
        byHand: "SELECT title FROM film WHERE strftime('%m', premiere, 'unixepoch') = '10'")
      try asked.typed(
        "Before a date that the program passes",
        Film.select(Film.title).filter(Film.premiere < Date(timeIntervalSince1970: 0)),
        #"SELECT "title" FROM "film" WHERE "premiere" < ?"#, byHand: "SELECT title FROM film WHERE premiere < 0")
      try asked.typed(
        "The number of premieres of each year",
        Film.select(Film.premiere.strftime("%Y"), countAll()).groupBy(Film.premiere.strftime("%Y")),
        #"SELECT strftime('%Y', "premiere", 'unixepoch'), count(*) FROM "film" GROUP BY 1"#,
        byHand: "SELECT strftime('%Y', premiere, 'unixepoch'), count(*) FROM film GROUP BY 1")
      try asked.typed(
        "A date 30 days later, and the days since a date",
        Film.select(Film.premiere.adding(30, .day), Film.premiere.days(since: Date(timeIntervalSince1970: 0))),
        #"SELECT ("premiere" + ?), (CAST("premiere" AS REAL) - ?) / ? FROM "film""#,
        byHand: "SELECT premiere + 30 * 86400, premiere / 86400.0 FROM film")
      try asked.withSQL(
        "Before the present time of SQLite",
        Film.select(Film.title).filter(SqlExpression(sql: "\(Film.premiere) < CAST(strftime('%s', 'now') AS REAL)")),
        #"SELECT "title" FROM "film" WHERE ("premiere" < CAST(strftime('%s', 'now') AS REAL))"#,
        byHand: "SELECT title FROM film WHERE premiere < 4000000000")
      try asked.typed(
        "An element of a JSON array", Film.select(Film.tags.jsonValue(0, as: String.self)),
        #"SELECT "tags" ->> '$[0]' FROM "film""#, byHand: "SELECT tags ->> 0 FROM film")
      try asked.typed(
        "The length of a JSON array", Film.select(Film.title).filter(Film.tags.jsonArrayLength() > 1),
        #"SELECT "title" FROM "film" WHERE json_array_length("tags", '$') > ?"#,
        byHand: "SELECT title FROM film WHERE json_array_length(tags) > 1")
      try asked.typed(
        "A JSON array that contains a value", Film.select(Film.title).filter(Film.tags.jsonContains("night")),
        #"SELECT "title" FROM "film" WHERE ? IN (SELECT "element"."value" FROM json_each("film"."tags") AS "element")"#,
        byHand: "SELECT title FROM film WHERE 'night' IN (SELECT value FROM json_each(tags))")
      let tag = JSONEach(Film.tags, as: "tag")
      try asked.typed(
        "The elements of all arrays, counted",
        Film.select(tag.value(as: String.self), countAll()).joining(tag).groupBy(tag.value(as: String.self)),
        #"SELECT "tag"."value", count(*) FROM "film" JOIN json_each("film"."tags") AS "tag" GROUP BY "tag"."value""#,
        byHand: "SELECT tag.value, count(*) FROM film JOIN json_each(film.tags) AS tag GROUP BY tag.value")
      try asked.typed(
        "An element of a JSON array replaced",
        changing: Film.update(Film.tags.set(to: Film.tags.jsonSet(0, to: "coast"))).filter(Film.id == 1),
        #"UPDATE "film" SET "tags" = json_set("tags", '$[0]', ?) WHERE "id" = ?"#,
        byHand: "UPDATE film SET tags = json_set(tags, '$[0]', 'coast') WHERE id = 1")
      try asked.typed(
        "A value appended to a JSON array",
        changing: Film.update(Film.tags.set(to: Film.tags.jsonInsert(.end, value: "coast"))).filter(Film.id == 1),
        #"UPDATE "film" SET "tags" = json_insert("tags", '$[#]', ?) WHERE "id" = ?"#,
        byHand: "UPDATE film SET tags = json_insert(tags, '$[#]', 'coast') WHERE id = 1")
      try asked.typed(
        "An element of a JSON array removed",
        changing: Film.update(Film.tags.set(to: Film.tags.jsonRemove(-1))).filter(Film.id == 1),
        #"UPDATE "film" SET "tags" = json_remove("tags", '$[#-1]') WHERE "id" = ?"#,
        byHand: "UPDATE film SET tags = json_remove(tags, '$[#-1]') WHERE id = 1")
      try asked.typed(
        "Each row as a JSON object", Film.select(jsonObject(["title": Film.title, "tags": Film.tags])),
        #"SELECT json_object(?, "title", ?, json("tags")) FROM "film""#,
        byHand: "SELECT json_object('title', title, 'tags', json(tags)) FROM film")
      try asked.typed(
        "Each studio, with its films as a JSON array",
        Studio.leftJoin(Film.self, on: Film.studioId == Studio.id).select(
          Studio.name, jsonObject(["title": Film.title]).jsonGroupArray(where: Film.id != nil)
        ).groupBy(Studio.id),
        """
        SELECT "studio"."name", \
        json_group_array(json_object(?, "film"."title")) FILTER (WHERE "film"."id" IS NOT NULL) \
        FROM "studio" LEFT JOIN "film" ON "film"."studio_id" = "studio"."id" GROUP BY "studio"."id"
        """,
        byHand: """
          SELECT name, json_group_array(json_object('title', title)) FILTER (WHERE film.id IS NOT NULL) \
          FROM studio LEFT JOIN film ON studio_id = studio.id GROUP BY studio.id
          """)
    }
  }

  @Test(.needsFullText) func questionsAboutFullTextHaveTheirSQLAndRows() throws {
    try PeerQuestions.ofEssays { asked in
      try asked.typed(
        "Texts that contain all words, the best match first", Essay.search(.words("night run")),
        """
        SELECT "essay"."id", "essay"."film_id", "essay"."text" FROM "essay" \
        JOIN "essay_fulltext" ON "essay_fulltext"."rowid" = "essay"."id" \
        WHERE "essay_fulltext"."essay_fulltext" MATCH ? \
        ORDER BY "essay_fulltext"."rank"
        """,
        byHand: """
          SELECT essay.* FROM essay \
          JOIN essay_fulltext ON essay_fulltext.rowid = essay.id \
          WHERE essay_fulltext MATCH '"night" "run"' ORDER BY rank
          """)
      try asked.typed(
        "A full-text match together with another condition",
        Essay.read().filter(Essay.matches(.anyWord("harbour copper")) && Essay.filmId > 1),
        """
        SELECT "id", "film_id", "text" FROM "essay" \
        WHERE "id" IN (SELECT "rowid" FROM "essay_fulltext" WHERE "essay_fulltext" MATCH ?) AND "film_id" > ?
        """,
        byHand: """
          SELECT * FROM essay \
          WHERE id IN (SELECT rowid FROM essay_fulltext WHERE essay_fulltext MATCH 'harbour OR copper') \
          AND film_id > 1
          """)
      try asked.typed(
        "Words with a prefix", Essay.search(.prefix("harb")),
        """
        SELECT "essay"."id", "essay"."film_id", "essay"."text" FROM "essay" \
        JOIN "essay_fulltext" ON "essay_fulltext"."rowid" = "essay"."id" \
        WHERE "essay_fulltext"."essay_fulltext" MATCH ? \
        ORDER BY "essay_fulltext"."rank"
        """,
        byHand: "SELECT * FROM essay WHERE text LIKE '%harb%'")
      try asked.typed(
        "A search in the query syntax of FTS5", Essay.search(FullTextQuery(rawValue: "night NOT train")),
        """
        SELECT "essay"."id", "essay"."film_id", "essay"."text" FROM "essay" \
        JOIN "essay_fulltext" ON "essay_fulltext"."rowid" = "essay"."id" \
        WHERE "essay_fulltext"."essay_fulltext" MATCH ? \
        ORDER BY "essay_fulltext"."rank"
        """,
        byHand: "SELECT * FROM essay WHERE text LIKE '%night%' AND text NOT LIKE '%train%'")
      try asked.typed(
        "Marked matches, and excerpts",
        Essay.search(.words("night")).select(Essay.highlight(Essay.text), Essay.snippet(of: Essay.text, tokens: 4)),
        """
        SELECT highlight("essay_fulltext"."essay_fulltext", 0, ?, ?), \
        snippet("essay_fulltext"."essay_fulltext", 0, ?, ?, ?, 4) \
        FROM "essay" JOIN "essay_fulltext" ON "essay_fulltext"."rowid" = "essay"."id" \
        WHERE "essay_fulltext"."essay_fulltext" MATCH ? \
        ORDER BY "essay_fulltext"."rank"
        """,
        byHand: """
          SELECT highlight(essay_fulltext, 0, '<b>', '</b>'), snippet(essay_fulltext, 0, '<b>', '</b>', '…', 4) \
          FROM essay_fulltext \
          WHERE essay_fulltext MATCH 'night' ORDER BY rank
          """)
      let input = #"train" ("#
      try asked.typed(
        "A search for a user's words, without query syntax",
        try Essay.search(.words(input)).run(asked.db).map(\.text),
        byHand: "SELECT text FROM essay WHERE text LIKE '%train%'")
    }
  }

  @Test func questionsAboutSchemasHaveTheirSQLAndRows() throws {
    try PeerQuestions.ofCinema { asked in
      try asked.typed(
        "A view, read like a table", FilmScreenings.read().filter(FilmScreenings.count > 1),
        #"SELECT "film_id", "count" FROM "film_screenings" WHERE "count" > ?"#,
        byHand: "SELECT film_id, count(*) FROM screening GROUP BY film_id HAVING count(*) > 1")
      try asked.typed(
        "A view, joined with a table",
        Film.select(Film.title, FilmScreenings.count).joining(
          FilmScreenings.self, on: FilmScreenings.filmId == Film.id),
        """
        SELECT "film"."title", "film_screenings"."count" FROM "film" \
        JOIN "film_screenings" ON "film_screenings"."film_id" = "film"."id"
        """,
        byHand: """
          SELECT title, (SELECT count(*) FROM screening WHERE film_id = film.id) FROM film \
          WHERE id IN (SELECT film_id FROM screening)
          """)
      let soldOut = Trigger(
        "sold_out", after: .update(of: Screening.sold), on: Screening.self,
        when: Screening.sold.new == Screening.seats.new,
        run: Film.update(Film.genre.set(to: "hit")).filter(Film.id == Screening.filmId.new))
      try soldOut.run(asked.db)
      try Screening.update(Screening.sold.set(to: Screening.seats)).filter(Screening.id == 6).run(asked.db)
      try asked.typed(
        "A trigger that updates another table",
        try Film.read().filter(Film.genre == "hit").run(asked.db).map(\.title),
        byHand: "SELECT title FROM film WHERE id = 6")
      let first = Review.insert(Review.filmId, Review.text, from: values([(1, "none yet")]))
      try Trigger("first_review", after: .delete, on: Review.self, when: !exists(Review.read()), run: first).run(
        asked.db)
      try Review.deleteAll().run(asked.db)
      try asked.typed(
        "A trigger that inserts a row when a table becomes empty", try Review.read().run(asked.db).map(\.text),
        byHand: "SELECT 'none yet'")
      try asked.db.execute(
        """
        CREATE TRIGGER add_screening INSTEAD OF INSERT ON film_screenings
        BEGIN INSERT INTO screening (film_id, hall, seats, sold) VALUES (new.film_id, 'D', 80, 0); END
        """)
      try asked.db.execute("INSERT INTO \(FilmScreenings.self) (film_id, count) VALUES (\(5), 1)")
      try asked.withSQL(
        "A trigger that inserts into a table instead of a view",
        try Screening.read().filter(Screening.filmId == 5).run(asked.db).map(\.hall), byHand: "SELECT 'D'")
      try asked.db.execute("CREATE TEMP VIEW restored AS SELECT * FROM film WHERE is_restored")
      try asked.withSQL(
        "A view that exists only on this connection",
        try asked.db.query("SELECT title FROM restored ORDER BY title", as: String.self),
        byHand: "SELECT title FROM film WHERE is_restored ORDER BY title")
      let year = 1999
      try asked.withSQL(
        "Structs read by SQL, with interpolated values and names",
        try asked.db.query("SELECT * FROM \(Film.self) WHERE \(Film.year) > \(year)", as: Film.self).map(\.title),
        byHand: "SELECT title FROM film WHERE year > 1999")
      let late = Film.read().filter(Film.year > 1960)
      try asked.withSQL(
        "Tuples read by SQL that contains a typed query",
        try asked.db.query("SELECT genre, count(*) FROM (\(late)) GROUP BY genre", as: String.self, Int.self).map {
          "\($0.0) \($0.1)"
        },
        byHand: """
          SELECT genre || ' ' || count(*) FROM film \
          WHERE year > 1960 AND genre <> 'hit' OR genre = 'hit' GROUP BY genre
          """)
      try asked.withSQL(
        "Ordered by a term in SQL",
        Film.select(Film.title).orderBy(SqlExpression(sql: "\(Film.title) LIKE \("%night%")"), .desc).orderBy(
          Film.title), #"SELECT "title" FROM "film" ORDER BY ("title" LIKE ?) DESC, "title""#,
        byHand: "SELECT title FROM film ORDER BY title LIKE '%night%' DESC, title")
      try asked.typed(
        "The SQL of a statement and its values, without a database", [Film.read().filter(Film.id == 1).sql],
        byHand: """
          SELECT \
          'SELECT "id", "title", "year", "minutes", "genre", "is_restored", "tags", "premiere", "studio_id" \
          FROM "film" WHERE "id" = ?'
          """)
      try asked.typed(
        "SQLite's plan for a statement", [String(try Film.byId(1).explain(asked.db).scans.count)], byHand: "SELECT '0'")
    }
  }
}
