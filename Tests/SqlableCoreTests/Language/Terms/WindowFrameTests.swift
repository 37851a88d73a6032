import SqlableCore
import SqlableQueries
import Testing

@testable import SqlableTestSupport

/// The SQL of window frames, and the errors of invalid ones.
@Suite struct WindowFrameTests {
  @Test func theSQLHasTheFramesUnitAndBounds() throws {
    let bounds: [(WindowFrame.Bound, String)] = [
      (.unboundedPreceding, "UNBOUNDED PRECEDING"),
      (.preceding(2), "2 PRECEDING"),
      (.currentRow, "CURRENT ROW"),
      (.following(0), "0 FOLLOWING"),
      (.unboundedFollowing, "UNBOUNDED FOLLOWING"),
    ]
    for (index, (start, first)) in bounds.enumerated() where start != .unboundedFollowing {
      // The bounds are listed from the earliest to the latest.
      for (end, last) in bounds[index...] where end != .unboundedPreceding {
        for (frame, unit) in [
          (WindowFrame.rows(start, end), "ROWS"),
          (.range(start, end), "RANGE"),
          (.groups(start, end), "GROUPS"),
        ] {
          let sum = Worker.salary.sum().over(partitionBy: Worker.bossId, orderBy: Worker.id.desc, frame: frame)
          #expect(
            Worker.select(sum).sql == #"""
              SELECT sum("salary") OVER (PARTITION BY "boss_id" \#
              ORDER BY "id" DESC \#(unit) BETWEEN \#(first) AND \#(last)) \#
              FROM "worker"
              """#)
        }
      }
    }
  }

  @Test func framesOfOtherNumbersAreOtherStatements() throws {
    try withCompany { db throws in
      func sums(_ frame: WindowFrame) throws -> [Double?] {
        try Worker.select(Worker.salary.sum().over(orderBy: Worker.id.asc, frame: frame)).orderBy(Worker.id).run(db)
      }
      // One handle caches the statements, so the second round runs cached ones.
      for _ in 1...2 {
        #expect(try sums(.rows(.preceding(1), .currentRow)) == [10, 15, 12, 12])
        #expect(try sums(.rows(.preceding(2), .currentRow)) == [10, 15, 22, 17])
        #expect(try sums(.groups(.preceding(2), .currentRow)) == [10, 15, 22, 17])
        #expect(try sums(.rows(.currentRow, .following(1))) == [15, 12, 12, 5])
        #expect(try sums(.rows(.following(1), .following(2))) == [12, 12, 5, nil])
        #expect(try sums(.rows(.preceding(2), .preceding(1))) == [nil, 10, 15, 12])
        #expect(try sums(.rows(.currentRow, .unboundedFollowing)) == [27, 17, 12, 5])
        #expect(try sums(.rows(.unboundedPreceding, .unboundedFollowing)) == [27, 27, 27, 27])
        #expect(try sums(.range(.preceding(100), .currentRow)) == [10, 15, 22, 27])
        #expect(try sums(.rows(.following(2), .following(1))) == [nil, nil, nil, nil])
      }
    }
  }

  /// Without EXCLUDE NO OTHERS, SQLite ignores the filter of min() and max() over such a frame.
  @Test func minAndMaxOverAFrameKeepTheirFilter() throws {
    try withCompany { db throws in
      let frame = WindowFrame.rows(.preceding(1), .currentRow)
      let least = Worker.salary.min(where: Worker.salary > 6).over(orderBy: Worker.id.asc, frame: frame)
      let greatest = Worker.salary.max(where: Worker.salary < 6).over(orderBy: Worker.id.asc, frame: frame)
      let query = Worker.select(least, greatest).orderBy(Worker.id)
      #expect(
        Worker.select(least).sql == #"""
          SELECT min("salary") FILTER (WHERE "salary" > ?) OVER \#
          (ORDER BY "id" ROWS BETWEEN 1 PRECEDING AND CURRENT ROW EXCLUDE NO OTHERS) \#
          FROM "worker"
          """#)
      let rows = try query.run(db)
      #expect(rows.map(\.0) == [10, 10, 7, 7])
      #expect(rows.map(\.1) == [nil, 5, 5, 5])
    }
  }

  @Test func anInvalidFrameThrows() throws {
    try withCompany { db throws in
      func check(
        _ frame: WindowFrame, _ says: String, sourceLocation: SourceLocation = #_sourceLocation
      ) {
        let error = sqlError {
          _ = try Worker.select(countAll().over(orderBy: Worker.id.asc, Worker.name.asc, frame: frame)).run(db)
        }
        #expect(error?.message == says, "\(String(describing: error))", sourceLocation: sourceLocation)
      }
      let below = "the bound of a window frame can't be negative"
      check(.rows(.preceding(-1), .currentRow), below)
      check(.groups(.currentRow, .following(.min)), below)
      check(.rows(.following(-1), .unboundedFollowing), below)
      let inverted = "a window frame can't end before it starts"
      check(.rows(.currentRow, .preceding(1)), inverted)
      check(.groups(.following(1), .currentRow), inverted)
      check(.range(.following(1), .preceding(1)), inverted)
      check(.rows(.unboundedFollowing, .unboundedFollowing), inverted)
      check(.rows(.currentRow, .unboundedPreceding), inverted)
      let distance = "a RANGE frame with a distance needs a window that is ordered by one term"
      check(.range(.preceding(1), .currentRow), distance)
      check(.range(.unboundedPreceding, .following(0)), distance)
      // SQLite accepts these frames, even if they are empty.
      for frame in [
        WindowFrame.rows(.preceding(1), .preceding(3)),
        .groups(.following(3), .following(1)),
        .range(.currentRow, .currentRow),
        .rows(.following(1), .unboundedFollowing),
      ] { #expect(try Worker.select(countAll().over(orderBy: Worker.id.asc, frame: frame)).run(db).count == 4) }
      // A huge distance covers all rows.
      let all = try Worker.select(countAll().over(orderBy: Worker.id.asc, frame: .rows(.preceding(.max), .currentRow)))
        .run(db)
      #expect(all.sorted() == [1, 2, 3, 4])
    }
  }

  @Test func invalidWindowFunctionCallsThrow() throws {
    try withCompany { db throws in
      for count in [0, -1, .min] {
        let error = sqlError { _ = try Worker.select(ntile(count).over(orderBy: Worker.id.asc)).run(db) }
        #expect(error?.message == "argument of ntile must be a positive integer", "\(String(describing: error))")
      }
      #expect(try Worker.select(ntile(.max).over(orderBy: Worker.id.asc)).run(db).sorted() == [1, 2, 3, 4])
      let upper = expectInvalidStatement { _ = try Worker.select(Worker.name.uppercase().over()).run(db) }
      #expect(upper?.message == "only an aggregate or window function can have a window")
      let substr = expectInvalidStatement { _ = try Worker.select(Worker.name.substr(1).over()).run(db) }
      #expect(substr?.message == "only an aggregate or window function can have a window")
      let twice = expectInvalidStatement { _ = try Worker.select(rank().over().over()).run(db) }
      #expect(twice?.message == "only an aggregate or window function can have a window")
      let without = sqlError { _ = try Worker.select(rowNumber()).run(db) }
      let advice = "; use over(…), and wrap the query in named(_:) to filter by the result"
      #expect(
        without?.message == "misuse of window function row_number()" + advice, "\(String(describing: without))")
      let filter = sqlError { _ = try Worker.count().filter(rank().over(orderBy: Worker.id.asc) == 1).run(db) }
      #expect(filter?.message == "misuse of window function rank()" + advice, "\(String(describing: filter))")
      let sum = expectInvalidStatement { _ = try Worker.read().filter(Worker.salary.sum() > 3).run(db) }
      #expect(sum?.message.hasPrefix("misuse of aggregate") == true, "\(String(describing: sum))")
      #expect(
        sum?.message.hasSuffix("sum(); use having(_:) to filter groups, or wrap the query in named(_:)")
          == true)
      // lag() and lead() beyond the rows are NULL.
      for count in [4, 100, .max] {
        let rows = try Worker.select(
          Worker.id.lag(count).over(orderBy: Worker.id.asc), Worker.id.lead(count).over(orderBy: Worker.id.asc)
        ).run(db)
        #expect(rows.allSatisfy { $0.0 == nil })
        #expect(rows.allSatisfy { $0.1 == nil })
        #expect(rows.count == 4)
      }
      // A negative distance counts in the other direction.
      let back = try Worker.select(
        Worker.id.lag(-1).over(orderBy: Worker.id.asc), Worker.id.lead(-1).over(orderBy: Worker.id.asc)
      ).orderBy(Worker.id).run(db)
      #expect(back.map(\.0) == [2, 3, 4, nil])
      #expect(back.map(\.1) == [nil, 1, 2, 3])
      let alone = try Worker.select(Worker.id.lag(-1).over(orderBy: Worker.id.asc)).orderBy(Worker.id).run(db)
      #expect(alone == [2, 3, 4, nil])
    }
  }

  @Test func theFirstAndLastValueOfAnEmptyFrameAreNull() throws {
    try withCompany { db throws in
      let after = WindowFrame.rows(.following(1), .following(1))
      let values = try Worker.select(
        Worker.name.firstValue().over(orderBy: Worker.id.asc, frame: after),
        Worker.bossId.lastValue().over(orderBy: Worker.id.asc, frame: after)
      ).orderBy(Worker.id).run(db)
      #expect(values.map(\.0) == ["Ben", "Cleo", "Dan", nil])
      #expect(values.map(\.1) == [1, 1, 2, nil])
    }
  }
}
