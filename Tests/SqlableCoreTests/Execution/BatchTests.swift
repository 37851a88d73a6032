import Foundation
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

@Suite struct BatchTests {
  /// A model with a constraint of every kind.
  private struct Ruled: Sqlable {
    var id: Int?
    var code: String
    var note: String?
    var amount: Int
    var owner: Int?

    static let id = Column("id", .integer, PrimaryKey())
    static let code = Column("code", .text, Unique())
    static let note = Column("note", .text)
    static let amount = Column("amount", .integer, Check("amount >= 0"))
    static let owner = Column("owner", .nullable(.integer), ForeignKey<Person>())
    static let tableLayout = [id, code, note, amount, owner]
    static let tableOptions: [TableOption] = SQLiteLibrary.isAtLeast(37) ? [.strict] : []

    init(_ id: Int) {
      self.id = id
      code = "code \(id)"
      note = "note"
      amount = id
      owner = nil
    }

    func valueForColumn(_ column: Column) -> SqlValue? {
      switch column {
      case Ruled.id: return id
      case Ruled.code: return code
      case Ruled.note: return note ?? Null()
      case Ruled.amount: return amount
      case Ruled.owner: return owner
      case _: return nil
      }
    }

    init(row: ReadRow) throws {
      id = try row.get(Ruled.id)
      code = try row.get(Ruled.code)
      note = try row.get(Ruled.note)
      amount = try row.get(Ruled.amount)
      owner = try row.get(Ruled.owner)
    }
  }

  enum Breach: CaseIterable {
    case primaryKey, unique, notNull, check, foreignKey, trigger

    var kind: SqlError.Kind {
      switch self {
      case .primaryKey: .constraint(.primaryKey)
      case .unique: .constraint(.unique)
      case .notNull: .constraint(.notNull)
      case .check: .constraint(.check)
      case .foreignKey: .constraint(.foreignKey)
      case .trigger: .constraint(.trigger)
      }
    }
  }

  /// A thousand rows. The row at index 500 violates the constraint.
  private func rows(breaking breach: Breach) -> [Ruled] {
    var rows = (1...1_000).map { Ruled($0) }
    switch breach {
    case .primaryKey: rows[500].id = 3
    case .unique: rows[500].code = "code 3"
    case .notNull: rows[500].note = nil
    case .check: rows[500].amount = -1
    case .foreignKey: rows[500].owner = 99
    case .trigger: rows[500].code = "poison"
    }
    return rows
  }

  private func prepare(_ db: SqliteDatabase) throws {
    try db.createTables(Person.self, Ruled.self)
    try db.execute(
      "CREATE TRIGGER tr BEFORE INSERT ON ruled WHEN new.code = 'poison' BEGIN SELECT RAISE(ABORT, 'no'); END")
  }

  @Test(arguments: Breach.allCases)
  func aBatchWithOneInvalidRowStoresNothing(breach: Breach) throws {
    try withDatabase { db in
      try prepare(db)
      let error = expectError(breach.kind) { try Ruled.insert(rows(breaking: breach)).run(db) }
      #expect(error?.code == 19)
      #expect(error?.sql?.hasPrefix(#"INSERT INTO "ruled""#) == true)
      #expect(error?.transaction == SqlError.TransactionFate.none)
      #expect(try Ruled.count().run(db) == 0)
      #expect(db.transactionLevel == 0)
      #expect(try Ruled.insert((1...1_000).map { Ruled($0) }).run(db) == Array(1...1_000))
    }
  }

  @Test(arguments: Breach.allCases)
  func aFailedBatchKeepsEarlierWorkOfItsTransaction(breach: Breach) throws {
    try withDatabase { db in
      try prepare(db)
      try db.transaction { db in
        try Ruled(5_000).insert().run(db)
        let error = expectError(breach.kind) { try Ruled.insert(rows(breaking: breach)).run(db) }
        #expect(error?.transaction == .untouched)
        #expect(db.transactionLevel == 1)
        #expect(try Ruled.read().run(db).map(\.id) == [5_000])
        try Ruled(5_001).insert().run(db)
      }
      #expect(try Ruled.read().run(db.createChild()).map(\.id) == [5_000, 5_001])
    }
  }

