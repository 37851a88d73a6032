import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

/// Questions of Docs/PeerQuestions.md: orders, groups and aggregates.
@Suite struct PeerOrdersTests {
  @Test func questionsAboutOrdersHaveTheirSQLAndRows() throws {
    try PeerQuestions.ofCinema { asked in
      try asked.typed(
        "Descending, then by another column", Film.read().orderBy(Film.year.desc, Film.title.asc),
        """
        SELECT "id", "title", "year", "minutes", "genre", "is_restored", "tags", "premiere", "studio_id" \
        FROM "film" ORDER BY "year" DESC, "title"
        """,
        byHand: """
          SELECT id, title, year, minutes, genre, is_restored, tags, premiere, studio_id FROM film \
          ORDER BY year DESC, title
          """)
      try asked.typed(
        "NULL last, and NULL first",
        Film.select(Film.title).orderBy(Film.minutes.asc.nullsLast, Film.premiere.desc.nullsFirst),
        #"SELECT "title" FROM "film" ORDER BY "minutes" NULLS LAST, "premiere" DESC NULLS FIRST"#,
        byHand: "SELECT title FROM film ORDER BY minutes ASC NULLS LAST, premiere DESC NULLS FIRST")
      try asked.typed(
        "By a term", Film.select(Film.title).orderBy(Film.title.length(), .desc).orderBy(Film.title),
        #"SELECT "title" FROM "film" ORDER BY length("title") DESC, "title""#,
        byHand: "SELECT title FROM film ORDER BY length(title) DESC, title")
      try asked.typed(
        "By a condition: restored films first",
        Film.select(Film.title).orderBy(Film.isRestored, .desc).orderBy(Film.title),
        #"SELECT "title" FROM "film" ORDER BY "is_restored" DESC, "title""#,
        byHand: "SELECT title FROM film ORDER BY is_restored DESC, title")
      try asked.typed(
        "Ignoring case", Film.select(Film.title).orderBy(Film.title.collate(.nocase)),
        #"SELECT "title" FROM "film" ORDER BY "title" COLLATE NOCASE"#,
        byHand: "SELECT title FROM film ORDER BY title COLLATE NOCASE")
      let last = Collation("last") { left, right in
        let key = { (text: String) in String(text.suffix(1)) + text }
        return key(left) < key(right) ? .orderedAscending : .orderedDescending
      }
      try asked.db.register(last)
      try asked.typed(
        "By a collation that the program defines", Film.select(Film.title).orderBy(Film.title.collate(last)),
        #"SELECT "title" FROM "film" ORDER BY "title" COLLATE "last""#,
        byHand: "SELECT title FROM film ORDER BY substr(title, -1), title")
      let newest = !Film.tableLayout.isEmpty
      try asked.typed(
        "By an order that is chosen at run time",
        Film.select(Film.title).orderBy(Film.title.asc).orderBy(newest ? Film.year.desc : Film.year.asc),
        #"SELECT "title" FROM "film" ORDER BY "title", "year" DESC"#,
        byHand: "SELECT title FROM film ORDER BY title, year DESC")
      try asked.typed(
        "In random order", try Film.select(Film.title).orderBy(randomInteger()).run(asked.db).sorted(),
        byHand: "SELECT title FROM film ORDER BY title")
    }
  }

