import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

/// Questions of Docs/PeerQuestions.md: subqueries, named queries and combined queries.
@Suite struct PeerSubqueriesTests {
  @Test func questionsAboutSubqueriesHaveTheirSQLAndRows() throws {
    try PeerQuestions.ofCinema { asked in
      try asked.typed(
        "Above the average", Credit.read().filter(Credit.fee > scalar(Credit.select(Credit.fee.average()))),
        """
        SELECT "film_id", "artist_id", "part", "fee" FROM "credit" \
        WHERE "fee" > (SELECT avg("credit"."fee") FROM "credit")
        """,
        byHand: "SELECT * FROM credit WHERE fee > (SELECT avg(fee) FROM credit)")
      try asked.typed(
        "In the result of another query",
        Film.read().filter(Film.studioId.in(Studio.select(Studio.id).filter(Studio.country == "NO"))),
        """
        SELECT "id", "title", "year", "minutes", "genre", "is_restored", "tags", "premiere", "studio_id" \
        FROM "film" WHERE "studio_id" IN (SELECT "studio"."id" FROM "studio" WHERE "studio"."country" = ?)
        """,
        byHand: """
          SELECT id, title, year, minutes, genre, is_restored, tags, premiere, studio_id FROM film \
          WHERE studio_id IN (SELECT id FROM studio WHERE country = 'NO')
          """)
      try asked.typed(
        "A query in a query in a query",
        Artist.read().filter(
          Artist.id.in(
            Credit.select(Credit.artistId).filter(
              Credit.filmId.in(Screening.select(Screening.filmId).filter(Screening.sold > 95))))),
        """
        SELECT "id", "name", "mentor_id" FROM "artist" \
        WHERE "id" IN (SELECT "credit"."artist_id" FROM "credit" \
        WHERE "credit"."film_id" IN (SELECT "screening"."film_id" FROM "screening" WHERE "screening"."sold" > ?))
        """,
        byHand: """
          SELECT * FROM artist \
          WHERE id IN (SELECT artist_id FROM credit \
          WHERE film_id IN (SELECT film_id FROM screening WHERE sold > 95))
          """)
      try asked.typed(
        "Rows that have a matching row in another table",
        Film.read().filter(exists(Credit.read().filter(Credit.filmId == Film.id && Credit.fee > 300))),
        """
        SELECT "id", "title", "year", "minutes", "genre", "is_restored", "tags", "premiere", "studio_id" \
        FROM "film" \
        WHERE EXISTS (SELECT 1 FROM "credit" WHERE "credit"."film_id" = "film"."id" AND "credit"."fee" > ?)
        """,
        byHand: """
          SELECT id, title, year, minutes, genre, is_restored, tags, premiere, studio_id FROM film \
          WHERE EXISTS (SELECT 1 FROM credit WHERE film_id = film.id AND fee > 300)
          """)
      try asked.typed(
        "Rows without a matching row in another table",
        Film.read().filter(!exists(Screening.read().filter(Screening.filmId == Film.id))),
        """
        SELECT "id", "title", "year", "minutes", "genre", "is_restored", "tags", "premiere", "studio_id" \
        FROM "film" WHERE NOT EXISTS (SELECT 1 FROM "screening" WHERE "screening"."film_id" = "film"."id")
        """,
        byHand: """
          SELECT id, title, year, minutes, genre, is_restored, tags, premiere, studio_id FROM film \
          WHERE NOT EXISTS (SELECT 1 FROM screening WHERE film_id = film.id)
          """)
      try asked.typed(
        "A value from another table for each row",
        Film.select(Film.title, scalar(Credit.read().filter(Credit.filmId == Film.id).count())),
        #"SELECT "title", (SELECT count(*) FROM "credit" WHERE "credit"."film_id" = "film"."id") FROM "film""#,
        byHand: "SELECT title, (SELECT count(*) FROM credit WHERE film_id = film.id) FROM film")
      let same = Alias(Film.self, "same")
      try asked.typed(
        "The newest row of each group",
        Film.read().filter(
          Film.year == scalar(same.read().select(same[Film.year].max()).filter(same[Film.genre] == Film.genre))),
        """
        SELECT "id", "title", "year", "minutes", "genre", "is_restored", "tags", "premiere", "studio_id" \
        FROM "film" \
        WHERE "year" = (SELECT max("same"."year") FROM "film" AS "same" WHERE "same"."genre" = "film"."genre")
        """,
        byHand: """
          SELECT id, title, year, minutes, genre, is_restored, tags, premiere, studio_id FROM film \
          WHERE year = (SELECT max(same.year) FROM film AS same WHERE same.genre = film.genre)
          """)
      let perYear = Film.select(Film.year, countAll()).groupBy(Film.year).named("per_year")
      try asked.typed(
        "A named query that is read like a table",
        perYear.read().filter(perYear.columns.1 > 1).orderBy(perYear.columns.0),
        """
        WITH RECURSIVE "per_year" ("c1", "c2") AS (SELECT "year", count(*) FROM "film" GROUP BY "year") \
        SELECT "per_year"."c1", "per_year"."c2" FROM "per_year" \
        WHERE "per_year"."c2" > ? \
        ORDER BY "per_year"."c1"
        """,
        byHand: "SELECT y, n FROM (SELECT year AS y, count(*) AS n FROM film GROUP BY year) WHERE n > 1 ORDER BY y")
      let old = Alias(Film.self, "old") { _ in Film.read().filter(Film.year < 1990) }
      try asked.typed(
        "A named query of whole structs", old.read().filter(old[Film.genre] == "drama"),
        """
        WITH RECURSIVE "old" ("id", "title", "year", "minutes", "genre", "is_restored", "tags", "premiere", \
        "studio_id") AS (SELECT "id", "title", "year", "minutes", "genre", "is_restored", "tags", "premiere", \
        "studio_id" \
        FROM "film" WHERE "year" < ?) \
        SELECT "old"."id", "old"."title", "old"."year", "old"."minutes", "old"."genre", "old"."is_restored", \
        "old"."tags", "old"."premiere", "old"."studio_id" \
        FROM "old" WHERE "old"."genre" = ?
        """,
        byHand: """
          SELECT id, title, year, minutes, genre, is_restored, tags, premiere, studio_id FROM film \
          WHERE year < 1990 AND genre = 'drama'
          """)
      let long = Alias(Film.self, "long") { _ in Film.read().filter(Film.minutes > 100) }
      let busy = Screening.select(Screening.filmId, Screening.sold.sum()).groupBy(Screening.filmId).having(
        Screening.sold.sum() > 100
      ).named("busy")
      try asked.typed(
        "Two named queries in one statement", long.read().joining(busy, on: busy.columns.0 == long[Film.id]),
        """
        WITH RECURSIVE "long" ("id", "title", "year", "minutes", "genre", "is_restored", "tags", "premiere", \
        "studio_id") AS (SELECT "id", "title", "year", "minutes", "genre", "is_restored", "tags", "premiere", \
        "studio_id" \
        FROM "film" WHERE "minutes" > ?), \
        "busy" ("c1", "c2") AS (SELECT "film_id", sum("sold") FROM "screening" GROUP BY "film_id" \
        HAVING sum("sold") > ?) \
        SELECT "long"."id", "long"."title", "long"."year", "long"."minutes", "long"."genre", "long"."is_restored", \
        "long"."tags", "long"."premiere", "long"."studio_id" \
        FROM "long" JOIN "busy" ON "busy"."c1" = "long"."id"
        """,
        byHand: """
          SELECT id, title, year, minutes, genre, is_restored, tags, premiere, studio_id FROM film \
          WHERE minutes > 100 AND id IN (SELECT film_id FROM screening GROUP BY film_id HAVING sum(sold) > 100)
          """)
      let numbers = values([1]).named("number") { number in
        number.read().select(number.column + 1).filter(number.column < 5)
      }
      try asked.typed(
        "The numbers from 1 to 5", numbers.read(),
        """
        WITH RECURSIVE "number" ("c1") AS (SELECT * FROM (VALUES (?)) \
        UNION ALL SELECT "number"."c1" + ? FROM "number" \
        WHERE "number"."c1" < ?) \
        SELECT "number"."c1" FROM "number"
        """,
        byHand: "WITH RECURSIVE n (v) AS (VALUES (1) UNION ALL SELECT v + 1 FROM n WHERE v < 5) SELECT v FROM n")
      let series = values([(0, 1)]).named("fibonacci") { series in
        let (last, this) = series.columns
        return series.read().select(this, last + this)
      }
      try asked.typed(
        "The first Fibonacci numbers", series.read().select(series.columns.1).limit(10),
        """
        WITH RECURSIVE "fibonacci" ("c1", "c2") AS (SELECT * FROM (VALUES (?, ?)) \
        UNION ALL SELECT "fibonacci"."c2", "fibonacci"."c1" + "fibonacci"."c2" FROM "fibonacci") \
        SELECT "fibonacci"."c2" FROM "fibonacci" LIMIT ?
        """,
        byHand: "WITH RECURSIVE f (a, b) AS (VALUES (0, 1) UNION ALL SELECT b, a + b FROM f) SELECT b FROM f LIMIT 10")
      let tree = Artist.select(Artist.id, TypedExpression(0)).filter(Artist.id == 1).named("tree") { tree in
        let (id, depth) = tree.columns
        return Artist.select(Artist.id, depth + 1).joining(tree, on: Artist.mentorId == id)
      }
      try asked.typed(
        "All direct and indirect pupils of an artist, with the depth", tree.read(),
        """
        WITH RECURSIVE "tree" ("c1", "c2") AS (SELECT "id", ? FROM "artist" WHERE "id" = ? \
        UNION ALL SELECT "artist"."id", "tree"."c2" + ? FROM "artist" \
        JOIN "tree" ON "artist"."mentor_id" = "tree"."c1") \
        SELECT "tree"."c1", "tree"."c2" FROM "tree"
        """,
        byHand: """
          WITH RECURSIVE tree (id, depth) AS (SELECT id, 0 FROM artist WHERE id = 1 \
          UNION ALL SELECT artist.id, depth + 1 FROM artist \
          JOIN tree ON artist.mentor_id = tree.id) \
          SELECT id, depth FROM tree
          """)
      let labels = values([("drama", "D"), ("comedy", "C")]).named("label")
      let (genre, label) = labels.columns
      try asked.typed(
        "Rows of values as a table",
        Film.select(Film.title, label).joining(labels, on: Film.genre == genre).orderBy(Film.id),
        """
        WITH RECURSIVE "label" ("c1", "c2") AS (VALUES (?, ?), (?, ?)) \
        SELECT "film"."title", "label"."c2" FROM "film" \
        JOIN "label" ON "film"."genre" = "label"."c1" ORDER BY "film"."id"
        """,
        byHand: """
          SELECT title, CASE genre WHEN 'drama' THEN 'D' ELSE 'C' END FROM film \
          WHERE genre IN ('drama', 'comedy') ORDER BY id
          """)
      let busyFilms = Screening.select(Screening.filmId).groupBy(Screening.filmId).having(Screening.sold.sum() > 100)
        .named("busy")
      try asked.typed(
        "Rows updated, if a named query contains them",
        changing: Film.update(Film.genre.set(to: "classic")).filter(Film.id.in(busyFilms.read())),
        """
        UPDATE "film" SET "genre" = ? \
        WHERE "id" IN (WITH RECURSIVE "busy" ("c1") AS (SELECT "screening"."film_id" FROM "screening" \
        GROUP BY "screening"."film_id" \
        HAVING sum("screening"."sold") > ?) \
        SELECT "busy"."c1" \
        FROM "busy")
        """,
        byHand: """
          UPDATE film SET genre = 'classic' \
          WHERE id IN (SELECT film_id FROM screening GROUP BY film_id HAVING sum(sold) > 100)
          """)
      try asked.typed(
        "Rows deleted, unless a named query contains them",
        changing: Screening.delete(Screening.filmId.notIn(busyFilms.read())),
        """
        DELETE FROM "screening" \
        WHERE NOT "film_id" IN (WITH RECURSIVE "busy" ("c1") AS (SELECT "screening"."film_id" \
        FROM "screening" \
        GROUP BY "screening"."film_id" \
        HAVING sum("screening"."sold") > ?) \
        SELECT "busy"."c1" \
        FROM "busy")
        """,
        byHand: """
          DELETE FROM screening \
          WHERE film_id NOT IN (SELECT film_id FROM screening GROUP BY film_id HAVING sum(sold) > 100)
          """)
    }
  }

