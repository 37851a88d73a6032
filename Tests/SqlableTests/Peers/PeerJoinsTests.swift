import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

/// Questions of Docs/PeerQuestions.md: joins.
@Suite struct PeerJoinsTests {
  @Test(.needs(39, "a RIGHT JOIN")) func questionsAboutJoinsHaveTheirSQLAndRows() throws {
    try PeerQuestions.ofCinema { asked in
      try asked.typed(
        "Films with their studio", Film.join(Studio.self, on: Film.studioId == Studio.id),
        """
        SELECT "film"."id", "film"."title", "film"."year", "film"."minutes", "film"."genre", "film"."is_restored", \
        "film"."tags", "film"."premiere", "film"."studio_id", "studio"."id", "studio"."name", "studio"."country" \
        FROM "film" JOIN "studio" ON "film"."studio_id" = "studio"."id"
        """,
        byHand: "SELECT film.*, studio.* FROM film JOIN studio ON film.studio_id = studio.id")
      try asked.typed(
        "All films, with their studio or nil", Film.leftJoin(Studio.self, on: Film.studioId == Studio.id),
        """
        SELECT "film"."id", "film"."title", "film"."year", "film"."minutes", "film"."genre", "film"."is_restored", \
        "film"."tags", "film"."premiere", "film"."studio_id", "studio"."id", "studio"."name", "studio"."country" \
        FROM "film" LEFT JOIN "studio" ON "film"."studio_id" = "studio"."id"
        """,
        byHand: "SELECT film.*, studio.* FROM film LEFT JOIN studio ON film.studio_id = studio.id")
      try asked.typed(
        "All studios, with their films or nil",
        Film.rightJoin(Studio.self, on: Film.studioId == Studio.id),
        """
        SELECT "film"."id", "film"."title", "film"."year", "film"."minutes", "film"."genre", "film"."is_restored", \
        "film"."tags", "film"."premiere", "film"."studio_id", "studio"."id", "studio"."name", "studio"."country" \
        FROM "film" RIGHT JOIN "studio" ON "film"."studio_id" = "studio"."id"
        """,
        byHand: "SELECT film.*, studio.* FROM film RIGHT JOIN studio ON film.studio_id = studio.id")
      try asked.typed(
        "All films and all studios, matched where possible", Film.fullJoin(Studio.self, on: Film.studioId == Studio.id),
        """
        SELECT "film"."id", "film"."title", "film"."year", "film"."minutes", "film"."genre", "film"."is_restored", \
        "film"."tags", "film"."premiere", "film"."studio_id", "studio"."id", "studio"."name", "studio"."country" \
        FROM "film" FULL JOIN "studio" ON "film"."studio_id" = "studio"."id"
        """,
        byHand: "SELECT film.*, studio.* FROM film FULL JOIN studio ON film.studio_id = studio.id")
      try asked.typed(
        "Every film with every studio", Film.select(Film.title).crossJoining(Studio.self),
        #"SELECT "film"."title" FROM "film" CROSS JOIN "studio""#,
        byHand: "SELECT film.title FROM film CROSS JOIN studio")
      try asked.typed(
        "Columns of both tables",
        Film.join(Studio.self, on: Film.studioId == Studio.id).select(Film.title, Studio.name),
        #"SELECT "film"."title", "studio"."name" FROM "film" JOIN "studio" ON "film"."studio_id" = "studio"."id""#,
        byHand: "SELECT film.title, studio.name FROM film JOIN studio ON film.studio_id = studio.id")
      try asked.typed(
        "Films without a studio, found by a join",
        Film.leftJoin(Studio.self, on: Film.studioId == Studio.id).select(Film.title).filter(Studio.id == nil),
        """
        SELECT "film"."title" FROM "film" \
        LEFT JOIN "studio" ON "film"."studio_id" = "studio"."id" \
        WHERE "studio"."id" IS NULL
        """,
        byHand: "SELECT film.title FROM film LEFT JOIN studio ON film.studio_id = studio.id WHERE studio.id IS NULL")
      try asked.typed(
        "Two tables, joined through a third",
        Film.join(Credit.self, on: Credit.filmId == Film.id).join(Artist.self, on: Artist.id == Credit.artistId).select(
          Film.title, Artist.name, Credit.part),
        """
        SELECT "film"."title", "artist"."name", "credit"."part" FROM "film" \
        JOIN "credit" ON "credit"."film_id" = "film"."id" \
        JOIN "artist" ON "artist"."id" = "credit"."artist_id"
        """,
        byHand: """
          SELECT film.title, artist.name, credit.part FROM film \
          JOIN credit ON credit.film_id = film.id \
          JOIN artist ON artist.id = credit.artist_id
          """)
      let mentor = Alias(Artist.self, "mentor")
      try asked.typed(
        "A table joined with itself",
        Artist.join(mentor, on: Artist.mentorId == mentor[Artist.id]).select(Artist.name, mentor[Artist.name]),
        """
        SELECT "artist"."name", "mentor"."name" FROM "artist" \
        JOIN "artist" AS "mentor" ON "artist"."mentor_id" = "mentor"."id"
        """,
        byHand: "SELECT artist.name, mentor.name FROM artist JOIN artist AS mentor ON artist.mentor_id = mentor.id")
      let other = Alias(Credit.self, "other")
      try asked.typed(
        "One table joined twice",
        Credit.join(Artist.self, on: Artist.id == Credit.artistId).join(
          other, on: other[Credit.filmId] == Credit.filmId && other[Credit.artistId] > Credit.artistId
        ).select(Artist.name, other[Credit.part]),
        """
        SELECT "artist"."name", "other"."part" FROM "credit" \
        JOIN "artist" ON "artist"."id" = "credit"."artist_id" \
        JOIN "credit" AS "other" ON "other"."film_id" = "credit"."film_id" \
        AND "other"."artist_id" > "credit"."artist_id"
        """,
        byHand: """
          SELECT artist.name, other.part FROM credit \
          JOIN artist ON artist.id = credit.artist_id \
          JOIN credit AS other ON other.film_id = credit.film_id AND other.artist_id > credit.artist_id
          """)
      try asked.typed(
        "A condition in ON",
        Film.leftJoin(Credit.self, on: Credit.filmId == Film.id && Credit.part == "director").select(
          Film.title, Credit.artistId.typed(as: Int?.self)),
        """
        SELECT "film"."title", "credit"."artist_id" FROM "film" \
        LEFT JOIN "credit" ON "credit"."film_id" = "film"."id" AND "credit"."part" = ?
        """,
        byHand: """
          SELECT film.title, credit.artist_id FROM film \
          LEFT JOIN credit ON credit.film_id = film.id AND credit.part = 'director'
          """)
      let best = Credit.select(Credit.filmId, Credit.fee.max()).groupBy(Credit.filmId).named("best")
      try asked.typed(
        "A joined query", Film.select(Film.title, best.columns.1).joining(best, on: best.columns.0 == Film.id),
        """
        WITH RECURSIVE "best" ("c1", "c2") AS (SELECT "film_id", max("fee") FROM "credit" GROUP BY "film_id") \
        SELECT "film"."title", "best"."c2" FROM "film" \
        JOIN "best" ON "best"."c1" = "film"."id"
        """,
        byHand: """
          SELECT film.title, best.c FROM film \
          JOIN (SELECT film_id AS f, max(fee) AS c FROM credit GROUP BY film_id) AS best ON best.f = film.id
          """)
      try asked.typed(
        "A struct, and an aggregate over the joined rows",
        Studio.leftJoin(Film.self, on: Film.studioId == Studio.id).select(Studio.self, Film.id.count()).groupBy(
          Studio.id),
        """
        SELECT "studio"."id", "studio"."name", "studio"."country", count("film"."id") FROM "studio" \
        LEFT JOIN "film" ON "film"."studio_id" = "studio"."id" GROUP BY "studio"."id"
        """,
        byHand:
          "SELECT studio.*, count(film.id) FROM studio LEFT JOIN film ON film.studio_id = studio.id GROUP BY studio.id")
      try asked.typed(
        "Ordered and filtered by columns of the joined table",
        Film.join(Studio.self, on: Film.studioId == Studio.id).filter(Studio.country == "GB").orderBy(
          Studio.name.asc, Film.title.desc),
        """
        SELECT "film"."id", "film"."title", "film"."year", "film"."minutes", "film"."genre", "film"."is_restored", \
        "film"."tags", "film"."premiere", "film"."studio_id", "studio"."id", "studio"."name", "studio"."country" \
        FROM "film" JOIN "studio" ON "film"."studio_id" = "studio"."id" \
        WHERE "studio"."country" = ? \
        ORDER BY "studio"."name", "film"."title" DESC
        """,
        byHand: """
          SELECT film.*, studio.* FROM film \
          JOIN studio ON film.studio_id = studio.id \
          WHERE studio.country = 'GB' \
          ORDER BY studio.name, film.title DESC
          """)
    }
  }
}
