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
      #expect(try Entry<Gauge>(70, "a").insert().run(db) == 70)
      #expect(try Entry<Gauge>(7, "b").save().run(db) == 7)
      #expect(try Entry<Gauge>(7, "c").save().run(db) == 7)
      #expect(try Entry<Gauge>.insert([Entry<Gauge>(40, "d"), Entry<Gauge>(30, "e")]).run(db) == [40, 30])
      let many = (1_000..<1_600).map { Entry<Gauge>(.integer($0 * 2), "") }
      #expect(try Entry<Gauge>.insert(many).run(db) == Array(stride(from: 2_000, to: 3_200, by: 2)))
      let returned = try Entry<Gauge>(8, "f").insert().returning(Gauge.id.typed(as: Int.self)).run(db)
      #expect(returned == [8])
      #expect(try Entry<Gauge>(8, "g").insert().ignoreOnConflict().run(db) == 0)
      #expect(try Entry<Gauge>.read().filter(Gauge.label == "c").run(db).map { $0.values[0] } == [7])
    }
  }

  @Test(arguments: types) func insertsOverATransportReturnTheKey(_ type: String) async throws {
    let db = try SqliteDatabase.inMemory()
    try db.execute(SQL(verbatim: "CREATE TABLE gauge (id \(type), name TEXT)"))
    let remote = SameProcess(db: db)
    #expect(try await Entry<Gauge>(70, "a").insert().run(remote) == 70)
    #expect(try await Entry<Gauge>.insert([Entry<Gauge>(5, "b"), Entry<Gauge>(3, "c")]).run(remote) == [5, 3])
    #expect(try await Entry<Gauge>(5, "d").save().run(remote) == 5)
  }

  @Test(arguments: types) func anInsertWithoutAKeyThrows(_ type: String) throws {
    try withDatabase { db in
      try db.execute(SQL(verbatim: "CREATE TABLE gauge (id \(type), name TEXT)"))
      for statement in [Entry<Gauge>(nil, "a").insert(), Entry<Gauge>(1, "a").insert(Gauge.label)] {
        let error = expectMisuse { try statement.run(db) }
        #expect(error?.column == "id")
      }
      expectMisuse { try Entry<Gauge>.insert([Entry<Gauge>(nil, "")]).run(db) }
      #expect(try Entry<Gauge>.count().run(db) == 0)
    }
  }

  @Test(arguments: types) func anInsertWithoutAKeyThrowsOverATransport(_ type: String) async throws {
    let db = try SqliteDatabase.inMemory()
    try db.execute(SQL(verbatim: "CREATE TABLE gauge (id \(type), name TEXT)"))
    let remote = SameProcess(db: db)
    for statement in [Entry<Gauge>(nil, "a").insert(), Entry<Gauge>(1, "a").insert(Gauge.label)] {
      let error = await #expect(throws: SqlError.self) { try await statement.run(remote) }
      guard case .misuse = error?.kind else { throw try #require(error) }
      #expect(error?.table == "gauge")
      #expect(error?.column == "id")
    }
    let batch = Entry<Gauge>.insert([Entry<Gauge>(1, ""), Entry<Gauge>(nil, "")])
    await #expect(throws: SqlError.self) { try await batch.run(remote) }
    #expect(try Entry<Gauge>.count().run(db) == 0)
    // The table assigns an omitted rowid, and applies a default.
    try db.execute("DROP TABLE gauge; CREATE TABLE gauge (id INTEGER PRIMARY KEY, name TEXT)")
    #expect(try await Entry<Gauge>(nil, "a").insert().run(remote) == 1)
    try db.execute("DROP TABLE gauge; CREATE TABLE gauge (id INT PRIMARY KEY DEFAULT (40 + 2), name TEXT)")
    try await Entry<Gauge>(nil, "a").insert().run(remote)
    #expect(try Entry<Gauge>.read().run(db).map { $0.values[0] } == [42])
  }

  @Test func onlyInsertsWithoutAKeyEncodeTheOmittedKey() throws {
    let encoder = JSONEncoder()
    func text(_ work: some Runnable) throws -> String {
      try String(decoding: encoder.encode(work.requests()), as: UTF8.self)
    }
    #expect(try text(Entry<Gauge>(nil, "a").insert()).contains("omittedKey"))
    #expect(try !text(Entry<Gauge>(1, "a").insert()).contains("omittedKey"))
    #expect(try !text(Entry<Gauge>.read()).contains("omittedKey"))
    let old = #"{"sql":"SELECT 1","values":[],"isReadOnly":true}"#
    let request = try JSONDecoder().decode(SqlRequest.self, from: Data(old.utf8))
    #expect(request == SqlRequest(sql: "SELECT 1", values: [], isReadOnly: true))
  }

  @Test func insertsReturnTheDescendingKeyOfAModel() throws {
    try withDatabase { db in
      try db.createTable(Entry<Falling>.self)
      #expect(try Entry<Falling>(70, "a").insert().run(db) == 70)
      #expect(try Entry<Falling>(70, "b").save().run(db) == 70)
      #expect(try Entry<Falling>.insert([Entry<Falling>(2, "c"), Entry<Falling>(1, "d")]).run(db) == [2, 1])
      let error = expectMisuse { try Entry<Falling>(nil, "e").insert().run(db) }
      #expect(error?.column == "id")
    }
  }

  @Test func insertsReturnAKeyFromItsDefault() throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE gauge (id INT PRIMARY KEY DEFAULT (40 + 2), name TEXT)")
      #expect(try Entry<Gauge>(nil, "a").insert().run(db) == 42)
      try db.execute("CREATE TABLE falling (id INTEGER PRIMARY KEY DESC DEFAULT (40 + 2), name TEXT UNIQUE)")
      #expect(try Entry<Falling>(nil, "a").insert().run(db) == 42)
    }
  }

  @Test func aFullTextIndexRefusesADescendingKey() throws {
    try withDatabase { db in
      let error = expectMisuse { try db.createTable(Entry<FallingText>.self) }
      #expect(error?.message.contains("its key id is descending") == true)
    }
  }

  @Test func aKeyThatIsNotTheRowidIsADifference() throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE gauge_text (id INT PRIMARY KEY, name TEXT NOT NULL)")
      let error = sqlError { try db.createTable(Entry<GaugeText>.self) }
      let message = """
        createTable can't bring existing tables up to date: gauge_text.id: the type is INT, and should be INTEGER; \
        change the tables with a plan or a migration
        """
      #expect(error?.message == message)
    }
  }
}

private enum Gauge: TableDeclaration {
  static let name = "gauge"
  static let (id, label) = (Column("id", .integer, PrimaryKey()), Column("name", .text))
  static let columns = [id, label]
}

private enum Falling: TableDeclaration {
  static let name = "falling"
  static let columns = [Column("id", .integer, PrimaryKey(descending: true)), Column("name", .text, Unique())]
}

private enum GaugeText: TableDeclaration {
  static let name = "gauge_text"
  static let label = Column("name", .text)
  static let columns = [Column("id", .integer, PrimaryKey()), label]
  static let fullText = FullTextIndex(label)
}

private enum FallingText: TableDeclaration {
  static let name = "falling_text"
  static let label = Column("name", .text)
  static let columns = [Column("id", .integer, PrimaryKey(descending: true)), label]
  static let fullText = FullTextIndex(label)
}
