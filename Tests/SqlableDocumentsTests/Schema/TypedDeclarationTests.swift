import Foundation
import SqlableCore
import SqlableDocuments
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Tests of checks, generated columns and indexes that are declared as typed terms.
@Suite struct TypedDeclarationTests {
  private struct Product: Sqlable, Equatable {
    static let id = column("id", Int.self, PrimaryKey())
    static let name = column("name", String.self, Collate.nocase)
    static let price: TypedColumn<Product, Double> = column("price", Double.self, Check(Product.price >= 0))
    static let count = column("count", Double.self)
    static let soldAt = column("sold_at", Date?.self)
    static let isSold = column("is_sold", Bool.self)
    static let total = column("total", Double.self, Generated(Product.price * Product.count, stored: true))
    static let label = column("label", String?.self, Generated(Product.name.lowercase()))
    static let tableLayout = [
      id.column, name.column, price.column, count.column, soldAt.column, isSold.column, total.column, label.column,
    ]
    static let tableConstraints: [TableConstraint] = [
      Check(!Product.isSold || Product.soldAt.isNotNull, name: "sold when"),
      Check(Product.name.in(["it's", "?", "a\"b", "é", "x\0y", ""])),
    ]
    static let tableIndexes = [
      Index(soldAt.desc, name.lowercase(), where: isSold == true),
      Index(name, unique: true, where: soldAt.isNull, name: "one unsold"),
      Index((price * 2).desc), Index(name.substr(1, 2)), Index(name.uppercase().collate(.binary).asc, price),
      Index(IndexColumn(sql: "count % 7", descending: true), where: "price > 1.5"),
    ]
    var id: Int
    var name: String
    var price: Double
    var isSold = false
    var soldAt: Date?

    init(_ id: Int, _ name: String, _ price: Double, soldAt: Date? = nil) {
      (self.id, self.name, self.price, self.soldAt, isSold) = (id, name, price, soldAt, soldAt != nil)
    }

    init(row: ReadRow) throws {
      (id, name, price) = (try row.get(Product.id), try row.get(Product.name), try row.get(Product.price))
      (isSold, soldAt) = (try row.get(Product.isSold), try row.get(Product.soldAt))
      for column in [Product.count.column, Product.total.column, Product.label.column] { row.skip(column) }
    }

    func write(to row: inout RowWriter) throws {
      row.set(Product.id, id)
      row.set(Product.name, name)
      row.set(Product.price, price)
      row.set(Product.count, 2)
      row.set(Product.isSold, isSold)
      row.set(Product.soldAt, soldAt)
    }
  }