  @Test func questionsAboutGroupsHaveTheirSQLAndRows() throws {
    try PeerQuestions.ofCinema { asked in
      try asked.typed(
        "The number of films of each genre", Film.select(Film.genre, countAll()).groupBy(Film.genre),
        #"SELECT "genre", count(*) FROM "film" GROUP BY "genre""#,
        byHand: "SELECT genre, count(*) FROM film GROUP BY genre")
      try asked.typed(
        "Groups by two columns", Film.select(Film.genre, Film.year, countAll()).groupBy(Film.genre, Film.year),
        #"SELECT "genre", "year", count(*) FROM "film" GROUP BY "genre", "year""#,
        byHand: "SELECT genre, year, count(*) FROM film GROUP BY genre, year")
      try asked.typed(
        "Groups by a term", Film.select(Film.year / 10 * 10, countAll()).groupBy(Film.year / 10 * 10),
        #"SELECT "year" / ? * ?, count(*) FROM "film" GROUP BY 1"#,
        byHand: "SELECT year / 10 * 10, count(*) FROM film GROUP BY 1")
      try asked.typed(
        "Only the groups that meet a condition",
        Film.select(Film.genre).groupBy(Film.genre).having(countAll() > 1 && Film.year.min() + 10 < 1970),
        #"SELECT "genre" FROM "film" GROUP BY "genre" HAVING count(*) > ? AND min("year") + ? < ?"#,
        byHand: "SELECT genre FROM film GROUP BY genre HAVING count(*) > 1 AND min(year) + 10 < 1970")
      try asked.typed(
        "Sums, averages and extremes",
        Credit.select(Credit.fee.sum(), Credit.fee.total(), Credit.fee.average(), Credit.fee.min(), Credit.fee.max()),
        #"SELECT sum("fee"), total("fee"), avg("fee"), min("fee"), max("fee") FROM "credit""#,
        byHand: "SELECT sum(fee), total(fee), avg(fee), min(fee), max(fee) FROM credit")
      try asked.typed(
        "The number of distinct values", Film.select(Film.year.count(distinct: true), Film.minutes.count()),
        #"SELECT count(DISTINCT "year"), count("minutes") FROM "film""#,
        byHand: "SELECT count(DISTINCT year), count(minutes) FROM film")
      try asked.typed(
        "Several counts, each with its own condition",
        Film.select(countAll(where: Film.isRestored), countAll(where: !Film.isRestored)),
        #"SELECT count(*) FILTER (WHERE "is_restored"), count(*) FILTER (WHERE NOT "is_restored") FROM "film""#,
        byHand: "SELECT count(*) FILTER (WHERE is_restored), count(*) FILTER (WHERE NOT is_restored) FROM film")
      try asked.typed(
        "An aggregate of a term", Screening.select((Screening.seats - Screening.sold).sum()),
        #"SELECT sum("seats" - "sold") FROM "screening""#, byHand: "SELECT sum(seats - sold) FROM screening")
      try asked.typed(
        "An aggregate in a term", Credit.select(Credit.fee.max().ifNull(0) - Credit.fee.min().ifNull(0)),
        #"SELECT coalesce(max("fee"), ?) - coalesce(min("fee"), ?) FROM "credit""#,
        byHand: "SELECT coalesce(max(fee), 0) - coalesce(min(fee), 0) FROM credit")
      try asked.typed(
        "The titles of each group, joined into one text",
        Film.select(Film.genre, Film.title.groupConcat(" / ")).groupBy(Film.genre),
        #"SELECT "genre", group_concat("title", ?) FROM "film" GROUP BY "genre""#,
        byHand: "SELECT genre, group_concat(title, ' / ') FROM film GROUP BY genre")
      try asked.typed(
        "The distinct values of a group, joined into one text", Film.select(Film.genre.groupConcat(distinct: true)),
        #"SELECT group_concat(DISTINCT "genre") FROM "film""#, byHand: "SELECT group_concat(DISTINCT genre) FROM film")
      try asked.typed(
        "The titles of each group as a JSON array",
        Film.select(Film.genre, Film.title.jsonGroupArray()).groupBy(Film.genre),
        #"SELECT "genre", json_group_array("title") FROM "film" GROUP BY "genre""#,
        byHand: "SELECT genre, json_group_array(title) FROM film GROUP BY genre")
      try asked.typed(
        "The distinct values of a group as a JSON array", Film.select(Film.genre.jsonGroupArray(distinct: true)),
        #"SELECT json_group_array(DISTINCT "genre") FROM "film""#,
        byHand: "SELECT json_group_array(DISTINCT genre) FROM film")
      try asked.typed(
        "The longest film of each genre, as a struct",
        Film.read(replacing: Film.minutes, with: Film.minutes.max()).groupBy(Film.genre),
        """
        SELECT "id", "title", "year", max("minutes"), "genre", "is_restored", "tags", "premiere", "studio_id" \
        FROM "film" GROUP BY "genre"
        """,
        byHand:
          "SELECT id, title, year, max(minutes), genre, is_restored, tags, premiere, studio_id FROM film GROUP BY genre"
      )
      let product = AggregateFunction("product", initial: 1) { (product: inout Int, value: Int) in
        product *= value
      } finish: {
        $0
      }
      try asked.db.register(product)
      try asked.typed(
        "An aggregate that the program defines",
        Screening.select(Screening.hall, product(Screening.seats)).groupBy(Screening.hall),
        #"SELECT "hall", "product"("seats") FROM "screening" GROUP BY "hall""#,
        byHand: """
          SELECT hall, CASE hall WHEN 'A' THEN 120 * 120 * 120 WHEN 'B' THEN 60 * 60 ELSE 30 END \
          FROM screening GROUP BY hall
          """)
      try asked.typed(
        "Ordered by an aggregate", Film.select(Film.genre).groupBy(Film.genre).orderBy(countAll(), .desc),
        #"SELECT "genre" FROM "film" GROUP BY "genre" ORDER BY count(*) DESC"#,
        byHand: "SELECT genre FROM film GROUP BY genre ORDER BY count(*) DESC")
    }
  }
}
