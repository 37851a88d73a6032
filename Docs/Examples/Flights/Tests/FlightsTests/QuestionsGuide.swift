import Foundation
import Testing

@testable import Flights

/// The statements of Docs/Questions.md stand in the folder Questions; this is the SQL that they become, in the
/// order of the guide.
@Suite struct QuestionsGuide {
  private static let sql = [
    #"""
    SELECT "id", "year", "month", "day", "dep_time", "sched_dep_time", "dep_delay", "arr_time", "sched_arr_time", \#
    "arr_delay", "carrier", "flight", "tailnum", "origin", "dest", "air_time", "distance", "hour", "minute", \#
    "time_hour" FROM "flight" WHERE "arr_delay" > ? AND "dep_delay" <= ? ORDER BY "arr_delay" DESC, "id"
    """#,
    #"""
    SELECT "airline"."name", count("flight"."arr_delay"), avg("flight"."arr_delay") FROM "flight" JOIN "airline" \#
    ON "flight"."carrier" = "airline"."carrier" GROUP BY "airline"."carrier" ORDER BY avg("flight"."arr_delay") \#
    DESC, "airline"."name"
    """#,
    #"""
    SELECT "month", "day", count(*), count(*) FILTER (WHERE "dep_time" IS NULL), CAST(count(*) FILTER (WHERE \#
    "dep_time" IS NULL) AS REAL) * ? / CAST(count(*) AS REAL), avg("dep_delay") FROM "flight" GROUP BY "month", \#
    "day" ORDER BY 5 DESC, "month", "day"
    """#,
    #"""
    SELECT "origin", "carrier", count(*), CAST(count(*) AS REAL) * ? / total(count(*)) OVER (PARTITION BY \#
    "origin") FROM "flight" GROUP BY "origin", "carrier" ORDER BY "origin", count(*) DESC, "carrier"
    """#,
    #"""
    SELECT "flight"."tailnum", "plane"."manufacturer", count("flight"."arr_delay"), avg("flight"."arr_delay") \#
    FROM "flight" LEFT JOIN "plane" ON "flight"."tailnum" = "plane"."tailnum" WHERE "flight"."tailnum" IS NOT \#
    NULL GROUP BY "flight"."tailnum" HAVING count("flight"."arr_delay") >= ? ORDER BY avg("flight"."arr_delay") \#
    DESC, "flight"."tailnum"
    """#,
    #"""
    SELECT "airline"."name", count(DISTINCT "flight"."tailnum"), count(*) FROM "flight" JOIN "airline" ON \#
    "flight"."carrier" = "airline"."carrier" WHERE "flight"."tailnum" IS NOT NULL AND NOT EXISTS (SELECT 1 FROM \#
    "plane" WHERE "plane"."tailnum" = "flight"."tailnum") GROUP BY "airline"."carrier" ORDER BY count(*) DESC, \#
    "airline"."name"
    """#,
    #"""
    SELECT min("flight"."year" - "plane"."year", ?), count(DISTINCT "flight"."tailnum"), count(*), \#
    avg("flight"."dep_delay") FROM "flight" JOIN "plane" ON "flight"."tailnum" = "plane"."tailnum" WHERE \#
    "plane"."year" IS NOT NULL GROUP BY 1 ORDER BY 1
    """#,
    #"""
    SELECT "tailnum", count(DISTINCT "carrier"), min("carrier"), max("carrier"), count(*) FROM "flight" WHERE \#
    "tailnum" IS NOT NULL GROUP BY "tailnum" HAVING count(DISTINCT "carrier") > ? ORDER BY count(*) DESC, \#
    "tailnum"
    """#,
    #"""
    WITH RECURSIVE "so_far" ("c1", "c2", "c3") AS (SELECT "tailnum", sum(CASE WHEN "dep_delay" > ? THEN ? ELSE ? \#
    END) OVER (PARTITION BY "tailnum" ORDER BY "time_hour", "id"), sum("distance") OVER (PARTITION BY "tailnum" \#
    ORDER BY "time_hour", "id") FROM "flight" WHERE "tailnum" IS NOT NULL AND "dep_delay" IS NOT NULL) SELECT \#
    "so_far"."c1", count(*), max("so_far"."c3") FROM "so_far" WHERE "so_far"."c2" = ? GROUP BY "so_far"."c1" \#
    ORDER BY count(*) DESC, "so_far"."c1"
    """#,
    #"""
    SELECT "airport"."name", "airport"."lat", "airport"."lon", count("flight"."arr_delay"), \#
    avg("flight"."arr_delay") FROM "flight" JOIN "airport" ON "flight"."dest" = "airport"."faa" GROUP BY \#
    "flight"."dest" ORDER BY avg("flight"."arr_delay") DESC, "flight"."dest"
    """#,
    #"""
    SELECT "dest", count(*) FROM "flight" WHERE NOT "dest" IN (SELECT "airport"."faa" FROM "airport") GROUP BY \#
    "dest" ORDER BY count(*) DESC, "dest"
    """#,
    #"""
    WITH RECURSIVE "any" ("c1") AS (SELECT "dest" FROM "flight" WHERE "origin" = ? UNION SELECT "dest" FROM \#
    "flight" WHERE "origin" = ? UNION SELECT "dest" FROM "flight" WHERE "origin" = ?), "all three" ("c1") AS \#
    (SELECT "dest" FROM "flight" WHERE "origin" = ? INTERSECT SELECT "dest" FROM "flight" WHERE "origin" = ? \#
    INTERSECT SELECT "dest" FROM "flight" WHERE "origin" = ?), "EWR only" ("c1") AS (SELECT "dest" FROM "flight" \#
    WHERE "origin" = ? EXCEPT SELECT "dest" FROM "flight" WHERE "origin" = ? EXCEPT SELECT "dest" FROM "flight" \#
    WHERE "origin" = ?), "JFK only" ("c1") AS (SELECT "dest" FROM "flight" WHERE "origin" = ? EXCEPT SELECT \#
    "dest" FROM "flight" WHERE "origin" = ? EXCEPT SELECT "dest" FROM "flight" WHERE "origin" = ?), "LGA only" \#
    ("c1") AS (SELECT "dest" FROM "flight" WHERE "origin" = ? EXCEPT SELECT "dest" FROM "flight" WHERE "origin" = \#
    ? EXCEPT SELECT "dest" FROM "flight" WHERE "origin" = ?) SELECT ?, count(*), min("any"."c1") FROM "any" UNION \#
    ALL SELECT ?, count(*), min("all three"."c1") FROM "all three" UNION ALL SELECT ?, count(*), min("EWR \#
    only"."c1") FROM "EWR only" UNION ALL SELECT ?, count(*), min("JFK only"."c1") FROM "JFK only" UNION ALL \#
    SELECT ?, count(*), min("LGA only"."c1") FROM "LGA only"
    """#,
    #"""
    WITH RECURSIVE "tree" ("c1", "c2", "c3", "c4") AS (WITH RECURSIVE "route" ("c1", "c2", "c3") AS (SELECT \#
    "origin", "dest", min("distance") FROM "flight" GROUP BY "origin", "dest") SELECT DISTINCT "origin", ?, ?, \#
    "origin" FROM "flight" UNION ALL SELECT "route"."c2", "tree"."c2" + ?, "tree"."c3" + "route"."c3", \#
    "tree"."c4" || ? || "route"."c2" FROM "tree" JOIN "route" ON "route"."c1" = "tree"."c1" WHERE "tree"."c2" < \#
    ?) SELECT "tree"."c4", "tree"."c2", "tree"."c3" FROM "tree" ORDER BY "tree"."c2" DESC, "tree"."c3" DESC, \#
    "tree"."c4"
    """#,
    #"""
    WITH RECURSIVE "band" ("c1", "c2", "c3", "c4", "c5") AS (SELECT ?, CASE WHEN "weather"."precip" > ? THEN ? \#
    WHEN "weather"."precip" > ? THEN ? ELSE ? END, count(*), avg("flight"."dep_delay"), CAST(count(*) FILTER \#
    (WHERE "flight"."dep_delay" > ?) AS REAL) * ? / CAST(count(*) AS REAL) FROM "flight" JOIN "weather" ON \#
    "flight"."origin" = "weather"."origin" AND "flight"."time_hour" = "weather"."time_hour" WHERE \#
    "flight"."dep_delay" IS NOT NULL GROUP BY 2 UNION ALL SELECT ?, CASE WHEN "weather"."visib" < ? THEN ? WHEN \#
    "weather"."visib" < ? THEN ? ELSE ? END, count(*), avg("flight"."dep_delay"), CAST(count(*) FILTER (WHERE \#
    "flight"."dep_delay" > ?) AS REAL) * ? / CAST(count(*) AS REAL) FROM "flight" JOIN "weather" ON \#
    "flight"."origin" = "weather"."origin" AND "flight"."time_hour" = "weather"."time_hour" WHERE \#
    "flight"."dep_delay" IS NOT NULL GROUP BY 2 UNION ALL SELECT ?, CASE WHEN "weather"."wind_speed" > ? THEN ? \#
    WHEN "weather"."wind_speed" > ? THEN ? ELSE ? END, count(*), avg("flight"."dep_delay"), CAST(count(*) FILTER \#
    (WHERE "flight"."dep_delay" > ?) AS REAL) * ? / CAST(count(*) AS REAL) FROM "flight" JOIN "weather" ON \#
    "flight"."origin" = "weather"."origin" AND "flight"."time_hour" = "weather"."time_hour" WHERE \#
    "flight"."dep_delay" IS NOT NULL GROUP BY 2) SELECT "band"."c1", "band"."c2", "band"."c3", "band"."c4", \#
    "band"."c5" FROM "band" ORDER BY "band"."c1", "band"."c4" DESC, "band"."c2"
    """#,
    #"""
    WITH RECURSIVE "worst" ("c1", "c2", "c3", "c4") AS (SELECT "origin", "time_hour", count(*), avg("dep_delay") \#
    FROM "flight" WHERE "dep_delay" IS NOT NULL GROUP BY "origin", "time_hour" ORDER BY avg("dep_delay") DESC, \#
    "origin", "time_hour" LIMIT ?) SELECT "worst"."c1", "worst"."c2", "worst"."c3", "worst"."c4", \#
    "weather"."wind_speed", "weather"."precip", "weather"."visib" FROM "worst" LEFT JOIN "weather" ON \#
    "weather"."origin" = "worst"."c1" AND "weather"."time_hour" = "worst"."c2" ORDER BY "worst"."c4" DESC, \#
    "worst"."c1", "worst"."c2"
    """#,
    #"""
    WITH RECURSIVE "ranked" ("c1", "c2", "c3", "c4") AS (SELECT "carrier", "dest", count(*), rank() OVER \#
    (PARTITION BY "carrier" ORDER BY count(*) DESC) FROM "flight" GROUP BY "carrier", "dest") SELECT \#
    "airline"."name", "ranked"."c4", "ranked"."c2", "ranked"."c3" FROM "ranked" JOIN "airline" ON \#
    "airline"."carrier" = "ranked"."c1" WHERE "ranked"."c4" <= ? ORDER BY "airline"."name", "ranked"."c4", \#
    "ranked"."c2"
    """#,
    #"""
    WITH RECURSIVE "numbered" ("c1", "c2") AS (SELECT "id", row_number() OVER (PARTITION BY "month" ORDER BY \#
    "dep_delay" DESC, "id") FROM "flight" WHERE "dep_delay" IS NOT NULL) SELECT "flight"."month", "flight"."day", \#
    "flight"."carrier", "flight"."flight", "flight"."origin", "flight"."dest", "flight"."dep_delay" FROM "flight" \#
    JOIN "numbered" ON "flight"."id" = "numbered"."c1" WHERE "numbered"."c2" = ? ORDER BY "flight"."month"
    """#,
    #"""
    SELECT DISTINCT "origin", first_value("hour") OVER (PARTITION BY "origin" ORDER BY count(*) DESC, "hour"), \#
    max(count(*)) OVER (PARTITION BY "origin") FROM "flight" GROUP BY "origin", "hour" ORDER BY "origin"
    """#,
    #"""
    SELECT "origin", "month", "day", avg("dep_delay"), avg(avg("dep_delay")) OVER (PARTITION BY "origin" ORDER BY \#
    "month", "day" ROWS BETWEEN 6 PRECEDING AND CURRENT ROW) FROM "flight" GROUP BY "origin", "month", "day" \#
    ORDER BY "origin", "month", "day"
    """#,
    #"""
    WITH RECURSIVE "pair" ("c1", "c2") AS (SELECT "dep_delay", lag("dep_delay", ?) OVER (PARTITION BY "origin" \#
    ORDER BY "month", "day", "dep_time", "id") FROM "flight" WHERE "dep_delay" IS NOT NULL) SELECT CASE WHEN \#
    "pair"."c2" > ? THEN ? WHEN "pair"."c2" > ? THEN ? WHEN "pair"."c2" > ? THEN ? ELSE ? END, count(*), \#
    avg("pair"."c1") FROM "pair" WHERE "pair"."c2" IS NOT NULL GROUP BY 1 ORDER BY max("pair"."c2")
    """#,
  ]

  @Test func theStatementsBecomeTheSQLOfTheGuide() {
    let questions = Question.all
    #expect(questions.count == 20)
    #expect(QuestionsGuide.sql.count == 20)
    for (question, sql) in zip(questions, QuestionsGuide.sql) { #expect(question.sql == sql, "\(question.title)") }
  }

  @Test func theGuideHasAllQuestionsInTheirOrder() throws {
    let guide = URL(filePath: #filePath).appending(path: "../../../../../Questions.md").standardizedFileURL
    let lines = try String(contentsOf: guide, encoding: .utf8).components(separatedBy: "\n")
    let titles = Question.all.enumerated().map { "### \($0.offset + 1). \($0.element.title)" }
    #expect(lines.filter { $0.hasPrefix("### ") } == titles)
  }
}
