import SqlableCore
import SqlableDocuments
import SqlableQueries
import Testing

@testable import SqlableTestSupport

/// Values of other rows in a window, frame exclusions, and windows that refine others.
@Suite struct WindowValueTests {
  @Test func aDefaultReplacesAMissingRow() throws {
    try withCompany { db in
      let query = Worker.select(
        Worker.salary.lag(2, default: 1.5).over(orderBy: Worker.id.asc),
        Worker.name.lead(default: Worker.name).over(orderBy: Worker.id.asc),
        Worker.bossId.lag(1, default: 99).over(orderBy: Worker.id.asc))
      #expect(
        query.sql == #"""
          SELECT lag("salary", ?, ?) OVER (ORDER BY "id"), lead("name", ?, "name") OVER (ORDER BY "id"), \#
          lag("boss_id", ?, ?) OVER (ORDER BY "id") FROM "worker"
          """#)
      #expect(query.bindings == [.integer(2), .real(1.5), .integer(1), .integer(1), .integer(99)])
      let rows: [(Double, String, Int?)] = try query.orderBy(Worker.id).run(db)
      #expect(rows.map(\.0) == [1.5, 1.5, 10, 5])
      #expect(rows.map(\.1) == ["Ben", "Cleo", "Dan", "Dan"])
      #expect(rows.map(\.2) == [99, nil, 1, 1])
    }
  }

  @Test func nthValueCountsTheRowsOfAFrame() throws {
    try withCompany { db in
      let query = Worker.select(
        Worker.name.nthValue(2).over(orderBy: Worker.id.asc), Worker.bossId.nthValue(3).over())
      #expect(
        query.sql == #"SELECT nth_value("name", ?) OVER (ORDER BY "id"), nth_value("boss_id", ?) OVER () FROM "worker""#
      )
      let rows: [(String?, Int?)] = try query.orderBy(Worker.id).run(db)
      #expect(rows.map(\.0) == [nil, "Ben", "Ben", "Ben"])
      #expect(rows.allSatisfy { $0.1 == 1 })
      let error = expectInvalidStatement { _ = try Worker.select(Worker.name.nthValue(0).over()).run(db) }
      #expect(error?.message == "the row number of nthValue must be at least 1")
      expectSqlError { _ = try Worker.select(Worker.name.nthValue(1)).run(db) }
    }
  }

  @Test func untypedTermsHaveTheWindowValueFunctions() throws {
    try withCompany { db in
      let id = Bicycle.id.asc
      let query = Bicycle.select(
        Bicycle.name.lag(1, default: "none").over(orderBy: id),
        Bicycle.name.lead(1, default: "none").over(orderBy: id),
        Bicycle.name.firstValue().over(orderBy: id),
        Bicycle.name.lastValue().over(orderBy: id),
        Bicycle.name.nthValue(2).over(orderBy: id))
      let rows = try query.orderBy(Bicycle.id).run(db).map(\.values)
      #expect(rows[0] == [.text("none"), .text("Trek"), .text("Norco"), .text("Norco"), .null])
      #expect(rows[3] == [.text("Giant"), .text("none"), .text("Norco"), .text("Kona"), .text("Trek")])
    }
  }

  /// Every frame unit with every exclusion, compared with handwritten SQL.
  @Test func aFrameExcludesRows() throws {
    try withCompany { db in
      var frames: [(WindowFrame, String)] = []
      let exclusions: [(WindowFrame.Exclusion, String)] = [
        (.noOthers, ""), (.currentRow, " EXCLUDE CURRENT ROW"), (.group, " EXCLUDE GROUP"), (.ties, " EXCLUDE TIES"),
      ]
      for (exclusion, words) in exclusions {
        let around = WindowFrame.rows(.preceding(1), .following(1), excluding: exclusion)
        let before = WindowFrame.groups(.preceding(1), .currentRow, excluding: exclusion)
        let near = WindowFrame.range(.preceding(2), .following(2), excluding: exclusion)
        frames += [
          (around, "ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING\(words)"),
          (before, "GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW\(words)"),
          (near, "RANGE BETWEEN 2 PRECEDING AND 2 FOLLOWING\(words)"),
        ]
      }
      for (frame, text) in frames {
        let query = Worker.select(Worker.id.sum().over(orderBy: Worker.salary.asc, frame: frame))
        #expect(query.sql == #"SELECT sum("id") OVER (ORDER BY "salary" \#(text)) FROM "worker""#)
        let byHand = try db.query(
          SQL(verbatim: "SELECT sum(id) OVER (ORDER BY salary \(text)) FROM worker ORDER BY id"), as: Int?.self)
        #expect(try query.orderBy(Worker.id).run(db) == byHand, "\(text)")
        let document = try Select<Int?>(json: query.json(), rules: StatementRules(models: [Worker.self]))
        #expect(document == query)
      }
      let sums = try frames.map { frame, _ in
        try Worker.select(Worker.id.sum().over(orderBy: Worker.salary.asc, frame: frame)).orderBy(Worker.id).run(db)
      }
      #expect(Set(sums).count > 6)
      // min() and max() keep their filter in a frame with an exclusion.
      let greatest = Worker.salary.max(where: Worker.id < 3)
        .over(orderBy: Worker.id.asc, frame: .rows(.preceding(1), .following(1), excluding: .currentRow))
      #expect(try Worker.select(greatest).orderBy(Worker.id).run(db) == [5, 10, 5, nil])
    }
  }

  @Test func aWindowRefinesAnother() throws {
    try withCompany { db in
      let perBoss = Window(partitionBy: Worker.bossId)
      let dearest = perBoss.orderBy(Worker.salary.desc)
      let near = dearest.orderBy(Worker.id.asc).frame(.rows(.preceding(1), .currentRow))
      let query = Worker.select(
        countAll().over(perBoss),
        rank().over(dearest),
        Worker.salary.sum().over(near),
        countAll().over(near.frame(nil).partitionBy(Worker.salary)))
      #expect(
        query.sql == #"""
          SELECT count(*) OVER (PARTITION BY "boss_id"), \#
          rank() OVER (PARTITION BY "boss_id" ORDER BY "salary" DESC), \#
          sum("salary") OVER (PARTITION BY "boss_id" ORDER BY "salary" DESC, "id" \#
          ROWS BETWEEN 1 PRECEDING AND CURRENT ROW), \#
          count(*) OVER (PARTITION BY "boss_id", "salary" ORDER BY "salary" DESC, "id") FROM "worker"
          """#)
      let rows = try query.orderBy(Worker.id).run(db)
      #expect(rows.map(\.0) == [1, 2, 2, 1])
      #expect(rows.map(\.1) == [1, 2, 1, 1])
      #expect(rows.map(\.2) == [10, 12, 7, 5])
      #expect(rows.map(\.3) == [1, 1, 1, 1])
      #expect(perBoss == Window(partitionBy: Worker.bossId))
    }
  }
}