  @Test func questionsAboutCompoundsHaveTheirSQLAndRows() throws {
    try PeerQuestions.ofCinema { asked in
      try asked.typed(
        "The distinct rows of two queries", Film.select(Film.title).union(Artist.select(Artist.name)),
        #"SELECT "title" FROM "film" UNION SELECT "name" FROM "artist""#,
        byHand: "SELECT title FROM film UNION SELECT name FROM artist")
      try asked.typed(
        "All rows of two queries, ordered and limited",
        Film.select(Film.title).unionAll(Artist.select(Artist.name)).orderBy(Film.title).limit(4),
        #"SELECT "title" FROM "film" UNION ALL SELECT "name" FROM "artist" ORDER BY "title" LIMIT ?"#,
        byHand: "SELECT title FROM film UNION ALL SELECT name FROM artist ORDER BY title LIMIT 4")
      try asked.typed(
        "The rows in both of two queries, but not in a third",
        Film.select(Film.id).intersect(Screening.select(Screening.filmId.optional)).except(
          Review.select(Review.filmId.optional)),
        #"SELECT "id" FROM "film" INTERSECT SELECT "film_id" FROM "screening" EXCEPT SELECT "film_id" FROM "review""#,
        byHand: "SELECT id FROM film INTERSECT SELECT film_id FROM screening EXCEPT SELECT film_id FROM review")
      try asked.typed(
        "The number of rows of a combined query", Film.select(Film.title).union(Artist.select(Artist.name)).count(),
        #"SELECT count(*) FROM (SELECT "film"."title" FROM "film" UNION SELECT "artist"."name" FROM "artist")"#,
        byHand: "SELECT count(*) FROM (SELECT title FROM film UNION SELECT name FROM artist)")
      let both = Film.select(Film.title).union(Artist.select(Artist.name)).named("both")
      try asked.typed(
        "A filter on a combined query", both.read().filter(both.column < "D"),
        """
        WITH RECURSIVE "both" ("c1") AS (SELECT "title" FROM "film" UNION SELECT "name" FROM "artist") \
        SELECT "both"."c1" FROM "both" WHERE "both"."c1" < ?
        """,
        byHand: "SELECT t FROM (SELECT title AS t FROM film UNION SELECT name FROM artist) WHERE t < 'D'")
    }
  }
}
