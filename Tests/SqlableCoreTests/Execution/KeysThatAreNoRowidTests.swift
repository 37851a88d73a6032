import Foundation
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Tables whose integer key is not the rowid: `INTEGER PRIMARY KEY DESC`, `INT`, `BIGINT`.
@Suite struct KeysThatAreNoRowidTests {
  private static let types = ["INTEGER PRIMARY KEY DESC", "INT PRIMARY KEY", "BIGINT PRIMARY KEY"]

  @Test(arguments: types) func insertsReturnTheKey(_ type: String) throws {
    try withDatabase { db in
      try db.execute(SQL(verbatim: "CREATE TABLE gauge (id \(type), name TEXT)"))
      #expect(try Gauge(id: 70, name: "a").insert().run(db) == 70)
      #expect(try Gauge(id: 7, name: "b").save().run(db) == 7)
      #expect(try Gauge(id: 7, name: "c").save().run(db) == 7)
      #expect(try Gauge.insert([Gauge(id: 40, name: "d"), Gauge(id: 30, name: "e")]).run(db) == [40, 30])
      let many = (1_000..<1_600).map { Gauge(id: $0 * 2, name: "") }
      #expect(try Gauge.insert(many).run(db) == Array(stride(from: 2_000, to: 3_200, by: 2)))
      let returned = try Gauge(id: 8, name: "f").insert().returning(Gauge.id).run(db)
      #expect(returned == [8])
      #expect(try Gauge(id: 8, name: "g").insert().ignoreOnConflict().run(db) == 0)
      #expect(try Gauge.read().filter(Gauge.name == "c").run(db).map(\.id) == [7])
    }
  }

  @Test(arguments: types) func insertsOverATransportReturnTheKey(_ type: String) async throws {
    let db = try SqliteDatabase.inMemory()
    try db.execute(SQL(verbatim: "CREATE TABLE gauge (id \(type), name TEXT)"))
    let remote = SameProcess(db: db)
    #expect(try await Gauge(id: 70, name: "a").insert().run(remote) == 70)
    #expect(try await Gauge.insert([Gauge(id: 5, name: "b"), Gauge(id: 3, name: "c")]).run(remote) == [5, 3])
    #expect(try await Gauge(id: 5, name: "d").save().run(remote) == 5)
  }

  @Test(arguments: types) func anInsertWithoutAKeyThrows(_ type: String) throws {
    try withDatabase { db in
      try db.execute(SQL(verbatim: "CREATE TABLE gauge (id \(type), name TEXT)"))
      for statement in [Gauge(id: nil, name: "a").insert(), Gauge(id: 1, name: "a").insert(Gauge.name)] {
        let error = expectMisuse { try statement.run(db) }
        #expect(error?.column == "id")
      }
      expectMisuse { try Gauge.insert([Gauge(id: nil, name: "")]).run(db) }
      #expect(try Gauge.count().run(db) == 0)
    }
  }

