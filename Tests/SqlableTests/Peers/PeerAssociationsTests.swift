import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

/// Questions of Docs/PeerQuestions.md: associations, windows.
@Suite struct PeerAssociationsTests {
  @Test func questionsAboutAssociationsHaveTheirSQLAndRows() throws {
    try PeerQuestions.ofCinema { asked in
      try asked.typed(
        "Films, each with its studio or nil",
        try Film.read().including(Film.studio).run(asked.db).map { "\($0.title) \($1?.name ?? "-")" },
        byHand: """
          SELECT title || ' ' || coalesce(name, '-') FROM film \
          LEFT JOIN studio ON studio.id = studio_id ORDER BY film.id
          """)
      try asked.typed(
        "Studios, each with its films",
        try Studio.read().including(Studio.films).run(asked.db).map { "\($0.name) \($1.count)" },
        byHand: "SELECT name || ' ' || (SELECT count(*) FROM film WHERE studio_id = studio.id) FROM studio")
      try asked.typed(
        "Artists, each with the films of their credits",
        try Artist.read().including(Artist.films.orderBy(Film.title)).run(asked.db).map {
          "\($0.name) \($1.map(\.title).joined(separator: ","))"
        },
        byHand: """
          SELECT name || ' ' \
          || coalesce((SELECT group_concat(title) \
          FROM (SELECT title FROM film \
          JOIN credit ON film.id = film_id \
          WHERE artist_id = artist.id ORDER BY title)), \
          '') \
          FROM artist
          """)
      try asked.typed(
        "Studios with their films, and each film with its credits and screenings",
        try Studio.read().including(Studio.films.including(Film.credits, Film.screenings)).run(asked.db).map {
          "\($0.name) \($1.map { $0.1.count * 10 + $0.2.count })"
        },
        byHand: """
          SELECT name || ' [' \
          || coalesce((SELECT group_concat(n, ', ') \
          FROM (SELECT (SELECT count(*) FROM credit WHERE film_id = film.id) * 10 \
          + (SELECT count(*) FROM screening WHERE film_id = film.id) AS n \
          FROM film WHERE studio_id = studio.id ORDER BY film.id)), \
          '') \
          || ']' \
          FROM studio
          """)
      try asked.typed(
        "Films, each with some of its credits, in an order",
        try Film.read().including(Film.credits.filter(Credit.part == "actor").orderBy(Credit.fee, .desc)).run(asked.db)
          .map { "\($0.title) \($1.count)" },
        byHand:
          "SELECT title || ' ' || (SELECT count(*) FROM credit WHERE film_id = film.id AND part = 'actor') FROM film")
      try asked.typed(
        "Studios, each with its two newest films",
        try Studio.read().including(Studio.films.orderBy(Film.year, .desc).limit(2)).run(asked.db).map {
          "\($0.name) \($1.count)"
        }, byHand: "SELECT name || ' ' || min(2, (SELECT count(*) FROM film WHERE studio_id = studio.id)) FROM studio")
      try asked.typed(
        "Studios, each with its newest film",
        try Studio.read().including(Studio.films.orderBy(Film.year, .desc).first()).run(asked.db).map {
          "\($0.name) \($1?.title ?? "-")"
        },
        byHand: """
          SELECT name || ' ' \
          || coalesce((SELECT title FROM film WHERE studio_id = studio.id ORDER BY year DESC LIMIT 1), '-') \
          FROM studio
          """)
      try asked.typed(
        "Films, each with the number of its screenings and of its credits",
        try Film.read().including(Film.screenings.count()).including(Film.credits.count()).run(asked.db).map {
          "\($0.title) \($1) \($2)"
        },
        byHand: """
          SELECT title || ' ' || (SELECT count(*) FROM screening WHERE film_id = film.id) || ' ' \
          || (SELECT count(*) FROM credit WHERE film_id = film.id) \
          FROM film
          """)
      let aurora = try Studio.read().filter(Studio.name == "Aurora").only().run(asked.db)
      try asked.typed(
        "The films of a studio, given as a struct",
        try Film.read().filter(Film.studioId == aurora.id).run(asked.db).map(\.title),
        byHand: "SELECT title FROM film WHERE studio_id = 1")
      try asked.typed(
        "Artists without a credit", Artist.read().whereNone(Artist.credits),
        """
        SELECT "id", "name", "mentor_id" FROM "artist" \
        WHERE NOT ("id" IS NOT NULL AND "id" IN (SELECT "credit"."artist_id" FROM "credit"))
        """,
        byHand: "SELECT * FROM artist WHERE id NOT IN (SELECT artist_id FROM credit)")
      try asked.typed(
        "Films with a sold-out screening",
        Film.read().whereAny(Film.screenings.filter(Screening.sold == Screening.seats)),
        """
        SELECT "id", "title", "year", "minutes", "genre", "is_restored", "tags", "premiere", "studio_id" \
        FROM "film" \
        WHERE "id" IS NOT NULL \
        AND "id" IN (SELECT "screening"."film_id" FROM "screening" WHERE "screening"."sold" = "screening"."seats")
        """,
        byHand: """
          SELECT id, title, year, minutes, genre, is_restored, tags, premiere, studio_id FROM film \
          WHERE id IN (SELECT film_id FROM screening WHERE sold = seats)
          """)
      try asked.typed(
        "Films with a screening, or without a studio",
        Film.read().filter(exists(Film.screenings) || !exists(Film.studio)),
        """
        SELECT "id", "title", "year", "minutes", "genre", "is_restored", "tags", "premiere", "studio_id" \
        FROM "film" \
        WHERE "id" IS NOT NULL AND "id" IN (SELECT "screening"."film_id" FROM "screening") \
        OR NOT ("studio_id" IS NOT NULL \
        AND "studio_id" IN (SELECT "studio"."id" FROM "studio" WHERE "studio"."id" IS NOT NULL))
        """,
        byHand: """
          SELECT id, title, year, minutes, genre, is_restored, tags, premiere, studio_id FROM film \
          WHERE id IN (SELECT film_id FROM screening) OR studio_id IS NULL
          """)
      try asked.typed(
        "Films with at least two screenings",
        Film.read().filter(Film.screenings.count() >= 2),
        """
        SELECT "id", "title", "year", "minutes", "genre", "is_restored", "tags", "premiere", "studio_id" \
        FROM "film" WHERE (SELECT count(*) FROM "screening" WHERE "screening"."film_id" = "film"."id") >= ?
        """,
        byHand: """
          SELECT id, title, year, minutes, genre, is_restored, tags, premiere, studio_id FROM film \
          WHERE (SELECT count(*) FROM screening WHERE film_id = film.id) >= 2
          """)
      try asked.typed(
        "The highest fee and the sold seats of each film",
        Film.select(
          Film.title, Film.credits.aggregate(Credit.fee.max()), Film.screenings.aggregate(Screening.sold.sum())),
        """
        SELECT "title", (SELECT max("credit"."fee") FROM "credit" WHERE "credit"."film_id" = "film"."id"), \
        (SELECT sum("screening"."sold") FROM "screening" WHERE "screening"."film_id" = "film"."id") \
        FROM "film"
        """,
        byHand: """
          SELECT title, (SELECT max(fee) FROM credit WHERE film_id = film.id), \
          (SELECT sum(sold) FROM screening WHERE film_id = film.id) \
          FROM film
          """)
      try asked.typed(
        "The difference of two counts of associated rows",
        Film.select(Film.title, Film.screenings.count() - Film.credits.count()),
        """
        SELECT "title", (SELECT count(*) FROM "screening" WHERE "screening"."film_id" = "film"."id") \
        - (SELECT count(*) FROM "credit" WHERE "credit"."film_id" = "film"."id") \
        FROM "film"
        """,
        byHand: """
          SELECT title, (SELECT count(*) FROM screening WHERE film_id = film.id) \
          - (SELECT count(*) FROM credit WHERE film_id = film.id) \
          FROM film
          """)
      try asked.typed(
        "Studios of films with a certain artist",
        Studio.read().whereAny(Studio.films.filter(exists(Film.artists.filter(Artist.name == "Dan Ek")))),
        """
        SELECT "id", "name", "country" FROM "studio" \
        WHERE "id" IS NOT NULL \
        AND "id" IN (SELECT "film"."studio_id" FROM "film" \
        WHERE "film"."id" IS NOT NULL \
        AND "film"."id" IN (SELECT "credit"."film_id" FROM "artist" \
        JOIN "credit" ON "artist"."id" = "credit"."artist_id" WHERE "artist"."name" = ?) \
        AND "film"."studio_id" IS NOT NULL)
        """,
        byHand: """
          SELECT * FROM studio \
          WHERE id IN (SELECT studio_id FROM film \
          WHERE id IN (SELECT film_id FROM credit JOIN artist ON artist.id = artist_id WHERE name = 'Dan Ek'))
          """)
      try asked.typed(
        "An artist with the mentor and the pupils, in the same table",
        try Artist.read().including(Artist.mentor).including(Artist.pupils).run(asked.db).map {
          "\($0.name) \($1?.name ?? "-") \($2.count)"
        },
        byHand: """
          SELECT a.name || ' ' || coalesce(m.name, '-') || ' ' \
          || (SELECT count(*) FROM artist WHERE mentor_id = a.id) \
          FROM artist AS a \
          LEFT JOIN artist AS m ON m.id = a.mentor_id ORDER BY a.id
          """)
      try asked.typed(
        "Artists deleted if they have no credit", changing: Artist.delete().whereNone(Artist.credits),
        #"DELETE FROM "artist" WHERE NOT ("id" IS NOT NULL AND "id" IN (SELECT "credit"."artist_id" FROM "credit"))"#,
        byHand: "DELETE FROM artist WHERE id NOT IN (SELECT artist_id FROM credit)")
    }
  }

