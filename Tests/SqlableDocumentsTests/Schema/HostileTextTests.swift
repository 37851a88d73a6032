import Foundation
import SqlableCore
import SqlableDocuments
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Texts that Swift's characters and SQLite's bytes split differently.
enum HostileText {
  private static let pieces = [
    "'", "\"", "`", "[", "]", "\\", ";", "--", "/*", "*/", "?", "\u{301}", "\u{FE0F}", "\u{200D}", "\r\n", "\n", "é",
    "e\u{301}", "a", "B", " ", "%", "_", ".", ",", "constraint failed: ", "🚲", "\u{1F1E9}", "(", ")", "0", "file:", "/",
  ]

  static func text(_ random: inout SeededGenerator, length: Int = 4) -> String {
    (0..<Int.random(in: 1...length, using: &random)).map { _ in random.pick(pieces) }.joined()
  }

  /// Quotes followed by scalars that combine with them into one character.
  static let quotes = ["'", "\"", "`", "]", "[", "\\", "/", "?", ".", ","].flatMap { quote in
    ["\u{301}", "\u{FE0F}", "\u{200D}", "\u{20DD}"].map { quote + $0 }
  }
}

/// A model whose names and defaults are made of such texts.
protocol HostileDeclaration: TableDeclaration { static var seed: UInt64 { get } }

extension HostileDeclaration {
  static var texts: [String] {
    var random = SeededGenerator(seed: SeededGenerator.seed &+ seed)
    return (0..<8).map { _ in HostileText.text(&random) + random.pick(HostileText.quotes) + HostileText.text(&random) }
  }
  static var name: String { "table " + texts[0] }
  static var columns: [Column] {
    let literal = texts[5].unicodeScalars.reduce(into: "'") { text, scalar in
      text.unicodeScalars.append(contentsOf: scalar == "'" ? ["'", "'"] : [scalar])
    }
    return [
      Column("key " + texts[1], .integer, PrimaryKey()),
      Column("first " + texts[2], .text, Default(texts[4]), Check("1 <> \(literal)'")),
      Column("second " + texts[3], .text, Unique(), Collate.named(texts[6])),
    ]
  }
  static var indexes: [Index] {
    [Index(columns[1], name: "index " + texts[7]), Index(columns[1], columns[2].desc)]
  }
}

private enum H0: HostileDeclaration { static let seed: UInt64 = 0 }
private enum H1: HostileDeclaration { static let seed: UInt64 = 1 }
private enum H2: HostileDeclaration { static let seed: UInt64 = 2 }
private enum H3: HostileDeclaration { static let seed: UInt64 = 3 }
private enum H4: HostileDeclaration { static let seed: UInt64 = 4 }
private enum H5: HostileDeclaration { static let seed: UInt64 = 5 }
private enum H6: HostileDeclaration { static let seed: UInt64 = 6 }
private enum H7: HostileDeclaration { static let seed: UInt64 = 7 }

private enum Plain: TableDeclaration {
  static let key = Column("id", .integer, PrimaryKey())
  static let text = Column("text", .text, Unique())
  static let columns = [key, text]
  static let indexes = [Index(text)]
}

@Suite struct HostileTextTests {
  private func bytes(_ texts: [String]) -> [[UInt8]] { texts.map { Array($0.utf8) } }

  @Test func aQuoteBeforeACombiningScalarEndsNoText() throws {
    enum Quoted: TableDeclaration {
      static let name = "q'\u{301}d\"\u{301}"
      static let columns = [
        Column("id", .integer, PrimaryKey()),
        Column("a\"\u{FE0F}", .text, Default("a'\u{FE0F}b")),
        Column("b", .text, Default("'\u{301}); DROP TABLE untouched; --")),
      ]
    }
    try withDatabase { db throws in
      try db.execute("CREATE TABLE untouched (x)")
      #expect(try db.createTable(Entry<Quoted>.self).createdTable)
      #expect(try db.createTable(Entry<Quoted>.self).isEmpty)
      try Entry<Quoted>().insert().run(db)
      let row = try Entry<Quoted>.byId(1).run(db)
      #expect(row?.values == [1, "a'\u{FE0F}b", "'\u{301}); DROP TABLE untouched; --"])
      let tables = try db.query("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid", as: String.self)
      #expect(bytes(tables) == bytes(["untouched", Quoted.name]))
    }
  }

  @Test func namesAndDefaultsOfAnyTextComeBack() throws {
    try exercise(H0.self)
    try exercise(H1.self)
    try exercise(H2.self)
    try exercise(H3.self)
    try exercise(H4.self)
    try exercise(H5.self)
    try exercise(H6.self)
    try exercise(H7.self)
  }