  @Test(arguments: types) func anInsertWithoutAKeyThrowsOverATransport(_ type: String) async throws {
    let db = try SqliteDatabase.inMemory()
    try db.execute(SQL(verbatim: "CREATE TABLE gauge (id \(type), name TEXT)"))
    let remote = SameProcess(db: db)
    for statement in [Gauge(id: nil, name: "a").insert(), Gauge(id: 1, name: "a").insert(Gauge.name)] {
      let error = await #expect(throws: SqlError.self) { try await statement.run(remote) }
      guard case .misuse = error?.kind else { throw try #require(error) }
      #expect(error?.table == "gauge")
      #expect(error?.column == "id")
    }
    let batch = Gauge.insert([Gauge(id: 1, name: ""), Gauge(id: nil, name: "")])
    await #expect(throws: SqlError.self) { try await batch.run(remote) }
    #expect(try Gauge.count().run(db) == 0)
    // The table assigns an omitted rowid, and applies a default.
    try db.execute("DROP TABLE gauge; CREATE TABLE gauge (id INTEGER PRIMARY KEY, name TEXT)")
    #expect(try await Gauge(id: nil, name: "a").insert().run(remote) == 1)
    try db.execute("DROP TABLE gauge; CREATE TABLE gauge (id INT PRIMARY KEY DEFAULT (40 + 2), name TEXT)")
    try await Gauge(id: nil, name: "a").insert().run(remote)
    #expect(try Gauge.read().run(db).map(\.id) == [42])
  }

  @Test func onlyInsertsWithoutAKeyEncodeTheOmittedKey() throws {
    let encoder = JSONEncoder()
    func text(_ work: some Runnable) throws -> String {
      try String(decoding: encoder.encode(work.requests()), as: UTF8.self)
    }
    #expect(try text(Gauge(id: nil, name: "a").insert()).contains("omittedKey"))
    #expect(try !text(Gauge(id: 1, name: "a").insert()).contains("omittedKey"))
    #expect(try !text(Gauge.read()).contains("omittedKey"))
    let old = #"{"sql":"SELECT 1","values":[],"isReadOnly":true}"#
    let request = try JSONDecoder().decode(SqlRequest.self, from: Data(old.utf8))
    #expect(request == SqlRequest(sql: "SELECT 1", values: [], isReadOnly: true))
  }

  @Test func insertsReturnTheDescendingKeyOfAModel() throws {
    try withDatabase { db in
      try db.createTable(Falling.self)
      #expect(try Falling(id: 70, name: "a").insert().run(db) == 70)
      #expect(try Falling(id: 70, name: "b").save().run(db) == 70)
      #expect(try Falling.insert([Falling(id: 2, name: "c"), Falling(id: 1, name: "d")]).run(db) == [2, 1])
      let error = expectMisuse { try Falling(id: nil, name: "e").insert().run(db) }
      #expect(error?.column == "id")
    }
  }

  @Test func insertsReturnAKeyFromItsDefault() throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE gauge (id INT PRIMARY KEY DEFAULT (40 + 2), name TEXT)")
      #expect(try Gauge(id: nil, name: "a").insert().run(db) == 42)
      try db.execute("CREATE TABLE falling (id INTEGER PRIMARY KEY DESC DEFAULT (40 + 2), name TEXT UNIQUE)")
      #expect(try Falling(id: nil, name: "a").insert().run(db) == 42)
    }
  }

  @Test func aFullTextIndexRefusesADescendingKey() throws {
    try withDatabase { db in
      let error = expectMisuse { try db.createTable(FallingText.self) }
      #expect(error?.message.contains("its key id is descending") == true)
    }
  }

  @Test func aKeyThatIsNotTheRowidIsADifference() throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE gauge_text (id INT PRIMARY KEY, name TEXT NOT NULL)")
      let error = sqlError { try db.createTable(GaugeText.self) }
      let message = """
        createTable can't bring existing tables up to date: gauge_text.id: the type is INT, and should be INTEGER; \
        change the tables with a plan or a migration
        """
      #expect(error?.message == message)
    }
  }
}

private struct Gauge: Sqlable {
  var id: Int?
  var name: String

  static let tableName = "gauge"
  static let id = column("id", Int.self, PrimaryKey())
  static let name = column("name", String.self)
  static let tableLayout = [id.column, name.column]

  init(id: Int?, name: String) { (self.id, self.name) = (id, name) }
  init(row: ReadRow) throws { (id, name) = (try row.get(Gauge.id), try row.get(Gauge.name)) }

  func write(to row: inout RowWriter) throws {
    row.set(Gauge.id, id)
    row.set(Gauge.name, name)
  }
}

private struct Falling: Sqlable {
  var id: Int?
  var name: String

  static let tableName = "falling"
  static let id = column("id", Int.self, PrimaryKey(descending: true))
  static let name = column("name", String.self, Unique())
  static let tableLayout = [id.column, name.column]

  init(id: Int?, name: String) { (self.id, self.name) = (id, name) }
  init(row: ReadRow) throws { (id, name) = (try row.get(Falling.id), try row.get(Falling.name)) }

  func write(to row: inout RowWriter) throws {
    row.set(Falling.id, id)
    row.set(Falling.name, name)
  }
}

private struct GaugeText: Sqlable {
  var name: String

  static let tableName = "gauge_text"
  static let id = Column("id", .integer, PrimaryKey())
  static let name = column("name", String.self)
  static let tableLayout = [id, name.column]
  static let tableFullText = FullTextIndex(name)

  init(row: ReadRow) throws { name = try row.get(GaugeText.name) }
  func write(to row: inout RowWriter) throws { row.set(GaugeText.name, name) }
}

private struct FallingText: Sqlable {
  var name: String

  static let tableName = "falling_text"
  static let id = Column("id", .integer, PrimaryKey(descending: true))
  static let name = column("name", String.self)
  static let tableLayout = [id, name.column]
  static let tableFullText = FullTextIndex(name)

  init(row: ReadRow) throws { name = try row.get(FallingText.name) }
  func write(to row: inout RowWriter) throws { row.set(FallingText.name, name) }
}
