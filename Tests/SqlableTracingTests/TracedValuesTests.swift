import Foundation
import SqlableCore
import SqlableQueries
import SqlableSchema
import SqlableTracing
import Testing

@testable import SqlableTestSupport

@Suite struct TracedValuesTests {
  /// The values in the events of `body`, in words.
  private func values(
    _ columns: [TracedColumns] = [.of(Bicycle.self, Bicycle.color, Bicycle.id)],
    _ body: (SqliteDatabase) throws -> Void
  ) throws -> [String] {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      let log = TraceLog()
      db.trace(.init(values: columns), log.receive)
      try body(db)
      return log.take().flatMap(\.values).map(\.description)
    }
  }

  @Test func eventsHaveOnlyTheValuesOfRequestedColumns() throws {
    let found = try values { db in
      try Bicycle(id: 7, name: "Trek", color: "red", ownerId: nil).insert().run(db)
      _ = try Bicycle.read().filter(Bicycle.color == "blue" && Bicycle.name == "Norco").run(db)
      _ = try Bicycle.read().filter(Bicycle.id.in([1, -2])).run(db)
      try Bicycle.update(Bicycle.color.set(to: "it's")).filter(Bicycle.name == "Trek").run(db)
      try Bicycle.delete(Bicycle.id == 7).run(db)
    }
    #expect(
      found == [
        "bicycle.id = 7",
        "bicycle.color = 'red'",
        "bicycle.color = 'blue'",
        "bicycle.id = 1",
        "bicycle.id = -2",
        "bicycle.color = 'it''s'",
        "bicycle.id = 7",
      ])
  }

  @Test func eventsHaveValuesOnlyIfTheirTraceRequestsThem() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      let (plain, asking, logs) = (TraceLog(), TraceLog(), Collected<String>())
      db.trace(.init(), plain.receive)
      db.trace(.init(values: [.of(Bicycle.self, Bicycle.color)]), asking.receive)
      db.trace { logs.append("\($0)") }
      try Bicycle(name: "Trek", color: "secret").insert().run(db)
      _ = try? Bicycle(id: 1, name: "Trek", color: "secret").insert().run(db)
      #expect(plain.take().allSatisfy { $0.values.isEmpty })
      let events = asking.take()
      #expect(events.flatMap(\.values).map(\.value) == [.text("secret"), .text("secret")])
      // Only `values` contains the values.
      #expect(!events.contains { "\($0)\($0.sql)\($0.plan)".contains("secret") })
      #expect(!logs.values.joined().contains("secret"))
      let totals = StatementTotals()
      for event in events { totals.add(event) }
      #expect(!"\(totals.top())".contains("secret"))
    }
  }

  @Test(
    arguments: [
      ("SELECT 1 FROM bicycle WHERE color = \("a")", ["a"]),
      ("SELECT 1 FROM bicycle AS b WHERE b.color <> \("a") AND b.name = \("other")", ["a"]),
      ("SELECT 1 FROM main.bicycle WHERE \("a") = main.bicycle.\"color\"", ["a"]),
      ("SELECT 1 FROM bicycle WHERE color NOT IN (\("a"), \("b"))", ["a", "b"]),
      ("SELECT 1 FROM bicycle WHERE color BETWEEN \("a") AND \("b") AND name = \("other")", ["a", "b"]),
      ("SELECT 1 FROM bicycle WHERE color IS NOT \("a") OR color LIKE \("b")", ["a", "b"]),
      (
        "SELECT 1 FROM bicycle b JOIN person p ON p.id = b.owner_id AND p.name = \("other") WHERE b.color = \("a")",
        ["a"]
      ),
      ("INSERT INTO bicycle (name, color) VALUES (\("other"), \("a")), (\("other"), \("b"))", ["a", "b"]),
      ("REPLACE INTO main.bicycle (color, name) VALUES (\("a"), upper(\("other")))", ["a"]),
      ("UPDATE bicycle SET name = \("other"), color = \("a") WHERE color = \("b")", ["a", "b"]),
      (
        """
        INSERT INTO bicycle (id, name, color) VALUES (9, \("other"), \("a"))
        ON CONFLICT (id) DO UPDATE SET color = \("b")
        """, ["a", "b"]
      ),
      // The column is uncertain, so no value is reported.
      ("SELECT 1 FROM bicycle, person WHERE color = \("other")", []),
      ("SELECT 1 FROM person AS bicycle WHERE bicycle.name = \("other")", []),
      ("SELECT 1 FROM bicycle WHERE lower(color) = \("other")", []),
      ("SELECT 1 FROM bicycle WHERE color = lower(\("other"))", []),
      ("SELECT 1 FROM bicycle WHERE color = \("other") || name", []),
      ("SELECT 1 FROM bicycle WHERE name || color = \("other")", []),
      ("SELECT 1 FROM bicycle WHERE name BETWEEN 1 AND color = \("other")", []),
      ("SELECT 1 FROM (SELECT name AS color FROM bicycle) WHERE color = \("other")", []),
      ("WITH bicycle AS (SELECT name AS color FROM person) SELECT 1 FROM bicycle WHERE color = \("other")", []),
      ("SELECT 1 FROM bicycle LIMIT \("3")", []),
      ("INSERT INTO person (name) VALUES (\("other"))", []),
    ] as [(SQL, [String])])
  func onlyValuesThatAreSurelyOfTheColumnAreReported(_ sql: SQL, _ wanted: [String]) throws {
    let found = try values([.of(Bicycle.self, Bicycle.color)]) { db in try? db.execute(sql) }
    #expect(found == wanted.map { "bicycle.color = '\($0)'" })
  }

  @Test func valuesOfAllStorageClassesAreReported() throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE member (id, name)")
      let log = TraceLog()
      db.trace(.init(values: [.of(Member.self, Member.name)]), log.receive)
      let written: [DatabaseValue] = [
        .null,
        .integer(.min),
        .integer(-1),
        .real(-1.5),
        .real(.infinity),
        .text("it''s ? 'x' -- é"),
        .text(""),
        .blob(Data([0, 255, 16])),
      ]
      for value in written { try db.execute("INSERT INTO member (id, name) VALUES (1, \(value))") }
      #expect(log.take().flatMap(\.values).map(\.value) == written)
    }
  }

  @Test func anEventOfMegabytesHasNoValues() throws {
    let large = String(repeating: "x", count: 1 << 20)
    let found = try values { db in
      _ = try Bicycle.read().filter(Bicycle.color == "red" && Bicycle.name == large).run(db)
      _ = try Bicycle.read().filter(Bicycle.color == "blue").run(db)
    }
    #expect(found == ["bicycle.color = 'blue'"])
  }
}
