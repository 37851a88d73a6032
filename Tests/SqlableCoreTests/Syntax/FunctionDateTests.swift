import Foundation
import SqlableCore
import SqlableQueries
import Testing

@testable import SqlableTestSupport

/// Dates that functions of the program return, which SQLite gets as seconds since 1970.
@Suite struct FunctionDateTests {
  private let moment = Stay.moment
  private let hour = ScalarFunction("hour_later", isDeterministic: true) { (date: Date) in date + 3600 }
  private let start = ScalarFunction("start_of_stay") { (_: Int) in Stay.moment }
  private let latest = AggregateFunction("latest", initial: Date.distantPast) { (latest: inout Date, date: Date) in
    latest = max(latest, date)
  } finish: {
    $0
  }

  private func withFunctions(_ body: (SqliteDatabase) throws -> Void) throws {
    try withStays(Stay(id: 1, at: moment)) { db in
      try db.register(hour)
      try db.register(start)
      try db.register(latest)
      try body(db)
    }
  }

  @Test func columnsOfTextAndMillisecondsAreRefused() throws {
    try withFunctions { db in
      let start = self.start(Stay.id)
      let wrong: [SqlExpression] = [
        Stay.iso == start, start == Stay.iso, Stay.milliseconds == start, Stay.iso < start, start >= Stay.milliseconds,
        Stay.iso.column == start, Stay.milliseconds.column != start, Stay.iso.between(start, and: start),
        start.between(Stay.iso, and: Stay.iso), Stay.iso.in(Stay.select(start)), start.in(Stay.select(Stay.iso)),
      ]
      let chosen: [SqlExpression] = [
        start.least(Stay.iso) == moment, Stay.milliseconds.coalesce(start) == moment,
        start.coalesce(Stay.iso) == moment, Case.when(Stay.id > 0, then: start).else(Stay.iso) == moment,
        Stay.iso == scalar(Stay.select(start)).ifNull(moment), rowValue(start, Stay.id) == rowValue(Stay.iso, Stay.id),
        hour(Stay.iso) == Stay.iso, Stay.iso.isNotDistinct(from: start),
      ]
      for (index, condition) in (wrong + chosen).enumerated() {
        let error = sqlError { _ = try Stay.count(condition).run(db) }
        #expect(
          error?.message
            == "an operation mixes dates in different storage formats; convert the dates with seconds(since:)",
          "\(index)")
      }
      let groups = Stay.select(latest(Stay.real)).groupBy(Stay.iso).having(latest(Stay.real) > Stay.iso)
      expectInvalidStatement { _ = try groups.run(db) }
      expectInvalidStatement { _ = try Stay.select(Stay.iso).union(Stay.select(start)).run(db) }
      expectInvalidStatement { _ = try Stay.select(start).union(Stay.select(Stay.milliseconds)).run(db) }
      let named = Stay.select(start).named("starts")
      expectInvalidStatement { _ = try Stay.select(Stay.id).joining(named, on: named.column == Stay.iso).run(db) }
    }
  }

  @Test func columnsOfTextAndMillisecondsStoreNoSeconds() throws {
    try withFunctions { db in
      let start = self.start(Stay.id)
      for (assignment, type) in [
        (Stay.iso.set(to: start), "column iso takes TEXT (date as iso8601)"),
        (Stay.milliseconds.column.set(to: start), "column milliseconds takes INTEGER (date as unixMilliseconds)"),
        (Stay.iso.set(to: start.least(start)), "column iso takes TEXT (date as iso8601)"),
      ] {
        let error = sqlError { try Stay.updateAll(assignment).run(db) }
        #expect(error?.message == type + ", but was given REAL (date as unixSecondsWithFraction)")
      }
      let insert = Stay.insert(Stay.iso, from: Stay.select(start))
      let error = sqlError { try insert.run(db) }
      let (text, real) = ("TEXT (date as iso8601)", "REAL (date as unixSecondsWithFraction)")
      #expect(error?.message == "column iso takes \(text), but was given \(real)")
    }
  }

  @Test func columnsOfSecondsAreCompared() throws {
    try withFunctions { db in
      let start = self.start(Stay.id)
      let right: [SqlExpression] = [
        Stay.real == start, Stay.seconds == start, hour(Stay.seconds) > Stay.real, start == moment,
        start.between(moment...moment), start.in([moment]), Stay.seconds.in(Stay.select(start)),
        Stay.iso == moment, hour(Stay.iso) == moment + 3600, start.least(Stay.seconds) == moment,
        Case.when(Stay.id > 0, then: start).else(Stay.seconds) == moment,
      ]
      for (index, condition) in right.enumerated() {
        #expect(try Stay.count(condition).run(db) == 1, "\(index)")
      }
      try Stay.updateAll(Stay.seconds.set(to: hour(Stay.iso)), Stay.real.set(to: hour(Stay.iso))).run(db)
      let later = try Stay.select(Stay.seconds, Stay.real).run(db)
      #expect(later.map { [$0.0, $0.1] } == [[moment + 3600, moment + 3600]])
      #expect(try Stay.select(Stay.real).union(Stay.select(start)).run(db).count == 2)
    }
  }

  /// A date that is bound without a column, as the first of several results.
  @Test func boundDateIsNotMixedWithTextOrMilliseconds() throws {
    try withFunctions { db in
      let bound = TypedExpression(moment)
      for other in [Stay.iso, Stay.milliseconds] {
        let wrong: [SqlExpression] = [
          Case.when(Stay.id > 5, then: moment).else(other) == moment, bound.coalesce(other) == moment,
          bound.least(other) == moment, bound == other, other.between(bound, and: bound),
        ]
        for (index, condition) in wrong.enumerated() {
          expectInvalidStatement("\(index)") { _ = try Stay.count(condition).run(db) }
        }
        let right = Case.when(Stay.id > 5, then: other).else(moment) == moment
        let count = try Stay.count(right).run(db)
        #expect(count == 1)
      }
      let count = try Stay.count(Case.when(Stay.id > 5, then: moment).else(Stay.seconds) == moment).run(db)
      #expect(count == 1)
    }
  }
}
