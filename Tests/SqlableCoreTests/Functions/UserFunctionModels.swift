import Foundation
import SqlableCodable
import SqlableCore
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlableTestSupport

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

func withSamples(
  _ samples: [Sample] = [
    Sample(id: 1, real: 10, weight: 50), Sample(id: 2, real: 10, weight: 15), Sample(id: 3, real: 7),
  ],
  _ body: (SqliteDatabase) throws -> Void
) throws {
  try withDatabase { db in
    try db.createTable(Sample.self)
    try Sample.insert(samples).run(db)
    try body(db)
  }
}
