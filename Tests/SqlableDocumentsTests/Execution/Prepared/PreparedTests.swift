import Foundation
import SqlableCore
import SqlableDocuments
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// A value whose code uses the handle while it is bound.
private struct Busy: SqlValue {
  static let columnType = ColumnType.text
  let name: String
  let action: @Sendable () throws -> Void

  init(_ name: String, _ action: @escaping @Sendable () throws -> Void = {}) {
    (self.name, self.action) = (name, action)
  }

  init(databaseValue: DatabaseValue) throws { self.init(try String(databaseValue: databaseValue)) }

  var databaseValue: DatabaseValue {
    get throws {
      try action()
      return .text(name)
    }
  }
}

@Suite struct PreparedTests {
  private let colors = ["red", "blue", "red", "green"]

  private func withBicycles(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      try Bicycle.insert(colors.enumerated().map { Bicycle(name: "bike \($0)", color: $1) }).run(db)
      try body(db)
    }
  }

  @Test func aPreparedReadRunsWithManyValues() throws {
    try withBicycles { db in
      let byColor = try db.prepare(
        Bicycle.read().filter(Bicycle.color == Parameter("color") && Bicycle.id > 0).orderBy(Bicycle.id))
      #expect(
        byColor.sql
          == #"SELECT "id", "name", "color", "owner_id" FROM "bicycle" WHERE "color" = ? AND "id" > ? ORDER BY "id""#)
      #expect(byColor.parameterNames == ["color"])
      for color in ["red", "blue", "none", "red", "it's"] {
        let expected = try Bicycle.read().filter(Bicycle.color == color).run(db)
        #expect(try byColor.run(["color": color]) == expected)
        #expect(try byColor.run(color) == expected)
      }
      var names: [String] = []
      try byColor.forEach(["color": "red"]) { bike in
        names.append(bike.name)
        return .continue
      }
      #expect(names == ["bike 0", "bike 2"])
      // No comparison with NULL is true.
      #expect(try byColor.run(nil as String?).isEmpty)
      #expect(try byColor.run(["color": Null()]).isEmpty)
    }
  }

  @Test func everyStatementWithoutStructsCanBePrepared() throws {
    try withBicycles { db in
      let first = try db.prepare(Bicycle.read().filter(Bicycle.id == Parameter("id")).first())
      #expect(try first.run(2)?.name == "bike 1")
      #expect(try first.run(9) == nil)
      #expect(try first.run(["id": 3])?.color == "red")
      let count = try db.prepare(Bicycle.count().filter(Bicycle.color == Parameter("color")))
      #expect(try count.run("red") == 2)
      #expect(try count.run(["color": "green"]) == 1)
      let exists = try db.prepare(Bicycle.exists().filter(Bicycle.color == Parameter("color")))
      #expect(try exists.run("red"))
      #expect(try !exists.run(["color": "pink"]))
      let paint = try db.prepare(
        Bicycle.update(Bicycle.color.set(to: Parameter("to"))).filter(Bicycle.color == Parameter("from")))
      #expect(paint.parameterNames == ["to", "from"])
      #expect(try paint.run(["from": "red", "to": "black"]) == 2)
      #expect(try paint.run("white", "black") == 2)
      let delete = try db.prepare(Bicycle.delete(Bicycle.color == Parameter("color")))
      #expect(try delete.run("white") == 2)
      #expect(try delete.run("white") == 0)
      #expect(try Bicycle.read().orderBy(Bicycle.id).run(db).map(\.color) == ["blue", "green"])
    }
  }

  @Test func aParameterTakesTheTypeOfItsColumn() throws {
    try withDatabase { db in
      try db.createTable(Car.self)
      let cars = (0..<5).map {
        Car(
          id: $0 + 1, name: "car", price: Double($0), isElectric: $0 % 2 == 0,
          soldAt: Date(timeIntervalSince1970: Double($0)))
      }
      try Car.insert(cars).run(db)
      let between = try db.prepare(
        Car.read().filter(Car.price >= Parameter("low") && Parameter("high") >= Car.price).orderBy(Car.id))
      #expect(try between.run(1.0, 3.0) == Array(cars[1...3]))
      #expect(try between.run(["high": 1.0, "low": 0.0]) == Array(cars[0...1]))
      // Integers are numbers too.
      #expect(try between.run(1, 1) == [cars[1]])
      let sold = try db.prepare(Car.read().filter(Car.soldAt > Parameter("at") && Car.isElectric == Parameter("on")))
      #expect(try sold.run(Date(timeIntervalSince1970: 2), true) == [cars[4]])
      let error = sqlError { _ = try between.run("cheap", 1.0) }
      #expect(error?.column == "price")
      #expect(error?.message == "column price takes REAL, but was given TEXT")
      #expect(try between.run(4, 9) == [cars[4]])
    }
  }

  /// A parameter that is compared with columns of different forms takes the form of each column.
  @Test func aValueIsConvertedForEachColumnOfItsParameter() throws {
    try withDatabase { db in
      try db.createTable(Stay.self)
      let second = Date(timeIntervalSince1970: 100)
      try Stay.insert([Stay(id: 1, at: second), Stay(id: 2, at: second.addingTimeInterval(1))]).run(db)
      let after = try db.prepare(Stay.read().filter(Stay.seconds > Parameter("at")))
      for seconds in [99.5, 100, 100.5, 101] {
        let at = Date(timeIntervalSince1970: seconds)
        #expect(try after.run(at) == Stay.read().filter(Stay.seconds > at).run(db))
      }
      let move = try db.prepare(
        Stay.update(Stay.seconds.set(to: Parameter("at"))).filter(Stay.seconds < Parameter("at")))
      #expect(try move.run(Date(timeIntervalSince1970: 101)) == 1)
      let error = sqlError { try move.run(Date(timeIntervalSince1970: 101.5)) }
      #expect(error?.column == "seconds")
      let stored = try Stay.select(Stay.seconds).run(db)
      #expect(stored.map(\.timeIntervalSince1970) == [101, 101])
    }
  }

  @Test func wrongValuesAreRefusedAndNothingRuns() throws {
    try withBicycles { db in
      let delete = try db.prepare(
        Bicycle.delete(Bicycle.color == Parameter("color") && Bicycle.id == Parameter("id")))
      let wrong: [(String, () throws -> Void)] = [
        ("has 2 parameters, but was given 1 values", { try delete.run("red") }),
        ("has 2 parameters, but was given 3 values", { try delete.run("red", 1, 1) }),
        ("has 2 parameters, but was given 0 values", { try delete.run() }),
        ("parameter id has no value", { try delete.run(["color": "red"]) }),
        ("has no parameter colour", { try delete.run(["colour": "red", "id": 1]) }),
        ("parameter id has two values", { try delete.run(["color": "red", "id": 1, "id": 2]) }),
      ]
      for (message, run) in wrong {
        let error = expectMisuse { try run() }
        #expect(error?.message.contains(message) == true, "\(String(describing: error))")
      }
      let mismatch = sqlError { try delete.run("red", "secret") }
      #expect(mismatch?.message == "column id takes INTEGER, but was given TEXT")
      let noNumber = sqlError { try delete.run("red", Double.nan) }
      #expect(
        noNumber?.message == "column id takes REAL, but was given NaN, which SQLite can't store",
        "\(String(describing: noNumber))")
      #expect(try Bicycle.count().run(db) == 4)
      let unprepared = Bicycle.delete(Bicycle.color == Parameter("color"))
      #expect(unprepared.sql == #"DELETE FROM "bicycle" WHERE "color" = ?"#)
      let error = expectMisuse { try unprepared.run(db) }
      #expect(
        error?.message
          == "parameter color has no value; use binding(_:), or prepare the statement")
      let aboutStruct = sqlError { _ = try db.prepare(Bicycle(name: "x", color: "y").insert()) }
      #expect(aboutStruct?.message.hasPrefix("a statement that takes structs can't be prepared") == true)
      #expect(try Bicycle.count().run(db) == 4)
      let foreign = sqlError { _ = try db.prepare(Bicycle.read().filter(Person.name == Parameter("x"))) }
      #expect(foreign?.kind == .schema(.missingColumn("name")))
    }
  }

  @Test func constantsStayBoundBetweenRuns() throws {
    try withBicycles { db in
      let ids = Array(1...100)
      let fixed = try db.prepare(
        Bicycle.read().filter(
          Bicycle.id ∈ ids && Bicycle.color == String("red") && Bicycle.name.like("bike%")
            && Bicycle.id > Parameter("id")
        ).limit(3))
      for _ in 0..<3 {
        #expect(try fixed.run(1).map(\.id) == [3])
        _ = try Bicycle.read().filter(Bicycle.name == String(repeating: "other", count: 100)).run(db)
        #expect(try fixed.run(0).map(\.id) == [1, 3])
      }
      try db.releaseMemory()
      #expect(try fixed.run(0).map(\.id) == [1, 3])
    }
  }

  @Test func aPreparedStatementMayRunInsideItsOwnLoop() throws {
    try withBicycles { db in
      let above = try db.prepare(Bicycle.read().filter(Bicycle.id > Parameter("id")).orderBy(Bicycle.id))
      var pairs: [[Int?]] = []
      try above.forEach(["id": 2]) { outer in
        try above.forEach(["id": outer.id]) { inner in
          pairs.append([outer.id, inner.id])
          return .continue
        }
        #expect(try above.run(0).count == 4)
        try db.releaseMemory()
        return .continue
      }
      #expect(pairs == [[3, 4]])
      #expect(try above.run(3).count == 1)
    }
  }

  @Test func writesDuringBindingAreSeparateFromTheStatement() throws {
    try withBicycles { db in
      try db.execute("CREATE UNIQUE INDEX own ON bicycle (name)")
      // The closure below runs on this thread.
      nonisolated(unsafe) let rename = try db.prepare(
        Bicycle.update(Bicycle.name.set(to: Parameter("name"))).filter(Bicycle.id == Parameter("id")))
      let seen = Mutex<[String]>([])
      func take() -> [String] {
        seen.withLock { seen in
          defer { seen = [] }
          return seen
        }
      }
      func inserting(_ id: Int, _ name: String) -> Busy {
        Busy(name) { try Bicycle(id: id, name: "inner \(id)", color: "red").insert().run(db) }
      }
      // The first observer is added while the value is bound.
      let first = Busy("bike 1") {
        db.observe(on: Bicycle.self) { row in seen.withLock { $0.append("\(row.change) \(row.id)") } }
        try Bicycle(id: 10, name: "inner", color: "red").insert().run(db)
      }
      expectError(.constraint(.unique)) { try rename.run(first, 1) }
      #expect(take() == ["insert 10"])
      expectError(.constraint(.unique)) { try rename.run(inserting(11, "bike 1"), 1) }
      #expect(take() == ["insert 11"])
      try db.transaction { db in
        expectError(.constraint(.unique)) { try rename.run(inserting(12, "bike 1"), 1) }
        let changed = try rename.run(inserting(13, "other"), 1)
        #expect(changed == 1)
      }
      #expect(take() == ["insert 12", "insert 13", "update 1"])
      #expect(try Bicycle.count().run(db) == 8)
      // The same statement and others run while it is bound.
      let nested = Busy("bike 1 again") {
        #expect(try rename.run("bike 2 again", 3) == 1)
        try db.releaseMemory()
        #expect(try Bicycle.read().filter(Bicycle.name == "bike 2 again").run(db).map(\.id) == [3])
      }
      #expect(try rename.run(nested, 2) == 1)
      #expect(take() == ["update 3", "update 2"])
    }
  }

  /// A dictionary is also a value, stored as JSON. Compared with a text column, it would find nothing and throw no
  /// error.
  @Test func aDictionaryVariableInPlaceOfNamedValuesIsMisuse() throws {
    try withBicycles { db in
      let byColor = try db.prepare(Bicycle.read().filter(Bicycle.color == Parameter("color")))
      let (names, other) = (["color": "red"], ["of": "none of them"])
      let error = expectMisuse { _ = try byColor.run(names) }
      #expect(
        error?.message
          == "a dictionary variable binds as one JSON value; pass the values as a dictionary literal")
      #expect(try byColor.run(other) == [])
      try Bicycle(name: "json", color: #"{"color":"red"}"#).insert().run(db)
      #expect(try byColor.run(["color": names]).map(\.name) == ["json"])
    }
  }

  @Test func preparedStatementsFollowSchemaObserversAndClose() throws {
    try withBicycles { db in
      let read = try db.prepare(Bicycle.read().filter(Bicycle.id == Parameter("id")))
      let delete = try db.prepare(Bicycle.deleteAll())
      try db.execute("ALTER TABLE bicycle ADD COLUMN extra")
      #expect(try read.run(2).map(\.name) == ["bike 1"])
      // Without observers, DELETE clears the table and reports no rows. The statement was compiled before the observer
      // came.
      let seen = Mutex<[Int]>([])
      db.observe(.delete, on: Bicycle.self) { id in seen.withLock { $0.append(id) } }
      #expect(try delete.run() == 4)
      #expect(seen.withLock { $0 } == [1, 2, 3, 4])
      try db.execute("ALTER TABLE bicycle RENAME COLUMN name TO title")
      #expect(sqlError { _ = try read.run(2) }?.kind == .schema(.missingColumn("name")))
      try db.close()
      #expect(sqlError { _ = try read.run(2) }?.kind == .closed)
    }
  }

  /// A statement that is left on a row pins the WAL, and a checkpoint is busy.
  @Test func aPreparedStatementIsResetAfterEveryEnd() throws {
    struct Stop: Error {}
    try withBicycles { db in
      let read = try db.prepare(Bicycle.read().filter(Bicycle.id > Parameter("id")))
      let first = try db.prepare(Bicycle.read().filter(Bicycle.id > Parameter("id")).first())
      let other = try db.createChild()
      let ends: [() throws -> Void] = [
        { try read.forEach(["id": 0]) { _ in .stop } },
        { try read.forEach(["id": 0]) { _ in throw Stop() } },
        { _ = try first.run(0) },
        { _ = try read.run("wrong") },
        { _ = try read.run() },
      ]
      for end in ends {
        try? end()
        try Person(id: nil, name: "more").insert().run(other)
        #expect(try other.query("PRAGMA wal_checkpoint(TRUNCATE)") { try $0.get(at: 0, as: Int.self) } == [0])
      }
    }
  }

  @Test func releasedPreparedStatementsAreFinalized() throws {
    try withBicycles { db in
      for round in 0..<200 {
        let read = try db.prepare(Bicycle.read().filter(Bicycle.id == Parameter("id")).limit(round + 1))
        #expect(try read.run(1).count == 1)
      }
      // An open statement would make sqlite3_close fail and keep the file open.
      try db.close()
    }
  }

  @Test func aDecodedStatementWithAParameterCanBePrepared() throws {
    try withBicycles { db in
      let statement = Bicycle.read().filter(Bicycle.color == Parameter("color"))
      let decoded = try JSONDecoder().decode(
        Statement<Bicycle, [Bicycle]>.self, from: JSONEncoder().encode(statement))
      #expect(decoded == statement)
      #expect(decoded != Bicycle.read().filter(Bicycle.color == Parameter("other")))
      let prepared = try db.prepare(decoded)
      #expect(try prepared.run("red").count == 2)
      #expect(sqlError { _ = try prepared.run(3) }?.column == "color")
    }
  }
}
