import Foundation
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Statements stored in a column, such as saved searches.
@Suite struct StatementColumnTests {
  private struct Search: Sqlable, Equatable {
    static let id = column("id", Int.self, PrimaryKey(autoincrement: true))
    static let query = column("query", Statement<Bicycle, [Bicycle]>.self)
    static let last = column("last", Statement<Bicycle, Int>?.self)
    static let tableLayout = [id.column, query.column, last.column]
    var id: Int?
    var query: Statement<Bicycle, [Bicycle]>
    var last: Statement<Bicycle, Int>?

    init(_ query: Statement<Bicycle, [Bicycle]>, last: Statement<Bicycle, Int>? = nil) {
      (self.query, self.last) = (query, last)
    }
    init(row: ReadRow) throws {
      id = try row.get(Search.id)
      query = try row.get(Search.query)
      last = try row.get(Search.last)
    }
    func write(to row: inout RowWriter) throws {
      row.set(Search.id, id)
      row.set(Search.query, query)
      row.set(Search.last, last)
    }
  }

  @Test func aStatementIsStoredReadAndRun() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self, Search.self)
      try Bicycle.insert(["red", "blue", "red"].enumerated().map { Bicycle(name: "b\($0.offset)", color: $0.element) })
        .run(db)
      let reds = Bicycle.read().filter(Bicycle.color == "red").orderBy(Bicycle.id)
      let id = try Search(reds, last: Bicycle.delete(Bicycle.id == 1)).insert().run(db)
      let search = try #require(try Search.byId(id).run(db))
      #expect(search.query == reds)
      #expect(search.id == id)
      #expect(try search.query.run(db).map(\.id) == [1, 3])
      #expect(try search.last?.run(db) == 1)
      #expect(try search.query.run(db).map(\.id) == [3])
      #expect(try Search.count().filter(Search.last == nil).run(db) == 0)
    }
  }

  @Test func textThatIsNoStatementFailsToDecode() throws {
    try withDatabase { db in
      try db.createTable(Search.self)
      for text in ["", "{}", "null", #"{"read":{"from":"person"},"sqlable":1}"#] {
        try db.execute("INSERT INTO search (query) VALUES (\(text))")
      }
      for id in 1...4 {
        let error = sqlError { _ = try Search.byId(id).run(db) }
        #expect(error?.isDecoding == true, "\(id): \(String(reflecting: error))")
        #expect(error?.column == "query", "\(id): \(String(reflecting: error))")
      }
    }
  }
}
