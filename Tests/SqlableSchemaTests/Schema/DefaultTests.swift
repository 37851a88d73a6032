import Foundation
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

@Suite struct DefaultTests {
  /// One default of every class, in a nullable column.
  private enum D: TableDeclaration {
    static let key = Column("id", .integer, PrimaryKey())
    static let columns =
      [key]
      + values.enumerated().map { Column("c\($0.offset)", .nullable($0.element.type), Default($0.element.value)) }

    static let values: [(value: any SqlValue, type: ColumnType)] = [
      ("black", .text), ("", .text),
      ("it's \"quoted\"; -- \\ 🚲", .text), ("a\0b'", .text), ("line\nbreak", .text),
      (0, .integer), (-7, .integer), (Int.min, .integer), (Int.max, .integer), (0.1, .real), (-0.1, .real),
      (1e300, .real),
      (-1e-5, .real), (Double.infinity, .real), (-Double.infinity, .real), (Double.pi, .real), (Data(), .blob),
      (Data([0, 255, 39]), .blob), (true, .boolean), (Null(), .text), (Gender.other, .integer), (Size.large, .text),
      (moment, .date), (moment, .date(.unixSeconds)), (moment, .date(.unixMilliseconds)), (moment, .date(.iso8601)),
      (uuid, .blob), (uuid, .text), ([1, 2], .text), (3, .real), (Decimal(15) / 10, .text), (UInt8?.some(3), .integer),
      (9_007_199_254_740_991.0, .real), (1e16, .real),
    ]
    static let moment = Date(timeIntervalSince1970: 1_357_020_000)
    static let uuid = UUID()
  }

  private func expectDefaults(_ row: Entry<D>?) throws {
    let row = try #require(row)
    for (index, (value, type)) in D.values.enumerated() {
      var expected = try value.databaseValue(in: type)
      if case .integer(let integer) = expected, type == .real { expected = .real(Double(integer)) }
      #expect(row.values[index + 1] == expected, "\(value) in \(type)")
    }
  }

  @Test func omittedColumnsGetDefaultsOfEveryClass() throws {
    try withDatabase { db in
      try db.createTable(Entry<D>.self)
      #expect(try Entry<D>().insert().run(db) == 1)
      try expectDefaults(Entry<D>.byId(1).run(db))
    }
  }

  @Test func addedColumnsFillExistingRowsWithDefaults() throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
      try db.execute("INSERT INTO t VALUES (1), (2)")
      let change = try db.createTable(Entry<D>.self)
      #expect(change.addedColumns == D.columns.dropFirst().map(\.name))
      try expectDefaults(Entry<D>.byId(2).run(db))
      try Entry<D>(3).insert().run(db)
      try expectDefaults(Entry<D>.byId(3).run(db))
    }
  }

  @Test func defaultsAreSpelledAsLiterals() throws {
    enum E: TableDeclaration {
      static let columns = [
        Column("a", .text, Default("it's")), Column("b", .integer, Default(-1)), Column("c", .blob, Default(Data([1]))),
        Column("d", .real, Default(1.5)), Column("e", .text, Default("a\0")), Column("f", .boolean, Default(false)),
        Column("g", .date(.iso8601), Default(Date(timeIntervalSince1970: 0))),
      ]
    }
    try withDatabase { db in
      try db.createTable(Entry<E>.self)
      #expect(
        try db.definition(of: "t") == #"""
          CREATE TABLE "t" ("a" TEXT NOT NULL DEFAULT 'it''s', "b" INTEGER NOT NULL DEFAULT (-1), \#
          "c" BLOB NOT NULL DEFAULT x'01', "d" REAL NOT NULL DEFAULT 1.5, \#
          "e" TEXT NOT NULL DEFAULT (CAST(x'6100' AS TEXT)), "f" INTEGER NOT NULL DEFAULT 0, \#
          "g" TEXT NOT NULL DEFAULT '1970-01-01T00:00:00.000Z')
          """#)
    }
  }

  @Test func aDefaultThatDoesNotFitItsColumnIsRefused() throws {
    enum Text: TableDeclaration { static let columns = [Column("a", .integer, Default("3"))] }
    enum Large: TableDeclaration { static let columns = [Column("a", .integer, Default(UInt64.max))] }
    enum NaN: TableDeclaration { static let columns = [Column("a", .real, Default(Double.nan))] }
    enum Other: TableDeclaration { static let columns = [Column("a", .boolean, Default(2))] }
    enum Lossy: TableDeclaration { static let columns = [Column("a", .real, Default(Int.max))] }
    func expectRefusal<E: TableDeclaration>(_ declaration: E.Type) throws {
      try withDatabase { db in
        let error = sqlError { try db.createTable(Entry<E>.self) }
        #expect(error?.isEncoding == true, "\(E.self)")
        #expect(error?.table == "t", "\(E.self)")
        #expect(error?.column == "a", "\(E.self)")
        #expect(error?.message.hasPrefix("the default of t.a should be ") == true, "\(E.self)")
        // The check also applies to a model whose table was never created.
        #expect(sqlError { _ = try Entry<E>.count().run(db) } == error, "\(E.self)")
        let definition = try db.definition(of: "t")
        #expect(definition == nil)
      }
    }
    try expectRefusal(Text.self)
    try expectRefusal(Large.self)
    try expectRefusal(NaN.self)
    try expectRefusal(Other.self)
    try expectRefusal(Lossy.self)
  }
}
