import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

/// Questions of Docs/PeerQuestions.md: inserts, updates and deletes.
@Suite struct PeerInsertsTests {
  @Test(.needs(35, "RETURNING")) func questionsAboutInsertsHaveTheirSQLAndRows() throws {
    try PeerQuestions.ofCinema { asked in
      try asked.typed(
        "A struct", changing: Artist(name: "Fay").insert(),
        #"INSERT INTO "artist" ("name", "mentor_id") VALUES (?, ?)"#, byHand: "INSERT INTO artist (name) VALUES ('Fay')"
      )
      try asked.typed(
        "Several structs in one call", changing: Artist.insert([Artist(name: "Fay"), Artist(name: "Gil")]),
        #"INSERT INTO "artist" ("name", "mentor_id") VALUES (?, ?)"#,
        byHand: "INSERT INTO artist (name) VALUES ('Fay'), ('Gil')")
      try asked.typed(
        "Only some columns", changing: Film(id: nil, title: "Dawn", year: 2020).insert(Film.title, Film.year),
        #"INSERT INTO "film" ("title", "year") VALUES (?, ?)"#,
        byHand: "INSERT INTO film (title, year) VALUES ('Dawn', 2020)")
      try asked.typed(
        "A row of default values", changing: Film.insertDefaults(),
        #"INSERT INTO "film" DEFAULT VALUES"#, byHand: "INSERT INTO film DEFAULT VALUES")
      try asked.typed(
        "Rows from a query", changing: Artist.insert(Artist.name, from: Studio.select(Studio.name)),
        #"INSERT INTO "artist" ("name") SELECT "name" FROM "studio""#,
        byHand: "INSERT INTO artist (name) SELECT name FROM studio")
      try asked.typed(
        "Rows with computed values",
        changing: Credit.insert(
          Credit.filmId, Credit.artistId, Credit.part,
          from: Artist.select(TypedExpression(5), Artist.id.ifNull(0), TypedExpression("actor")).filter(
            Artist.name == "Eve Roth")),
        """
        INSERT INTO "credit" ("film_id", "artist_id", "part") \
        SELECT ?, coalesce("id", ?), ? FROM "artist" WHERE "name" = ?
        """,
        byHand: """
          INSERT INTO credit (film_id, artist_id, part) \
          VALUES (5, (SELECT id FROM artist WHERE name = 'Eve Roth'), 'actor')
          """)
      try asked.typed(
        "The key of the new row",
        try asked.db.transaction { db in [String(try Artist(name: "Fay").insert().run(db))] },
        byHand: "SELECT CAST(max(id) AS TEXT) FROM artist")
      try asked.typed(
        "The new row, as stored",
        try [Artist(name: "Fay").insert().returning().first().run(asked.db)?.name ?? "none"],
        byHand: "SELECT name FROM artist WHERE id = (SELECT max(id) FROM artist)")
      try asked.typed(
        "Rows, skipping existing rows",
        changing: Credit.insert([Credit(1, 1, "writer", nil), Credit(5, 5, "writer", nil)]).ignoreOnConflict(),
        #"INSERT OR IGNORE INTO "credit" ("film_id", "artist_id", "part", "fee") VALUES (?, ?, ?, ?)"#,
        byHand: "INSERT OR IGNORE INTO credit VALUES (1, 1, 'writer', NULL), (5, 5, 'writer', NULL)")
      try asked.typed(
        "A row that replaces an existing row", changing: Credit(1, 1, "writer", nil).insert().replaceOnConflict(),
        #"INSERT OR REPLACE INTO "credit" ("film_id", "artist_id", "part", "fee") VALUES (?, ?, ?, ?)"#,
        byHand: "INSERT OR REPLACE INTO credit VALUES (1, 1, 'writer', NULL)")
      let aurora = Studio(name: "Aurora", country: "SE")
      try asked.typed(
        "A new row, or an update of the existing row",
        changing: aurora.insert().onConflict(Studio.name, update: Studio.country),
        """
        INSERT INTO "studio" ("name", "country") VALUES (?, ?) \
        ON CONFLICT ("name") DO UPDATE SET "country" = excluded."country" RETURNING "id"
        """,
        byHand: """
          INSERT INTO studio (name, country) VALUES ('Aurora', 'SE') \
          ON CONFLICT (name) DO UPDATE SET country = excluded.country
          """)
      try asked.typed(
        "An update that combines the existing and the new value",
        changing: aurora.insert().onConflict(
          Studio.name,
          set: Studio.country.set(to: Studio.country.ifNull("").concatenated(Studio.country.excluded.ifNull("")))),
        """
        INSERT INTO "studio" ("name", "country") VALUES (?, ?) \
        ON CONFLICT ("name") DO UPDATE SET "country" = coalesce("studio"."country", ?) \
        || coalesce("excluded"."country", ?) \
        RETURNING "id"
        """,
        byHand: """
          INSERT INTO studio (name, country) VALUES ('Aurora', 'SE') \
          ON CONFLICT (name) DO UPDATE SET country = coalesce(country, '') || coalesce(excluded.country, '')
          """)
      try asked.typed(
        "An update of the existing row, under a condition",
        changing: Credit(1, 1, "director", 310).insert().onConflict(
          Credit.filmId, Credit.artistId, update: Credit.fee, where: Credit.fee < Credit.fee.excluded),
        """
        INSERT INTO "credit" ("film_id", "artist_id", "part", "fee") VALUES (?, ?, ?, ?) \
        ON CONFLICT ("film_id", "artist_id") DO UPDATE SET "fee" = excluded."fee" \
        WHERE "credit"."fee" < "excluded"."fee" RETURNING rowid
        """,
        byHand: """
          INSERT INTO credit VALUES (1, 1, 'director', 310) \
          ON CONFLICT (film_id, artist_id) DO UPDATE SET fee = excluded.fee \
          WHERE credit.fee < excluded.fee
          """)
      try asked.typed(
        "An insert or an update, depending on the primary key",
        changing: Studio(id: 3, name: "Cedar", country: "FI").save(),
        """
        INSERT INTO "studio" ("id", "name", "country") VALUES (?, ?, ?) \
        ON CONFLICT ("id") DO UPDATE SET "name" = excluded."name", "country" = excluded."country" \
        RETURNING "id"
        """,
        byHand: "UPDATE studio SET country = 'FI' WHERE id = 3")
      try asked.typed(
        "Different actions for different conflicts",
        changing: Studio(id: 1, name: "Aurora", country: "SE").insert().onConflict(Studio.id, update: Studio.country)
          .onConflict(Studio.name),
        """
        INSERT INTO "studio" ("id", "name", "country") VALUES (?, ?, ?) \
        ON CONFLICT ("id") DO UPDATE SET "country" = excluded."country" \
        ON CONFLICT ("name") DO NOTHING RETURNING "id"
        """,
        byHand: """
          INSERT INTO studio VALUES (1, 'Aurora', 'SE') \
          ON CONFLICT (id) DO UPDATE SET country = excluded.country \
          ON CONFLICT (name) DO NOTHING
          """)
    }
  }

  @Test(.needs(35, "RETURNING")) func questionsAboutUpdatesHaveTheirSQLAndRows() throws {
    try PeerQuestions.ofCinema { asked in
      var copper = try Film.read().filter(Film.id == 4).only().run(asked.db)
      copper.year = 2000
      try asked.typed(
        "A changed struct", changing: copper.update(),
        """
        UPDATE "film" \
        SET "title" = ?, "year" = ?, "minutes" = ?, "genre" = ?, "is_restored" = ?, "tags" = ?, "premiere" = ?, \
        "studio_id" = ? \
        WHERE "id" = ?
        """,
        byHand: "UPDATE film SET year = 2000 WHERE id = 4")
      try asked.typed(
        "One column of a struct", changing: copper.update(Film.year), #"UPDATE "film" SET "year" = ? WHERE "id" = ?"#,
        byHand: "UPDATE film SET year = 2000 WHERE id = 4")
      try asked.typed(
        "The rows that meet a condition", changing: Film.update(Film.genre.set(to: "classic")).filter(Film.year < 1970),
        #"UPDATE "film" SET "genre" = ? WHERE "year" < ?"#,
        byHand: "UPDATE film SET genre = 'classic' WHERE year < 1970")
      try asked.typed(
        "Every row", changing: Screening.updateAll(Screening.sold.set(to: Screening.sold + 1)),
        #"UPDATE "screening" SET "sold" = "sold" + ?"#, byHand: "UPDATE screening SET sold = sold + 1")
      try asked.typed(
        "Text appended to a column",
        changing: Film.update(Film.title.set(to: Film.title.concatenated(" (copy)"))).filter(Film.id == 1),
        #"UPDATE "film" SET "title" = "title" || ? WHERE "id" = ?"#,
        byHand: "UPDATE film SET title = title || ' (copy)' WHERE id = 1")
      try asked.typed(
        "A Boolean column inverted",
        changing: Film.update(Film.isRestored.set(to: (!Film.isRestored).typed(as: Bool.self))).filter(Film.id == 1),
        #"UPDATE "film" SET "is_restored" = NOT "is_restored" WHERE "id" = ?"#,
        byHand: "UPDATE film SET is_restored = NOT is_restored WHERE id = 1")
      try asked.typed(
        "A column set to NULL", changing: Film.update(Film.studioId.set(to: nil)).filter(Film.id == 1),
        #"UPDATE "film" SET "studio_id" = ? WHERE "id" = ?"#, byHand: "UPDATE film SET studio_id = NULL WHERE id = 1")
      try asked.typed(
        "A value from another table, by a subquery",
        changing: Credit.updateAll(
          Credit.fee.set(to: scalar(Screening.select(Screening.sold.total()).filter(Screening.filmId == Credit.filmId)))
        ),
        """
        UPDATE "credit" \
        SET "fee" = (SELECT total("screening"."sold") FROM "screening" \
        WHERE "screening"."film_id" = "credit"."film_id")
        """,
        byHand: "UPDATE credit SET fee = (SELECT total(sold) FROM screening WHERE film_id = credit.film_id)")
      try asked.typed(
        "Values from a joined table",
        changing: Film.update(Film.title.set(to: Studio.name)).from(Studio.self, on: Film.studioId == Studio.id).filter(
          Film.year > 1990),
        """
        UPDATE "film" SET "title" = "studio"."name" FROM "studio" \
        WHERE "film"."studio_id" = "studio"."id" AND "film"."year" > ?
        """,
        byHand: "UPDATE film SET title = studio.name FROM studio WHERE film.studio_id = studio.id AND year > 1990")
      try asked.typed(
        "The first rows in an order",
        changing: Screening.update(Screening.sold.set(to: 0)).orderBy(Screening.sold, .desc).limit(2),
        #"UPDATE "screening" SET "sold" = ? WHERE "id" IN (SELECT "id" FROM "screening" ORDER BY "sold" DESC LIMIT ?)"#,
        byHand: "UPDATE screening SET sold = 0 WHERE id IN (SELECT id FROM screening ORDER BY sold DESC LIMIT 2)")
      try asked.typed(
        "Rows updated, except rows that would violate a constraint",
        changing: Studio.updateAll(Studio.name.set(to: Studio.country.ifNull("GB"))).ignoreOnConflict(),
        #"UPDATE OR IGNORE "studio" SET "name" = coalesce("country", ?)"#,
        byHand: "UPDATE OR IGNORE studio SET name = coalesce(country, 'GB')")
      try asked.typed(
        "The updated rows, as stored",
        try Screening.update(Screening.sold.set(to: Screening.sold - 1)).filter(Screening.id == 2).returning().run(
          asked.db
        ).map { String($0.sold) }, byHand: "SELECT CAST(sold AS TEXT) FROM screening WHERE id = 2")
      try asked.withSQL(
        "A value that SQL text computes",
        changing: Film.update(Film.title.set(to: TypedExpression(sql: "quote(\(Film.title))"))).filter(Film.id == 1),
        #"UPDATE "film" SET "title" = (quote("title")) WHERE "id" = ?"#,
        byHand: "UPDATE film SET title = quote(title) WHERE id = 1")
      let screening = try Screening.read().filter(Screening.id == 6).only().run(asked.db)
      try asked.typed(
        "A struct deleted", changing: screening.delete(), #"DELETE FROM "screening" WHERE "id" = ?"#,
        byHand: "DELETE FROM screening WHERE id = 6")
      try asked.typed(
        "Rows deleted by a condition", changing: Screening.delete(Screening.sold < 50),
        #"DELETE FROM "screening" WHERE "sold" < ?"#, byHand: "DELETE FROM screening WHERE sold < 50")
      try asked.typed(
        "Rows deleted by their keys", changing: Screening.delete(Screening.id.in([1, 2, 3])),
        #"DELETE FROM "screening" WHERE "id" IN (?, ?, ?, ?)"#, byHand: "DELETE FROM screening WHERE id IN (1, 2, 3)")
      try asked.typed(
        "All rows deleted", changing: Review.deleteAll(), #"DELETE FROM "review""#, byHand: "DELETE FROM review")
      try asked.typed(
        "The first row in an order deleted", changing: Screening.delete().orderBy(Screening.sold).limit(1),
        #"DELETE FROM "screening" WHERE "id" IN (SELECT "id" FROM "screening" ORDER BY "sold" LIMIT ?)"#,
        byHand: "DELETE FROM screening WHERE id = (SELECT id FROM screening ORDER BY sold LIMIT 1)")
      try asked.typed(
        "Values of the deleted rows",
        try Screening.delete(Screening.id == 1).returning(Screening.hall).run(asked.db), byHand: "SELECT 'A'")
    }
  }
}
