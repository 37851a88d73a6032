import Sqlable
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// The examples of Docs/Executors.md.
@Suite struct ExecutorsGuide {
  private func withGarage(_ body: (SqlitePool) async throws -> Void) async throws {
    try await withMembers { pool in
      try await pool.transaction { db in
        try db.createTables(Person.self, Bicycle.self)
        try Person(id: nil, name: "Ann").insert().run(db)
        try Bicycle(name: "Trek", color: "red").insert().run(db)
      }
      try await body(pool)
    }
  }

  @Test func genericCodeRunsEveryStatement() async throws {
    try await withGarage { pool in
      let bike = Bicycle(name: "Giant", color: "red")
      let color = "red"
      func timed<Work: Runnable>(_ work: Work, on db: some AsyncSqlExecutor) async throws -> Work.Output
      where Work.Output: Sendable {
        let start = ContinuousClock.now
        defer { print(work.sql, start.duration(to: .now)) }
        return try await work.run(db)
      }

      let bikes = try await timed(Bicycle.read().filter(Bicycle.color == "red"), on: pool)  // [Bicycle]
      let id = try await timed(bike.insert(), on: pool)  // Int
      #expect(bikes.count == 1)
      #expect(id == 2)

      let names = SQL("SELECT name FROM bicycle WHERE color = \(color)").rows(as: String.self)
      let red = try await timed(names, on: pool)  // [String]
      #expect(red.sorted() == ["Giant", "Trek"])
    }
  }

  struct Garage<Database: SqlDatabase> {
    let db: Database

    func colors() throws -> [String] { try db.query("SELECT DISTINCT color FROM bicycle ORDER BY 1", as: String.self) }

    func counts() throws -> (Int, Int) {
      try db.read { db in (try Bicycle.count().run(db), try Person.count().run(db)) }  // one snapshot
    }

    func sell(_ id: Int, to owner: Int) throws {
      try db.transaction { db in
        guard var bike = try Bicycle.byId(id).run(db) else { return }
        bike.ownerId = owner
        try bike.update(Bicycle.ownerId).run(db)
      }
    }
  }

  @Test func aStoreServesHandlesAndPools() async throws {
    try await withGarage { pool in
      let handle = try SqliteDatabase(filepath: pool.filepath)
      func use(_ garage: Garage<some SqlDatabase>) throws {
        try garage.sell(1, to: 1)
        #expect(try garage.colors() == ["red"])
        #expect(try garage.counts() == (1, 1))
      }
      try use(Garage(db: handle))
      try await onThread { try Garage(db: pool).sell(1, to: 1) }
      let owners = try await Bicycle.read().run(pool).map(\.ownerId)
      #expect(owners == [1])
      try handle.close()
    }
  }

  /// A transport that sends nothing.
  struct Connection: Sendable {
    let db: SqliteDatabase

    func send(_ requests: [SqlRequest]) async throws -> [SqlAnswer] { try db.answers(to: requests) }
  }

  final class Counting: SqlExecutor {
    let db: SqliteDatabase
    let count = Mutex(0)

    init(_ db: SqliteDatabase) { self.db = db }

    func run<Work: Runnable>(_ work: Work, file: StaticString, line: UInt) throws -> Work.Output {
      count.withLock { $0 += 1 }
      return try db.run(work, file: file, line: line)
    }
  }

  @Test func anExecutorIsOneFunction() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      let counting = Counting(db)
      try Bicycle(name: "Trek", color: "red").insert().run(counting)
      let names = try counting.query("SELECT name FROM bicycle", as: String.self)
      let first = try Bicycle.select(Bicycle.name).first(counting)
      #expect(names == ["Trek"])
      #expect(first != nil)
      #expect(counting.count.withLock { $0 } == 3)
    }
  }

  struct Distant: SqlTransport {
    let connection: Connection

    func answers(to requests: [SqlRequest]) async throws -> [SqlAnswer] {
      try await connection.send(requests)  // several requests are one transaction
    }
  }

  @Test func aTransportIsAnExecutor() async throws {
    try await withGarage { pool in
      let handle = try SqliteDatabase(filepath: pool.filepath)
      let distant = Distant(connection: Connection(db: handle))
      let many = ["a", "b"].map { Bicycle(name: $0, color: "blue") }
      let bikes = try await Bicycle.read().run(distant)
      let ids = try await Bicycle.insert(many).run(distant)  // one message
      #expect(bikes.map(\.name) == ["Trek"])
      #expect(ids == [2, 3])
      try handle.close()
    }
  }
}