  @Test func questionsAboutWindowsHaveTheirSQLAndRows() throws {
    try PeerQuestions.ofCinema { asked in
      try asked.typed(
        "Numbered rows", Film.select(Film.title, rowNumber().over(orderBy: Film.year.desc, Film.id.asc)),
        #"SELECT "title", row_number() OVER (ORDER BY "year" DESC, "id") FROM "film""#,
        byHand: "SELECT title, row_number() OVER (ORDER BY year DESC, id) FROM film")
      try asked.typed(
        "A rank within each genre",
        Film.select(Film.title, rank().over(partitionBy: Film.genre, orderBy: Film.minutes.desc)),
        #"SELECT "title", rank() OVER (PARTITION BY "genre" ORDER BY "minutes" DESC) FROM "film""#,
        byHand: "SELECT title, rank() OVER (PARTITION BY genre ORDER BY minutes DESC) FROM film")
      try asked.typed(
        "A running total", Screening.select(Screening.id, Screening.sold.sum().over(orderBy: Screening.id.asc)),
        #"SELECT "id", sum("sold") OVER (ORDER BY "id") FROM "screening""#,
        byHand: "SELECT id, sum(sold) OVER (ORDER BY id) FROM screening")
      try asked.typed(
        "The difference to the previous row, or to 0",
        Screening.select(Screening.sold - Screening.sold.lag(1, default: 0).over(orderBy: Screening.id.asc)),
        #"SELECT "sold" - lag("sold", ?, ?) OVER (ORDER BY "id") FROM "screening""#,
        byHand: "SELECT sold - lag(sold, 1, 0) OVER (ORDER BY id) FROM screening")
      try asked.typed(
        "A moving average",
        Screening.select(
          Screening.sold.average().over(orderBy: Screening.id.asc, frame: .rows(.preceding(1), .following(1)))),
        #"SELECT avg("sold") OVER (ORDER BY "id" ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM "screening""#,
        byHand: "SELECT avg(sold) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM screening")
      let numbered = Film.select(Film.title, rowNumber().over(partitionBy: Film.genre, orderBy: Film.year.asc)).named(
        "numbered")
      try asked.typed(
        "The first two rows of each group", numbered.read().filter(numbered.columns.1 <= 2),
        """
        WITH RECURSIVE "numbered" ("c1", "c2") AS (SELECT "title", \
        row_number() OVER (PARTITION BY "genre" ORDER BY "year") \
        FROM "film") \
        SELECT "numbered"."c1", "numbered"."c2" FROM "numbered" \
        WHERE "numbered"."c2" <= ?
        """,
        byHand: """
          SELECT t, n \
          FROM (SELECT title AS t, row_number() OVER (PARTITION BY genre ORDER BY year) AS n FROM film) \
          WHERE n <= 2
          """)
    }
  }
}
