import Foundation
import SqlableCore
import SqlableDocuments
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Row values, compared with plain Swift.
@Suite struct RowValueTests {
  private static func day(_ seconds: Int) -> Date { Date(timeIntervalSince1970: Double(seconds)) }

  private static let pairs = (0..<27).map { index in
    Sample(
      id: index, text: index / 3 % 3 == 0 ? nil : ["a", "b"][index / 3 % 3 - 1], number: index % 3,
      day: day(index / 9))
  }

  private func withPairs(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.createTable(Sample.self)
      try Sample.insert(Self.pairs).run(db)
      try body(db)
    }
  }

  private func ids(_ condition: SqlExpression, _ db: SqliteDatabase) throws -> [Int] {
    let read = Sample.read().filter(condition).orderBy(Sample.id)
    let decoded = try JSONDecoder().decode(Statement<Sample, [Sample]>.self, from: JSONEncoder().encode(read))
    #expect(decoded.sql == read.sql)
    #expect(decoded.bindings == read.bindings)
    return try read.run(db).map(\.id)
  }

  @Test func theFirstDifferingTermDecidesAComparison() throws {
    try withPairs { db throws in
      let row = rowValue(Sample.number, Sample.day)
      for (number, day) in [(0, 0), (1, 1), (2, 2), (1, 0), (5, 5)].map({ ($0, Self.day($1)) }) {
        func expected(_ compare: ((Int, Date), (Int, Date)) -> Bool) -> [Int] {
          Self.pairs.filter { compare(($0.number, $0.day ?? .distantPast), (number, day)) }.map(\.id)
        }
        #expect(try ids(row < (number, day), db) == expected(<))
        #expect(try ids(row <= (number, day), db) == expected(<=))
        #expect(try ids(row > (number, day), db) == expected(>))
        #expect(try ids(row >= (number, day), db) == expected(>=))
        #expect(try ids(row == (number, day), db) == expected(==))
        #expect(try ids(row != (number, day), db) == expected(!=))
      }
      #expect(try ids(row == row, db) == Self.pairs.map(\.id))
      #expect(try ids(row != row, db) == [])
      #expect(try ids(row < rowValue(Sample.number + 1, Sample.day), db) == Self.pairs.map(\.id))
      // A comparison with NULL is NULL, unless an earlier term decides.
      let withNull = rowValue(Sample.number, Sample.text)
      let less = Self.pairs.filter { $0.number == 0 || ($0.number == 1 && $0.text == "a") }
      #expect(try ids(withNull < (1, "b"), db) == less.map(\.id))
      #expect(try ids(withNull == (1, nil), db) == [])
    }
  }

  @Test func rowValuesAreFoundInListsAndQueries() throws {
    try withPairs { db throws in
      let row = rowValue(Sample.number, Sample.text)
      let found = Self.pairs.filter { ($0.number == 1 && $0.text == "a") || ($0.number == 2 && $0.text == "b") }
      #expect(try ids(row.in([(1, "a"), (2, "b")]), db) == found.map(\.id))
      #expect(try ids(row.in([]), db) == [])
      #expect(try ids(row.notIn([]), db) == Self.pairs.map(\.id))
      let query = Sample.select(Sample.number, Sample.text).filter(Sample.id < 9 && Sample.number == 1)
      #expect(try ids(row.in(query), db) == Self.pairs.filter { $0.number == 1 && $0.text != nil }.map(\.id))
      let outside = try ids(row.notIn(query.filter(Sample.text != nil)), db)
      #expect(outside == Self.pairs.filter { $0.number != 1 }.map(\.id))
    }
  }

  @Test func documentsCompareRowValuesOnlyWithRowValues() throws {
    let rules = StatementRules(models: [Sample.self])
    func message(_ condition: String) -> String? {
      let json = Data(#"{"read":{"from":"sample","where":\#(condition)},"sqlable":1}"#.utf8)
      return sqlError { _ = try Statement<Sample, [Sample]>(json: json, rules: rules) }?.message
    }
    let row = #"{"row":[{"column":"number"},{"column":"id"}]}"#
    #expect(message(#"{"<":[\#(row),{"row":[1,2]}]}"#) == nil)
    for refused in [
      row, #"{"not":\#(row)}"#, #"{"<":[\#(row),3]}"#, #"{"<":[3,\#(row)]}"#, #"{"<":[\#(row),{"row":[1,2,3]}]}"#,
      #"{"+":[\#(row),\#(row)]}"#, #"{"in":[\#(row),[1,2]]}"#, #"{"<":[{"row":[{"column":"id"}]},{"row":[1]}]}"#,
      #"{"<":[\#(row),{"row":["x",2]}]}"#, #"{"between":[\#(row),\#(row),\#(row)]}"#,
      #"{"<":[{"row":[\#(row),1]},{"row":[1,2]}]}"#,
    ] { #expect(message(refused) != nil, "\(refused)") }
  }
}
