import Foundation
import SqlableCodable
import SqlableCore
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// A model with two readings in a row.
struct FlightLeg: Sqlable, Equatable {
  var id: Int
  var first: Double
  var second: Double?
  var note: String
  static let tableName = "leg"
  static let id = column("id", Int.self, PrimaryKey())
  static let first = column("first", Double.self)
  static let second = column("second", Double?.self)
  static let note = column("note", String.self)
  static let tableLayout = [id.column, first.column, second.column, note.column]

  init(_ id: Int, _ first: Double, _ second: Double?, _ note: String = "") {
    (self.id, self.first, self.second, self.note) = (id, first, second, note)
  }

  init(row: ReadRow) throws {
    id = try row.get(FlightLeg.id)
    first = try row.get(FlightLeg.first)
    second = try row.get(FlightLeg.second)
    note = try row.get(FlightLeg.note)
  }

  func write(to row: inout RowWriter) throws {
    row.set(FlightLeg.id, id)
    row.set(FlightLeg.first, first)
    row.set(FlightLeg.second, second)
    row.set(FlightLeg.note, note)
  }
}

/// A model with a date in milliseconds.
struct Fare: SqlCodable {
  var id: Int
  var paidAt: Date
  static let id = column("id", Int.self, PrimaryKey())
  static let paidAt = column("paid_at", Date.self, as: .date(.unixMilliseconds))
  static let tableLayout = [id.column, paidAt.column]
  enum CodingKeys: String, CodingKey {
    case id
    case paidAt = "paid_at"
  }
}

struct Refusal: Error, Equatable {
  let number: Int
}

let gap = ScalarFunction("gap", isDeterministic: true) { (a: Double, b: Double?) in b.map { abs(a - $0) } }

let secondsOf = ScalarFunction("seconds_of") { (date: Date) in date.timeIntervalSince1970 }

let lastDate = AggregateFunction("last_date", initial: Date.distantPast) { (last: inout Date, date: Date) in
  last = max(last, date)
} finish: {
  $0
}

func withLegs(
  _ legs: [FlightLeg] = [FlightLeg(1, 10, 50), FlightLeg(2, 10, 15), FlightLeg(3, 7, nil)],
  _ body: (SqliteDatabase) throws -> Void
) throws {
  try withDatabase { db in
    try db.createTable(FlightLeg.self)
    try FlightLeg.insert(legs).run(db)
    try body(db)
  }
}