  @Test func aBatchErrorNamesTheColumnAndNoValue() throws {
    try withDatabase { db in
      try prepare(db)
      let places: [(Breach, String?)] = [
        (.unique, "code"),
        (.notNull, "note"),
        (.primaryKey, "id"),
        (.check, "amount"),
        (.foreignKey, nil),
      ]
      for (breach, column) in places {
        let error = expectError(breach.kind) { try Ruled.insert(rows(breaking: breach)).run(db) }
        #expect(error?.column == column)
        if column != nil { #expect(error?.table == "ruled") }
        #expect(error?.description.contains("code 3") == false)
        #expect(error?.description.contains("poison") == false)
      }
    }
  }

  @Test func aValueThatCannotBeStoredStopsTheWholeBatch() throws {
    try withDatabase { db in
      try db.createTable(Car.self)
      var cars = (0..<1_000).map { Car(id: nil, name: "c\($0)", price: 1, isElectric: false, soldAt: nil) }
      cars[500].price = .nan
      let error = expectSqlError { try Car.insert(cars).run(db) }
      #expect(error?.table == "car")
      #expect(error?.column == "price")
      #expect(error?.batchIndex == 500)
      #expect(error?.description.contains("element 500 of the batch") == true)
      #expect(try Car.count().run(db) == 0)
      let streamed = expectSqlError { try Car.insert().run(db, streaming: cars) }
      let returned = expectSqlError { _ = try Car.insert(cars).returning().run(db) }
      #expect(streamed?.batchIndex == 500)
      #expect(returned?.batchIndex == 500)
      let single = expectSqlError { try cars[500].insert().run(db) }
      let singleReturned = expectSqlError { _ = try cars[500].insert().returning().run(db) }
      #expect(single != nil)
      #expect(single?.batchIndex == nil)
      #expect(singleReturned?.batchIndex == nil)
      try db.transaction { db in
        try Car.insert(cars[..<10]).run(db)
        expectSqlError { try Car.insert(cars).run(db) }
        #expect(try Car.count().run(db) == 10)
      }
      #expect(try Car.count().run(db) == 10)
    }
  }

  @Test func anEmptyBatchDoesNothing() throws {
    try withDatabase { db in
      try prepare(db)
      #expect(try Ruled.insert([]).run(db) == [])
    }
  }

  /// OR IGNORE skips rows that violate UNIQUE, NOT NULL or CHECK, and stores all others.
  @Test(arguments: [false, true])
  func aBatchThatIgnoresConflictsSkipsInvalidRows(inTransaction: Bool) throws {
    try withDatabase { db in
      try db.createTables(Person.self, Ruled.self)
      try Ruled(5).insert().run(db)
      let log = EventLog()
      log.listen(to: db, on: Ruled.self)
      var rows = (1...9).map(Ruled.init)
      rows[1].code = "code 1"  // duplicates the row before
      rows[2].note = nil
      rows[3].amount = -1
      // Row 5 is stored already.
      let insert = Ruled.insert(rows).onConflict(.ignore)
      #expect(insert.sql.hasPrefix("INSERT OR IGNORE INTO "))
      let ids = try inTransaction ? db.transaction { try insert.run($0) } : insert.run(db)
      #expect(ids == [1, 0, 0, 0, 0, 6, 7, 8, 9])
      #expect(try Ruled.read().orderBy(Ruled.id).run(db).map(\.id) == [1, 5, 6, 7, 8, 9])
      #expect(log.take() == [1, 6, 7, 8, 9].map { "insert ruled \($0)" })
      // A second run changes nothing and notifies no observer.
      #expect(try insert.run(db) == Array(repeating: 0, count: 9))
      #expect(log.take() == [])
      // OR IGNORE does not skip a foreign key violation. The error undoes the whole batch.
      var broken = (11...14).map(Ruled.init)
      broken[2].owner = 77
      expectError(.constraint(.foreignKey)) { try Ruled.insert(broken).onConflict(.ignore).run(db) }
      #expect(try Ruled.count().run(db) == 6)
      #expect(log.take() == [])
    }
  }
}
