import Foundation
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

protocol OddlyNamed: TableDeclaration {
  static var hostile: String { get }
}

extension OddlyNamed {
  static var name: String { hostile }
  static var columns: [Column] {
    [
      Column("key of " + hostile, .integer, PrimaryKey()), Column(hostile, .text, Unique()),
      Column(hostile + ", " + hostile + "." + hostile, .integer, Check("1 = 1"), Default(0)),
    ]
  }
  static var indexes: [Index] { [Index(columns[1].column, columns[2].column.desc)] }
}

private enum N0: OddlyNamed { static let hostile = #"order "x""# }
private enum N1: OddlyNamed { static let hostile = "group" }
private enum N2: OddlyNamed { static let hostile = "select" }
private enum N3: OddlyNamed { static let hostile = #"""# }
private enum N4: OddlyNamed { static let hostile = "it's" }
private enum N5: OddlyNamed { static let hostile = "[a]" }
private enum N6: OddlyNamed { static let hostile = "`b`" }
private enum N7: OddlyNamed { static let hostile = "🚲 ベル" }
private enum N8: OddlyNamed { static let hostile = "x; drop table untouched; --" }
private enum N9: OddlyNamed { static let hostile = #"a\b"# }
private enum N10: OddlyNamed { static let hostile = String(repeating: "n", count: 200) }
private enum N11: OddlyNamed { static let hostile = " " }
private enum N12: OddlyNamed { static let hostile = "a.b" }
private enum N13: OddlyNamed { static let hostile = "a, t.b" }
private enum N14: OddlyNamed { static let hostile = "?" }
private enum N15: OddlyNamed { static let hostile = "line\nbreak" }
private enum N16: OddlyNamed { static let hostile = "rowid" }
private enum N17: OddlyNamed { static let hostile = "excluded" }
private enum N18: OddlyNamed { static let hostile = "--" }
private enum N19: OddlyNamed { static let hostile = "Ä" }
private enum N20: OddlyNamed { static let hostile = "constraint failed: t.x" }

/// Tests of tables and columns whose names are themselves SQL, in every statement that names them.
@Suite struct OddNameTests {
  /// SQLite has built-in virtual tables with these names.
  @Test(arguments: ["json_each", "JSON_TREE", "pragma_table_info", "pragma_user_version"])
  func aTableMayHaveTheNameOfATableValuedFunction(name: String) throws {
    try withDatabase { db in
      #expect(try db.createTable(Person.self, named: name).createdTable)
      #expect(try db.createTable(Person.self, named: name).isEmpty)
      try Person(id: nil, name: "Ann").insert().in(name).run(db)
      #expect(try Person.read().in(name).run(db).map(\.name) == ["Ann"])
      try db.execute(
        """
        DROP TABLE \(table: name);
        CREATE TABLE \(table: name) (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL,
          color TEXT NOT NULL DEFAULT 'black', UNIQUE (name, color))
        """)
      #expect(try db.createTable(Bicycle.self, named: name).addedColumns == ["owner_id"])
    }
  }

  @Test func libraryTableNameIsReserved() throws {
    try withDatabase { db in
      let error = expectMisuse { try db.createTable(Person.self, named: "SQLable_values") }
      #expect(error?.message == "the name sqlable_values is reserved; give the table another name")
    }
  }

  @Test func everyOddNameWorksInEveryStatement() throws {
    try exercise(N0.self)
    try exercise(N1.self)
    try exercise(N2.self)
    try exercise(N3.self)
    try exercise(N4.self)
    try exercise(N5.self)
    try exercise(N6.self)
    try exercise(N7.self)
    try exercise(N8.self)
    try exercise(N9.self)
    try exercise(N10.self)
    try exercise(N11.self)
    try exercise(N12.self)
    try exercise(N13.self)
    try exercise(N14.self)
    try exercise(N15.self)
    try exercise(N16.self)
    try exercise(N17.self)
    try exercise(N18.self)
    try exercise(N19.self)
    try exercise(N20.self)
  }

  private func exercise<D: TableDeclaration>(_ declaration: D.Type) throws {
    typealias Row = Entry<D>
    let (id, text, number) = (D.columns[0], D.columns[1], D.columns[2])
    try withDatabase { db in
      #expect(try db.createTable(Row.self).createdTable)
      #expect(try db.createTable(Row.self).isEmpty)
      let heard = Mutex<[Int]>([])
      db.observe(on: Row.self) { id in heard.withLock { $0.append(id) } }
      #expect(try Row.insert([.init(nil, "a", 1), .init(nil, "b", 2)]).run(db) == [1, 2])
      #expect(try Row.read().filter(text == "b" && number > 1).orderBy(text, .desc).run(db) == [Row(2, "b", 2)])
      #expect(try Row.byId(1).run(db) == Row(1, "a", 1))
      #expect(try Row(1, "c", 3).update().run(db) == 1)
      #expect(try Row.update(number.set(to: number + 1)).filter(text.in(["c"])).limit(1).run(db) == 1)
      #expect(try Row(1, "d", 9).save().run(db) == 1)
      #expect(try db.query("SELECT \(text) FROM \(Row.self) WHERE \(id) = 1", as: String.self) == ["d"])
      #expect(try db.query("SELECT * FROM \(table: D.name)", as: Row.self).count == 2)
      let unique = expectError(.constraint(.unique)) { try Row(nil, "b", 5).insert().run(db) }
      #expect(unique?.table == D.name)
      #expect(unique?.column == text.name)
      let null = expectError(.constraint(.notNull)) { try Row(nil, .null, 5).insert().run(db) }
      #expect(null?.table == D.name)
      #expect(null?.column == text.name)
      try db.execute("UPDATE \(Row.self) SET \(text) = x'00' WHERE \(id) = 2")
      let wrong = sqlError { _ = try Row.read().run(db).map { try String(databaseValue: $0.values[1] ?? .null) } }
      #expect(wrong?.isDecoding == true)
      #expect(try Row(2).delete().run(db) == 1)
      #expect(try Row.delete(text == "d").run(db) == 1)
      #expect(heard.withLock { $0 } == [1, 2, 1, 1, 1, 2, 2, 1])
      try db.execute("CREATE TABLE IF NOT EXISTS untouched (x)")
      #expect(try db.query("SELECT count(*) FROM sqlite_schema WHERE name = 'untouched'", as: Int.self) == [1])
    }
  }
}