  private func exercise<D: HostileDeclaration>(_ declaration: D.Type) throws {
    typealias Row = Entry<D>
    let texts = D.texts
    let (key, first, second) = (D.columns[0], D.columns[1], D.columns[2])
    try withDatabase(.init(label: texts[0])) { db throws in
      try db.register(Collation(texts[6]) { $0 < $1 ? .orderedAscending : $0 > $1 ? .orderedDescending : .orderedSame })
      #expect(try db.createTable(Row.self).createdTable)
      #expect(try db.createTable(Row.self).isEmpty)
      let names = try db.query("SELECT name FROM pragma_table_info(\(D.name))", as: String.self)
      #expect(bytes(names) == bytes(D.columns.map(\.name)))
      let schema = try db.query(
        "SELECT name FROM sqlite_schema WHERE name NOT LIKE 'sqlite%' ORDER BY rowid", as: String.self)
      #expect(
        bytes(schema) == bytes([D.name, "index " + texts[7], "\(D.name)_\(first.name)_\(second.name)_desc"]))
      let values = texts + HostileText.quotes
      for (index, text) in values.enumerated() {
        try Row(.integer(Int64(index)), nil, .text("\(index) " + text)).insert().run(db)
        let row = try Row.byId(index).run(db)
        #expect(row?.values == [.integer(Int64(index)), .text(texts[4]), .text("\(index) " + text)])
      }
      #expect(try Row.count().filter(first == texts[4] && second != "").run(db) == values.count)
      #expect(try db.query("SELECT \(second) FROM \(Row.self) WHERE \(key) = 0", as: String.self) == ["0 " + texts[0]])
      let error = expectError(.constraint(.unique)) { try Row(nil, nil, .text("0 " + texts[0])).insert().run(db) }
      let place = [error?.table, error?.column, error?.label].compactMap { $0 }
      #expect(bytes(place) == bytes([D.name, second.name, texts[0]]))
      #expect(try Row.deleteAll().run(db) == values.count)
    }
  }

  @Test func hostileNamesNameSeparateTables() throws {
    var random = SeededGenerator(seed: SeededGenerator.seed)
    var names = HostileText.quotes + (0..<60).map { _ in HostileText.text(&random) }
    // SQLite ignores the case of A to Z in names.
    var seen: Set<[UInt8]> = []
    names = names.filter { seen.insert($0.utf8.map { (65...90).contains($0) ? $0 + 32 : $0 }).inserted }
    try withDatabase { db throws in
      for (index, name) in names.enumerated() {
        try db.createTable(Entry<Plain>.self, named: name)
        try Entry<Plain>(.integer(Int64(index)), .text(name)).insert().in(name).run(db)
      }
      for (index, name) in names.enumerated() {
        let rows = try Entry<Plain>.read().in(name).run(db)
        #expect(rows == [Entry<Plain>(.integer(Int64(index)), .text(name))], "\(name)")
        let text = try db.query("SELECT text FROM \(table: name)", as: String.self)
        #expect(bytes(text) == bytes([name]))
        let error = expectError(.constraint(.unique)) {
          try Entry<Plain>(nil, .text(name)).insert().in(name).run(db)
        }
        #expect(bytes([error?.table, error?.column].compactMap { $0 }) == bytes([name, "text"]))
        try db.createTable(Person.self, named: name + " 2")
        let scans = try Person.read().in(name + " 2").explain(db).scans
        #expect(bytes(scans) == bytes([name + " 2"]))
      }
      let stored = try db.query("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid", as: String.self)
      let own = names.flatMap { [$0, $0 + " 2"] }
      #expect(Set(bytes(stored)).subtracting([Array("sqlite_sequence".utf8)]) == Set(bytes(own)))
    }
  }

  /// The two names are equal in Swift and different in SQLite.
  @Test func composedAndDecomposedNamesAreTwoTables() throws {
    let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
    try withDatabase { db throws in
      for name in [composed, decomposed] { try db.createTable(Entry<Plain>.self, named: name) }
      let heard = Mutex<[[UInt8]]>([])
      db.didUpdate = { table, _, _ in heard.withLock { $0.append(Array(table.utf8)) } }
      try Entry<Plain>(1, "one").insert().in(composed).run(db)
      try Entry<Plain>(1, "two").insert().in(decomposed).run(db)
      let read = Entry<Plain>.read()
      #expect(try read.in(composed).run(db).map(\.values) == [[1, "one"]])
      #expect(try read.in(decomposed).run(db).map(\.values) == [[1, "two"]])
      #expect(read.in(composed) != read.in(decomposed))
      let both: [SQL] = ["SELECT text FROM \(table: composed)", "SELECT text FROM \(table: decomposed)"]
      #expect(both[0] != both[1])
      #expect(try both.flatMap { try db.query($0, as: String.self) } == ["one", "two"])
      #expect(heard.withLock { $0 } == [Array(composed.utf8), Array(decomposed.utf8)])
      let columns = try db.query("SELECT 1 AS \(column: composed), 2 AS \(column: decomposed)") { row in
        try [row.get(composed, as: Int.self), row.get(decomposed, as: Int.self)]
      }
      #expect(columns == [[1, 2]])
      #expect(Collate.named(composed) != Collate.named(decomposed))
    }
  }

  @Test func canonicallyEqualColumnsAreTwoAndHaveNoForm() throws {
    enum Twins: TableDeclaration {
      static let columns = [Column("caf\u{E9}", .text), Column("cafe\u{301}", .text)]
    }
    try withDatabase { db throws in
      try db.createTable(Entry<Twins>.self)
      try Entry<Twins>("one", "two").insert().run(db)
      #expect(try Entry<Twins>.read().run(db).map(\.values) == [["one", "two"]])
      #expect(Entry<Twins>("one", "two").insert() != Entry<Twins>("one", "one").insert())
      #expect(Entry<Twins>("one", "two").insert() != Entry<Twins>("two", "two").insert())
      #expect(throws: SqlError.self) { try JSONEncoder().encode(Entry<Twins>("one", "two").insert()) }
    }
  }

  @Test func namesWithANULAreRefused() throws {
    enum InTable: TableDeclaration {
      static let name = "a\0b"
      static let columns = [Column("id", .integer)]
    }
    enum InColumn: TableDeclaration { static let columns = [Column("a\0b", .integer)] }
    enum InIndex: TableDeclaration {
      static let columns = [Column("a", .integer)]
      static let indexes = [Index(columns[0], name: "a\0b")]
    }
    enum InCheck: TableDeclaration { static let columns = [Column("a", .integer, Check("a <> 'a\0b'"))] }
    enum InCollation: TableDeclaration { static let columns = [Column("a", .text, Collate.named("a\0b"))] }
    try withDatabase { db throws in
      let errors = [
        sqlError { try db.createTable(Entry<InTable>.self) }, sqlError { try db.createTable(Entry<InColumn>.self) },
        sqlError { try db.createTable(Entry<InIndex>.self) }, sqlError { try db.createTable(Entry<InCheck>.self) },
        sqlError { try db.createTable(Entry<InCollation>.self) },
        sqlError { try db.createTable(Entry<Plain>.self, named: "a\0b") },
        sqlError { _ = try db.query("SELECT 1 AS \(column: "a\0b")", as: Int.self) },
      ]
      for (index, error) in errors.enumerated() {
        #expect(error?.message.contains("NUL") == true, "\(index) \(error?.message ?? "")")
      }
      #expect(try db.query("SELECT count(*) FROM sqlite_schema", as: Int.self) == [0])
    }
  }

  @Test func pathWithColonsAndSlashesIsNoURI() throws {
    // The path is relative, so that it begins like a URI.
    let name = "file:\u{301}lost-\(UUID().uuidString).db?mode=memory"
    defer { for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: "./" + name + end) } }
    do {
      let db = try SqliteDatabase(filepath: name)
      try db.createTable(Person.self)
      try Person(id: nil, name: "kept").insert().run(db)
      #expect(FileManager.default.fileExists(atPath: "./" + name))
    }
    let again = try SqliteDatabase(filepath: name)
    #expect(try Person.read().run(again).map(\.name) == ["kept"])
    try withDirectory { directory throws in
      for path in ["/\u{301}sub/db", "/a/\u{FE0F}b/\u{301}db", "/'\u{301}/?\u{301}.db"] {
        let db = try SqliteDatabase(filepath: directory + path)
        try db.createTable(Person.self)
        #expect(FileManager.default.fileExists(atPath: directory + path))
      }
    }
  }

  @Test func fullTextQueriesOfAnyTextAreWords() throws {
    var random = SeededGenerator(seed: SeededGenerator.seed)
    try withDatabase { db throws in
      try db.createTable(Story.self)
      let parts = HostileText.quotes + (0..<200).map { _ in HostileText.text(&random, length: 12) }
      let texts = parts.map { "word " + $0 }
      for (index, text) in texts.enumerated() { try Story(index, text).insert().run(db) }
      for (index, text) in texts.enumerated() {
        for query in [FullTextQuery.words(text), .phrase(text), .prefix(text), .words(text, in: Story.title)] {
          let found = try Story.read().filter(Story.matches(query) && Story.id == index).run(db)
          #expect(found.map(\.title) == [text], "\(text) \(query.rawValue)")
        }
      }
    }
  }

  /// Swift treats a line break of two bytes as one character.
  @Test(.needs(38, "the offset of an error")) func errorReportsItsLineInTextWithCarriageReturns() throws {
    try withDatabase { db throws in
      let error = sqlError { _ = try db.query("SELECT 1,\r\n  2,\r\n  nosuch", as: Int.self) }
      #expect(error?.description.contains("at line 3, column 3") == true, "\(error?.description ?? "")")
    }
  }
}