  private func withProducts(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.createTable(Product.self)
      try body(db)
    }
  }

  @Test func termsBecomeTextWithLiteralsAndComeBackEqual() throws {
    try withProducts { (db: SqliteDatabase) throws -> Void in
      #expect(
        try db.definition(of: "product") == #"""
          CREATE TABLE "product" ("id" INTEGER PRIMARY KEY, "name" TEXT NOT NULL COLLATE NOCASE, \#
          "price" REAL NOT NULL CHECK ("price" >= 0.0), "count" REAL NOT NULL, "sold_at" REAL, \#
          "is_sold" INTEGER NOT NULL, "total" REAL NOT NULL GENERATED ALWAYS AS ("price" * "count") STORED, \#
          "label" TEXT GENERATED ALWAYS AS (lower("name")) VIRTUAL, \#
          CONSTRAINT "sold when" CHECK (NOT "is_sold" OR "sold_at" IS NOT NULL), \#
          CHECK ("name" IN ('it''s', '?', 'a"b', 'é', (CAST(x'780079' AS TEXT)), '')))
          """#)
      #expect(
        try db.query("SELECT sql FROM sqlite_schema WHERE type = 'index' ORDER BY rowid", as: String.self) == [
          #"""
          CREATE INDEX "product_sold_at_desc_lower_name_where_is_sold" ON "product" ("sold_at" DESC, lower("name")) \#
          WHERE "is_sold" = 1
          """#,
          #"CREATE UNIQUE INDEX "one unsold" ON "product" ("name") WHERE "sold_at" IS NULL"#,
          #"CREATE INDEX "product_price_desc" ON "product" ("price" * 2.0 DESC)"#,
          #"CREATE INDEX "product_substr_name" ON "product" (substr("name", 1, 2))"#,
          #"CREATE INDEX "product_upper_name_price" ON "product" (upper("name") COLLATE BINARY, "price")"#,
          #"CREATE INDEX "product_count_7_desc_where_price_1_5" ON "product" (count % 7 DESC) WHERE price > 1.5"#,
        ])
      let schema = Schema(Product.self)
      #expect(try schema.differences(db) == [])
      #expect(try schema.plan(db).isEmpty)
      #expect(try db.createTable(Product.self).isEmpty)
    }
  }

  @Test func rowsThatViolateATermAreRefusedWithItsPlace() throws {
    try withProducts { (db: SqliteDatabase) throws -> Void in
      for (id, name) in ["it's", "?", "a\"b", "é", "x\0y", ""].enumerated() {
        try Product(id, name, 1).insert().run(db)
      }
      let ofColumn = expectError(.constraint(.check)) { try Product(9, "?", -1).insert().run(db) }
      #expect(ofColumn?.table == "product")
      #expect(ofColumn?.column == "price")
      let ofTable = expectError(.constraint(.check)) { try Product(9, "other", 1).insert().run(db) }
      #expect(ofTable?.table == "product")
      #expect(ofTable?.column == nil)
      let named = expectError(.constraint(.check)) {
        try Product.update(Product.isSold.set(to: true)).filter(Product.id == 1).run(db)
      }
      #expect(named?.table == "product")
      #expect(named?.message == "CHECK constraint failed: sold when")
      #expect(try Product.select(Product.total, Product.label).filter(Product.id == 0).run(db).map(\.0) == [2])
    }
  }

  @Test func aPartialUniqueIndexHoldsForItsRowsOnly() throws {
    try withProducts { (db: SqliteDatabase) throws -> Void in
      try Product(1, "?", 1).insert().run(db)
      try Product(2, "?", 1, soldAt: Date(timeIntervalSince1970: 7)).insert().run(db)
      try Product(3, "?", 1, soldAt: Date(timeIntervalSince1970: 8)).insert().run(db)
      expectError(.constraint(.unique)) { try Product(4, "?", 1).insert().run(db) }
      expectError(.constraint(.unique)) {
        try Product.update(Product.soldAt.set(to: nil), Product.isSold.set(to: false)).filter(Product.id == 3).run(db)
      }
      #expect(try Product.count().run(db) == 3)
    }
  }

  /// SQLite compares the index condition with the bound values of the filter.
  @Test func filtersUseAPartialIndexWhoseConditionTheyImply() throws {
    try withProducts { (db: SqliteDatabase) throws -> Void in
      func index(_ filter: SqlExpression) throws -> String? {
        let plan = try Product.read().filter(filter).explain(db).steps.map(\.detail).joined()
        return plan.contains("USING INDEX") ? plan.components(separatedBy: "USING INDEX ")[1] : nil
      }
      let at = Date(timeIntervalSince1970: 7)
      let sold = "product_sold_at_desc_lower_name_where_is_sold"
      #expect(try index(Product.soldAt > at && Product.isSold == true) == "\(sold) (sold_at>?)")
      #expect(try index(Product.soldAt > at && Product.isSold == false) == nil)
      #expect(try index(Product.soldAt > at) == nil)
      #expect(try index(Product.name == "?" && Product.soldAt.isNull) == "one unsold (name=?)")
      #expect(try index(Product.name == "?" && Product.soldAt.isNotNull) == nil)
      #expect(try index(Product.name.substr(1, 2) == "ab") == "product_substr_name (<expr>=?)")
      // The filter's term binds its value, and a term with a parameter does not match the index.
      #expect(try index(Product.price * 2 > 8) == nil)
      // The index has the term's collation, not the column's.
      #expect(try index(Product.name.uppercase().collate(.binary) == "X") == "product_upper_name_price (<expr>=?)")
    }
  }

  // MARK: What can't be declared

  private func expectRefusal<D: Refusing>(
    _ declaration: D.Type, _ message: String, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let db = try SqliteDatabase.inMemory()
    for attempt in [
      { try db.createTable(Entry<D>.self) }, { _ = try Entry<D>.read().run(db) },
      { try Schema(Entry<D>.self).verify(db) },
    ] as [() throws -> Void] {
      let error = expectMisuse(sourceLocation: sourceLocation, attempt)
      #expect(error?.message.contains(message) == true, "\(error?.message ?? "")", sourceLocation: sourceLocation)
      #expect(error?.message.hasPrefix("the model Entry<\(D.self)> of table refused has ") == true)
    }
  }

  @Test func invalidDeclarationTermsAreRefusedByName() throws {
    try expectRefusal(WithParameter.self, "an error in a check: a declaration can't contain a parameter")
    try expectRefusal(WithSubquery.self, "a declaration can't contain a subquery")
    try expectRefusal(WithAggregate.self, "a declaration can't contain the aggregate sum()")
    try expectRefusal(
      WithRandom.self, "an error in the generated column n: a declaration can't contain random()")
    try expectRefusal(WithWindow.self, "a declaration can't contain a window function")
    try expectRefusal(WithAnotherTable.self, "column name is not in the layout of table refused")
    try expectRefusal(WithAlias.self, "a declaration can't contain a column of the alias other")
    try expectRefusal(WithWrongValue.self, "column id takes INTEGER, but was given TEXT")
    try expectRefusal(WithNullsLast.self, "an index can't contain NULLS FIRST or NULLS LAST")
    try expectRefusal(WithTermInKey.self, "has a primary key with a term that is not a column")
    try expectRefusal(WithTermInUnique.self, "has a Unique constraint with a term that is not a column")
    try expectRefusal(WithConditionOfAnother.self, "the condition of the index")
  }

  @Test func functionsOfTheProgramAreCheckedBySQLite() throws {
    enum Own: Refusing {
      static let id = Column("id", .integer, PrimaryKey())
      static let columns = [id]
      static let constraints: [TableConstraint] = [Check(id.isEven() == true)]
    }
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      expectSqlError { try db.createTable(Entry<Own>.self) }
      let isEven = ScalarFunction("is_even", isDeterministic: true, isAllowedInSchema: true) { (number: Int) in
        number.isMultiple(of: 2)
      }
      try db.register(isEven)
      try db.createTable(Entry<Own>.self)
      #expect(
        try db.definition(of: "refused")
          == #"CREATE TABLE "refused" ("id" INTEGER PRIMARY KEY, CHECK ("is_even"("id") = 1))"#)
      expectError(.constraint(.check)) { try db.execute("INSERT INTO refused VALUES (3)") }
    }
  }

  // MARK: Values

  @Test func everyLiteralEvaluatesToItsValue() throws {
    let db = try SqliteDatabase.inMemory()
    func check<N: Numbered>(_: N.Type) throws {
      let name = Entry<Valued<N>>.tableName
      try db.createTable(Entry<Valued<N>>.self)
      #expect(try Schema(Entry<Valued<N>>.self).differences(db) == [])
      try Entry<Valued<N>>(nil).insert().run(db)
      let stored = try db.query(SQL(verbatim: "SELECT made, typeof(made) FROM \(name)"), as: DynamicRow.self)
      let bound = try db.query(
        "SELECT \(Cell(storage: N.value)), typeof(\(Cell(storage: N.value)))", as: DynamicRow.self)
      #expect(stored.map(\.values) == bound.map(\.values), "\(N.value)")
    }
    func each<N: Numbered>(_ number: N.Type, _ count: Int) throws {
      try check(number)
      if count > 1 { try each(After<N>.self, count - 1) }
    }
    try each(Zero.self, 60)
  }

  private struct Job: Sqlable {
    static let id = column("id", Int.self, PrimaryKey())
    static let isDone: TypedColumn<Job, Bool> = column("is_done", Bool.self, Check(Job.isDone))
    static let tableLayout = [id.column, isDone.column]
    static let tableIndexes = [Index(id, where: isDone)]
    var done: Bool
    init(done: Bool) { self.done = done }
    init(row: ReadRow) throws {
      row.skip(Job.id.column)
      done = try row.get(Job.isDone)
    }
    func write(to row: inout RowWriter) throws {
      row.skip(Job.id.column)
      row.set(Job.isDone, done)
    }
  }

  @Test func booleanColumnIsACondition() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.createTable(Job.self)
      let sql = try db.query("SELECT sql FROM sqlite_schema ORDER BY type DESC, name", as: String.self)
      #expect(sql[0].contains(#"CHECK ("is_done")"#))
      #expect(sql[1].hasSuffix(#" WHERE "is_done""#))
      #expect(sqlError { try Job(done: false).insert().run(db) }?.kind == .constraint(.check))
      let clearing = Trigger("clear", after: .insert, on: Job.self, when: Job.isDone.new, run: Job.deleteAll())
      try clearing.run(db)
      try Job(done: true).insert().run(db)
      #expect(try Job.read().run(db).isEmpty)
    }
  }
}

private protocol Numbered: Sendable {
  static var number: Int { get }
}

private enum Zero: Numbered { static var number: Int { 0 } }
private enum After<Before: Numbered>: Numbered { static var number: Int { Before.number + 1 } }

extension Numbered {
  fileprivate static var value: DatabaseValue {
    var generator = SeededGenerator(seed: SeededGenerator.seed &+ UInt64(number))
    switch number {
    case 0: return .null
    case 1: return .real(.infinity)
    case 2: return .real(-.infinity)
    case 3: return .integer(.min)
    case 4: return .real(.leastNonzeroMagnitude)
    case 5: return .text("a'; DROP TABLE t; -- ? \" \0 é")
    case 6: return .blob(Data())
    case 7: return .real(-0.1)
    default: break
    }
    switch number % 4 {
    case 0: return .integer(Int64.random(in: .min...(.max), using: &generator))
    case 1:
      let real = Double(bitPattern: generator.next())
      return .real(real.isFinite ? real : 0.5)
    case 2:
      let scalars = (0..<9).map { _ in generator.pick(["'", "\"", "?", "\0", "a", "é", "\n", "🚲", "--", "/*", "\\"]) }
      return .text(scalars.joined())
    default: return .blob(Data((0..<9).map { _ in UInt8.random(in: .min...(.max), using: &generator) }))
    }
  }
}

private enum Valued<Number: Numbered>: TableDeclaration {
  static var name: String { "valued_\(Number.number)" }
  static var columns: [Column] {
    [
      Column("given", .nullable(.blob)),
      Column("made", .nullable(.blob), Generated(TypedExpression(Cell(storage: Number.value)), stored: true)),
    ]
  }
}

private protocol Refusing: TableDeclaration {}
extension Refusing {
  static var name: String { "refused" }
  static var columns: [Column] { [n] }
}

private let n = Column("id", .integer)

private enum WithParameter: Refusing {
  static var constraints: [TableConstraint] { [Check(n == Parameter("low"))] }
}
private enum WithSubquery: Refusing {
  static var constraints: [TableConstraint] { [Check(n.in(Bicycle.select(Bicycle.id)))] }
}
private enum WithAggregate: Refusing { static var constraints: [TableConstraint] { [Check(n.sum() > 3)] } }
private enum WithRandom: Refusing {
  static var columns: [Column] { [n, Column("n", .integer, Generated(n + randomInteger().expression))] }
}
private enum WithWindow: Refusing { static var constraints: [TableConstraint] { [Check(n.sum().over() > 3)] } }
private enum WithAnotherTable: Refusing {
  static var constraints: [TableConstraint] { [Check(Bicycle.name == "a")] }
}
private enum WithAlias: Refusing {
  static var constraints: [TableConstraint] { [Check(Alias(Bicycle.self, "other")[Bicycle.name] == "a")] }
}
private enum WithWrongValue: Refusing { static var constraints: [TableConstraint] { [Check(n == "a")] } }
private enum WithNullsLast: Refusing { static var indexes: [Index] { [Index(n.asc.nullsLast)] } }
private enum WithTermInKey: Refusing { static var constraints: [TableConstraint] { [PrimaryKeys(n + 1)] } }
private enum WithTermInUnique: Refusing { static var constraints: [TableConstraint] { [Unique(n + 1)] } }
private enum WithConditionOfAnother: Refusing {
  static var indexes: [Index] { [Index(n, where: Bicycle.name == "a")] }
}

extension Column {
  fileprivate func isEven() -> SqlExpression {
    ScalarFunction("is_even") { (number: Int) in number.isMultiple(of: 2) }(self).expression
  }
}
