import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

/// Questions of Docs/PeerQuestions.md: filters.
@Suite struct PeerFiltersTests {
  @Test func questionsAboutFiltersHaveTheirSQLAndRows() throws {
    try PeerQuestions.ofCinema { asked in
      try asked.typed(
        "Not equal to a value; NULL does not match", Film.read().filter(Film.minutes != 92),
        """
        SELECT "id", "title", "year", "minutes", "genre", "is_restored", "tags", "premiere", "studio_id" \
        FROM "film" WHERE "minutes" <> ?
        """,
        byHand:
          "SELECT id, title, year, minutes, genre, is_restored, tags, premiere, studio_id FROM film WHERE minutes <> 92"
      )
      try asked.typed(
        "Not equal to a value; NULL matches", Film.read().filter(Film.minutes.isNot(92)),
        """
        SELECT "id", "title", "year", "minutes", "genre", "is_restored", "tags", "premiere", "studio_id" \
        FROM "film" WHERE "minutes" IS NOT ?
        """,
        byHand: """
          SELECT id, title, year, minutes, genre, is_restored, tags, premiere, studio_id FROM film \
          WHERE minutes IS NOT 92
          """)
      try asked.typed(
        "Where a column is NULL", Film.read().filter(Film.studioId == nil),
        """
        SELECT "id", "title", "year", "minutes", "genre", "is_restored", "tags", "premiere", "studio_id" \
        FROM "film" WHERE "studio_id" IS NULL
        """,
        byHand: """
          SELECT id, title, year, minutes, genre, is_restored, tags, premiere, studio_id FROM film \
          WHERE studio_id IS NULL
          """)
      let minutes: Int? = nil
      try asked.typed(
        "Equal to a value that may be nil", Film.read().filter(Film.minutes == minutes),
        """
        SELECT "id", "title", "year", "minutes", "genre", "is_restored", "tags", "premiere", "studio_id" \
        FROM "film" WHERE "minutes" IS NULL
        """,
        byHand: """
          SELECT id, title, year, minutes, genre, is_restored, tags, premiere, studio_id FROM film \
          WHERE minutes IS NULL
          """)
      try asked.typed(
        "Within a closed range", Film.read().filter(Film.year.between(1948, and: 1962)),
        """
        SELECT "id", "title", "year", "minutes", "genre", "is_restored", "tags", "premiere", "studio_id" \
        FROM "film" WHERE "year" BETWEEN ? AND ?
        """,
        byHand: """
          SELECT id, title, year, minutes, genre, is_restored, tags, premiere, studio_id FROM film \
          WHERE year BETWEEN 1948 AND 1962
          """)
      try asked.typed(
        "Outside a closed range", Film.read().filter(!Film.year.between(1948, and: 1962)),
        """
        SELECT "id", "title", "year", "minutes", "genre", "is_restored", "tags", "premiere", "studio_id" \
        FROM "film" WHERE NOT "year" BETWEEN ? AND ?
        """,
        byHand: """
          SELECT id, title, year, minutes, genre, is_restored, tags, premiere, studio_id FROM film \
          WHERE year NOT BETWEEN 1948 AND 1962
          """)
      try asked.typed(
        "Within a half-open range", Film.read().filter(Film.year >= 1948 && Film.year < 1962),
        """
        SELECT "id", "title", "year", "minutes", "genre", "is_restored", "tags", "premiere", "studio_id" \
        FROM "film" WHERE "year" >= ? AND "year" < ?
        """,
        byHand: """
          SELECT id, title, year, minutes, genre, is_restored, tags, premiere, studio_id FROM film \
          WHERE year >= 1948 AND year < 1962
          """)
      try asked.typed(
        "With the value on the left", Film.read().filter(1990 < Film.year),
        """
        SELECT "id", "title", "year", "minutes", "genre", "is_restored", "tags", "premiere", "studio_id" \
        FROM "film" WHERE "year" > ?
        """,
        byHand:
          "SELECT id, title, year, minutes, genre, is_restored, tags, premiere, studio_id FROM film WHERE 1990 < year")
      try asked.typed(
        "Two columns compared", Screening.read().filter(Screening.sold == Screening.seats),
        #"SELECT "id", "film_id", "hall", "seats", "sold" FROM "screening" WHERE "sold" = "seats""#,
        byHand: "SELECT * FROM screening WHERE sold = seats")
      try asked.typed(
        "In a list, and not in a list",
        Film.read().filter(Film.genre.in(["drama", "comedy"]) && Film.year.notIn([2004])),
        """
        SELECT "id", "title", "year", "minutes", "genre", "is_restored", "tags", "premiere", "studio_id" \
        FROM "film" WHERE "genre" IN (?, ?) AND NOT "year" IN (?)
        """,
        byHand: """
          SELECT id, title, year, minutes, genre, is_restored, tags, premiere, studio_id FROM film \
          WHERE genre IN ('drama', 'comedy') AND year NOT IN (2004)
          """)
      try asked.typed(
        "In an empty list (no row), and not in an empty list (every row)",
        try [Film.count(Film.id.in([])), Film.count(Film.id.notIn([]))].map { String(try $0.run(asked.db)) },
        byHand: "VALUES ('0'), ('6')")
      try asked.typed(
        "Equal under another collation", Film.read().filter(Film.title.collate(.nocase) == "COPPER"),
        """
        SELECT "id", "title", "year", "minutes", "genre", "is_restored", "tags", "premiere", "studio_id" \
        FROM "film" WHERE "title" COLLATE NOCASE = ?
        """,
        byHand: """
          SELECT id, title, year, minutes, genre, is_restored, tags, premiere, studio_id FROM film \
          WHERE title = 'COPPER' COLLATE NOCASE
          """)
      try asked.typed(
        "In a list, under another collation",
        Film.read().filter(Film.title.collate(.nocase).in(["COPPER", "NIGHT TRAIN"])),
        """
        SELECT "id", "title", "year", "minutes", "genre", "is_restored", "tags", "premiere", "studio_id" \
        FROM "film" WHERE "title" COLLATE NOCASE IN (?, ?)
        """,
        byHand: """
          SELECT id, title, year, minutes, genre, is_restored, tags, premiere, studio_id FROM film \
          WHERE title COLLATE NOCASE IN ('COPPER', 'NIGHT TRAIN')
          """)
      let wanted = [Film.year > 1950, Film.minutes != nil]
      try asked.typed(
        "All of any number of conditions", Film.read().filter(.all(wanted)),
        """
        SELECT "id", "title", "year", "minutes", "genre", "is_restored", "tags", "premiere", "studio_id" \
        FROM "film" WHERE "year" > ? AND "minutes" IS NOT NULL
        """,
        byHand: """
          SELECT id, title, year, minutes, genre, is_restored, tags, premiere, studio_id FROM film \
          WHERE year > 1950 AND minutes IS NOT NULL
          """)
      let accepted = [Film.year < 1950, Film.genre == "comedy"]
      try asked.typed(
        "At least one of any number of conditions", Film.read().filter(.any(accepted)),
        """
        SELECT "id", "title", "year", "minutes", "genre", "is_restored", "tags", "premiere", "studio_id" \
        FROM "film" WHERE "year" < ? OR "genre" = ?
        """,
        byHand: """
          SELECT id, title, year, minutes, genre, is_restored, tags, premiere, studio_id FROM film \
          WHERE year < 1950 OR genre = 'comedy'
          """)
      try asked.typed(
        "None of several conditions", Film.read().filter(!(Film.year < 1950 || Film.genre == "comedy")),
        """
        SELECT "id", "title", "year", "minutes", "genre", "is_restored", "tags", "premiere", "studio_id" \
        FROM "film" WHERE NOT ("year" < ? OR "genre" = ?)
        """,
        byHand: """
          SELECT id, title, year, minutes, genre, is_restored, tags, premiere, studio_id FROM film \
          WHERE NOT (year < 1950 OR genre = 'comedy')
          """)
      try asked.typed(
        "A Boolean column as a condition", Film.read().filter(Film.isRestored),
        """
        SELECT "id", "title", "year", "minutes", "genre", "is_restored", "tags", "premiere", "studio_id" \
        FROM "film" WHERE "is_restored"
        """,
        byHand:
          "SELECT id, title, year, minutes, genre, is_restored, tags, premiere, studio_id FROM film WHERE is_restored")
      try asked.typed(
        "A Boolean column, negated", Film.read().filter(!Film.isRestored),
        """
        SELECT "id", "title", "year", "minutes", "genre", "is_restored", "tags", "premiere", "studio_id" \
        FROM "film" WHERE NOT "is_restored"
        """,
        byHand: """
          SELECT id, title, year, minutes, genre, is_restored, tags, premiere, studio_id FROM film \
          WHERE NOT is_restored
          """)
      let all = Film.tableLayout.isEmpty
      try asked.typed(
        "A condition that depends on a setting", all ? Film.read() : Film.read().filter(Film.isRestored),
        """
        SELECT "id", "title", "year", "minutes", "genre", "is_restored", "tags", "premiere", "studio_id" \
        FROM "film" WHERE "is_restored"
        """,
        byHand:
          "SELECT id, title, year, minutes, genre, is_restored, tags, premiere, studio_id FROM film WHERE is_restored")
      try asked.typed(
        "A condition that many queries share",
        Film.restored.orderBy(Film.year, .desc).filter(Film.isOld),
        """
        SELECT "id", "title", "year", "minutes", "genre", "is_restored", "tags", "premiere", "studio_id" \
        FROM "film" WHERE "is_restored" AND "year" < ? ORDER BY "year" DESC
        """,
        byHand: """
          SELECT id, title, year, minutes, genre, is_restored, tags, premiere, studio_id FROM film \
          WHERE is_restored AND year < 1970 ORDER BY year DESC
          """)
      try asked.typed(
        "Text that has a prefix, or contains a word",
        Film.read().filter(Film.title.hasPrefix("100%") || Film.title.contains("long")),
        #"""
        SELECT "id", "title", "year", "minutes", "genre", "is_restored", "tags", "premiere", "studio_id" \#
        FROM "film" WHERE "title" LIKE ? ESCAPE '\' OR "title" LIKE ? ESCAPE '\'
        """#,
        byHand: """
          SELECT id, title, year, minutes, genre, is_restored, tags, premiere, studio_id FROM film \
          WHERE substr(title, 1, 4) = '100%' OR instr(lower(title), 'long') > 0
          """)
      try asked.typed(
        "LIKE, with an escape", Film.read().filter(Film.title.like("100!%%", escape: "!")),
        """
        SELECT "id", "title", "year", "minutes", "genre", "is_restored", "tags", "premiere", "studio_id" \
        FROM "film" WHERE "title" LIKE ? ESCAPE '!'
        """,
        byHand: """
          SELECT id, title, year, minutes, genre, is_restored, tags, premiere, studio_id FROM film \
          WHERE title LIKE '100!%%' ESCAPE '!'
          """)
      try asked.typed(
        "Not LIKE", Film.read().filter(!Film.title.like("%t%")),
        """
        SELECT "id", "title", "year", "minutes", "genre", "is_restored", "tags", "premiere", "studio_id" \
        FROM "film" WHERE NOT "title" LIKE ?
        """,
        byHand: """
          SELECT id, title, year, minutes, genre, is_restored, tags, premiere, studio_id FROM film \
          WHERE title NOT LIKE '%t%'
          """)
      try asked.typed(
        "GLOB", Film.read().filter(Film.title.glob("[A-H]*")),
        """
        SELECT "id", "title", "year", "minutes", "genre", "is_restored", "tags", "premiere", "studio_id" \
        FROM "film" WHERE "title" GLOB ?
        """,
        byHand: """
          SELECT id, title, year, minutes, genre, is_restored, tags, premiere, studio_id FROM film \
          WHERE title GLOB '[A-H]*'
          """)
      try asked.typed(
        "The length of a text", Film.read().filter(Film.title.length() < 10),
        """
        SELECT "id", "title", "year", "minutes", "genre", "is_restored", "tags", "premiere", "studio_id" \
        FROM "film" WHERE length("title") < ?
        """,
        byHand: """
          SELECT id, title, year, minutes, genre, is_restored, tags, premiere, studio_id FROM film \
          WHERE length(title) < 10
          """)
      try asked.typed(
        "Lower case and upper case", Film.select(Film.title.lowercase()).filter(Film.title.uppercase() == "COPPER"),
        #"SELECT lower("title") FROM "film" WHERE upper("title") = ?"#,
        byHand: "SELECT lower(title) FROM film WHERE upper(title) = 'COPPER'")
      try asked.typed(
        "Arithmetic in a condition", Screening.read().filter((Screening.seats - Screening.sold) * 2 > Screening.seats),
        #"SELECT "id", "film_id", "hall", "seats", "sold" FROM "screening" WHERE ("seats" - "sold") * ? > "seats""#,
        byHand: "SELECT * FROM screening WHERE (seats - sold) * 2 > seats")
      try asked.typed(
        "Division of integers with a fraction",
        Screening.select(Screening.hall, Screening.sold.cast(to: Double.self) / Screening.seats.cast(to: Double.self)),
        #"SELECT "hall", CAST("sold" AS REAL) / CAST("seats" AS REAL) FROM "screening""#,
        byHand: "SELECT hall, CAST(sold AS REAL) / seats FROM screening")
      try asked.typed(
        "Remainder and negation", Film.select(-Film.year).filter(Film.year % 2 == 1),
        #"SELECT -"year" FROM "film" WHERE "year" % ? = ?"#, byHand: "SELECT -year FROM film WHERE year % 2 = 1")
      try asked.typed(
        "Bitwise operators",
        Screening.select(Screening.seats.bitAnd(60), Screening.sold.shiftedLeft(1), Screening.sold.inverted()),
        #"SELECT "seats" & ?, "sold" << ?, ~"sold" FROM "screening""#,
        byHand: "SELECT seats & 60, sold << 1, ~sold FROM screening")
      try asked.typed(
        "Concatenated texts", Film.select(Film.title.concatenated(", a ").concatenated(Film.genre)),
        #"SELECT "title" || ? || "genre" FROM "film""#, byHand: "SELECT title || ', a ' || genre FROM film")
      try asked.typed(
        "A replacement for NULL", Film.select(Film.title, Film.minutes.ifNull(0)),
        #"SELECT "title", coalesce("minutes", ?) FROM "film""#, byHand: "SELECT title, ifnull(minutes, 0) FROM film")
      try asked.typed(
        "NULL for a certain value", Screening.select(Screening.sold.nullIf(0)),
        #"SELECT nullif("sold", ?) FROM "screening""#, byHand: "SELECT nullif(sold, 0) FROM screening")
      try asked.typed(
        "One of several values, selected by conditions",
        Film.select(Case.when(Film.year < 1950, then: "old").when(Film.year < 1980, then: "middle").else("new")),
        #"SELECT CASE WHEN "year" < ? THEN ? WHEN "year" < ? THEN ? ELSE ? END FROM "film""#,
        byHand: "SELECT CASE WHEN year < 1950 THEN 'old' WHEN year < 1980 THEN 'middle' ELSE 'new' END FROM film")
      try asked.typed(
        "Rounded and absolute numbers", Credit.select(Credit.fee.round(), (Credit.fee - 200).abs()),
        #"SELECT round("fee", 0), abs("fee" - ?) FROM "credit""#,
        byHand: "SELECT round(fee, 0), abs(fee - 200) FROM credit")
      try asked.typed(
        "The greater of a column and a value", Screening.select(Screening.sold.greatest(50)),
        #"SELECT max("sold", ?) FROM "screening""#, byHand: "SELECT max(sold, 50) FROM screening")
      try asked.typed(
        "A condition as a result column", Film.select(Film.title, (Film.year > 1990).typed(as: Bool.self)),
        #"SELECT "title", "year" > ? FROM "film""#, byHand: "SELECT title, year > 1990 FROM film")
      try asked.typed(
        "Several columns compared as a row value",
        Film.read().filter(rowValue(Film.year, Film.title) > (1962, "Night Train")),
        """
        SELECT "id", "title", "year", "minutes", "genre", "is_restored", "tags", "premiere", "studio_id" \
        FROM "film" WHERE ("year", "title") > (?, ?)
        """,
        byHand: """
          SELECT id, title, year, minutes, genre, is_restored, tags, premiere, studio_id FROM film \
          WHERE (year, title) > (1962, 'Night Train')
          """)
      let initial = ScalarFunction("initial", isDeterministic: true) { (text: String) in String(text.prefix(1)) }
      try asked.db.register(initial)
      try asked.typed(
        "A function that the program defines", Film.select(initial(Film.title)),
        #"SELECT "initial"("title") FROM "film""#,
        byHand: "SELECT substr(title, 1, 1) FROM film")
      try asked.withSQL(
        "An SQLite function without a Swift method",
        Film.select(TypedExpression<String>(sql: "quote(\(Film.title))")), #"SELECT (quote("title")) FROM "film""#,
        byHand: "SELECT quote(title) FROM film")
      try asked.withSQL(
        "A condition in SQL, with bound values",
        Film.read().filter(SqlExpression(sql: "abs(\(Film.year) - \(1960)) < 10") && Film.isRestored.isTrue),
        """
        SELECT "id", "title", "year", "minutes", "genre", "is_restored", "tags", "premiere", "studio_id" \
        FROM "film" WHERE (abs("year" - ?) < 10) AND "is_restored"
        """,
        byHand: """
          SELECT id, title, year, minutes, genre, is_restored, tags, premiere, studio_id FROM film \
          WHERE abs(year - 1960) < 10 AND is_restored
          """)
    }
  }
}
