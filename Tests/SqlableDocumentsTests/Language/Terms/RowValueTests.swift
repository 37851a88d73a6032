import Foundation
import SqlableCore
import SqlableDocuments
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Row values, compared with plain Swift.
@Suite struct RowValueTests {
  private static let pairs = (0..<27).map { index in
    Pair3(
      id: index, first: index % 3, second: index / 3 % 3 == 0 ? nil : ["a", "b"][index / 3 % 3 - 1],
      date: Date(timeIntervalSince1970: Double(index / 9)))
  }

  private func withPairs(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.createTable(Pair3.self)
      try Pair3.insert(Self.pairs).run(db)
      try body(db)
    }
  }

  private func ids(_ condition: SqlExpression, _ db: SqliteDatabase) throws -> [Int] {
    let read = Pair3.read().filter(condition).orderBy(Pair3.id)
    let decoded = try JSONDecoder().decode(Statement<Pair3, [Pair3]>.self, from: JSONEncoder().encode(read))
    #expect(decoded.sql == read.sql)
    #expect(decoded.bindings == read.bindings)
    return try read.run(db).map(\.id)
  }

  @Test func theFirstDifferingTermDecidesAComparison() throws {
    try withPairs { db throws in
      let row = rowValue(Pair3.first, Pair3.date)
      for (first, second) in [(0, 0.0), (1, 1), (2, 2), (1, 0), (5, 5)] {
        let date = Date(timeIntervalSince1970: second)
        func expected(_ compare: ((Int, Double), (Int, Double)) -> Bool) -> [Int] {
          Self.pairs.filter { compare(($0.first, $0.date.timeIntervalSince1970), (first, second)) }.map(\.id)
        }
        #expect(try ids(row < (first, date), db) == expected(<))
        #expect(try ids(row <= (first, date), db) == expected(<=))
        #expect(try ids(row > (first, date), db) == expected(>))
        #expect(try ids(row >= (first, date), db) == expected(>=))
        #expect(try ids(row == (first, date), db) == expected(==))
        #expect(try ids(row != (first, date), db) == expected(!=))
      }
      #expect(try ids(row == row, db) == Self.pairs.map(\.id))
      #expect(try ids(row != row, db) == [])
      #expect(try ids(row < rowValue(Pair3.first + 1, Pair3.date), db) == Self.pairs.map(\.id))
      // A comparison with NULL is NULL, unless an earlier term decides.
      let withNull = rowValue(Pair3.first, Pair3.second)
      let less = Self.pairs.filter { $0.first == 0 || ($0.first == 1 && $0.second == "a") }
      #expect(try ids(withNull < (1, "b"), db) == less.map(\.id))
      #expect(try ids(withNull == (1, nil), db) == [])
    }
  }

  @Test func rowValuesAreFoundInListsAndQueries() throws {
    try withPairs { db throws in
      let row = rowValue(Pair3.first, Pair3.second)
      let found = Self.pairs.filter { ($0.first == 1 && $0.second == "a") || ($0.first == 2 && $0.second == "b") }
      #expect(try ids(row.in([(1, "a"), (2, "b")]), db) == found.map(\.id))
      #expect(try ids(row.in([]), db) == [])
      #expect(try ids(row.notIn([]), db) == Self.pairs.map(\.id))
      let query = Pair3.select(Pair3.first, Pair3.second).filter(Pair3.id < 9 && Pair3.first == 1)
      #expect(try ids(row.in(query), db) == Self.pairs.filter { $0.first == 1 && $0.second != nil }.map(\.id))
      let outside = try ids(row.notIn(query.filter(Pair3.second != nil)), db)
      #expect(outside == Self.pairs.filter { $0.first != 1 }.map(\.id))
    }
  }

  @Test func documentsCompareRowValuesOnlyWithRowValues() throws {
    let rules = StatementRules(models: [Pair3.self])
    func message(_ condition: String) -> String? {
      let json = Data(#"{"read":{"from":"pair3","where":\#(condition)},"sqlable":1}"#.utf8)
      return sqlError { _ = try Statement<Pair3, [Pair3]>(json: json, rules: rules) }?.message
    }
    let row = #"{"row":[{"column":"first"},{"column":"id"}]}"#
    #expect(message(#"{"<":[\#(row),{"row":[1,2]}]}"#) == nil)
    for refused in [
      row, #"{"not":\#(row)}"#, #"{"<":[\#(row),3]}"#, #"{"<":[3,\#(row)]}"#, #"{"<":[\#(row),{"row":[1,2,3]}]}"#,
      #"{"+":[\#(row),\#(row)]}"#, #"{"in":[\#(row),[1,2]]}"#, #"{"<":[{"row":[{"column":"id"}]},{"row":[1]}]}"#,
      #"{"<":[\#(row),{"row":["x",2]}]}"#, #"{"between":[\#(row),\#(row),\#(row)]}"#,
      #"{"<":[{"row":[\#(row),1]},{"row":[1,2]}]}"#,
    ] { #expect(message(refused) != nil, "\(refused)") }
    let policy = StatementPolicy(.table(Pair3.self).reading(Pair3.id).filtering(Pair3.first, by: .comparison))
    let compared = Pair3.select(Pair3.id).filter(rowValue(Pair3.first, Pair3.id) < (1, 2))
    #expect(throws: SqlError.self) { _ = try policy.statement(json: compared.json()) }
  }
}

private struct Pair3: Sqlable, Equatable {
  var id: Int
  var first: Int
  var second: String?
  var date: Date

  static let id = column("id", Int.self, PrimaryKey())
  static let first = column("first", Int.self)
  static let second = column("second", String?.self)
  static let date = column("date", Date.self, as: .date(.unixMilliseconds))
  static let tableLayout = [id.column, first.column, second.column, date.column]

  init(id: Int, first: Int, second: String?, date: Date) {
    (self.id, self.first, self.second, self.date) = (id, first, second, date)
  }

  init(row: ReadRow) throws {
    id = try row.get(Pair3.id)
    first = try row.get(Pair3.first)
    second = try row.get(Pair3.second)
    date = try row.get(Pair3.date)
  }

  func write(to row: inout RowWriter) throws {
    row.set(Pair3.id, id)
    row.set(Pair3.first, first)
    row.set(Pair3.second, second)
    row.set(Pair3.date, date)
  }
}
