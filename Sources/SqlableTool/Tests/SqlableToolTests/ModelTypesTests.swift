import Foundation
import Sqlable
import Testing

@testable import SqlableTool

/// Tests of the types that `sqlable models` infers from declarations and values.
@Suite(.enabled(if: Program.tool.isAvailable, "the executable is not beside the tests"))
struct ModelTypesTests {
  private func columns(_ table: String, rows: String? = nil) throws -> [String] {
    let insert = rows.map { ["INSERT INTO t VALUES \($0)"] } ?? []
    let lines = try printedModels([table] + insert).components(separatedBy: "\n")
    let start = try #require(lines.firstIndex { $0.hasSuffix(": Sqlable {") }) + 1
    let end = try #require(lines.firstIndex { $0.hasPrefix("  static let tableLayout") })
    return lines[start..<end].map { $0.trimmingCharacters(in: .whitespaces) }
  }

  @Test func databaseTextsAreEscapedInSwiftLiterals() throws {
    for text in ["a\"b", "a\\b", "\\(a)", "a\"#b\\#", "a\nb", "\u{202e}", "\"\u{301}", "a\r\nb\0"] {
      let literal = text.swiftLiteral
      #expect(!literal.contains("\n"))
      #expect(!literal.contains("\u{202e}"))
    }
    #expect(#"a"b"#.swiftLiteral == ##"#"a"b"#"##)
    #expect("a\nb".swiftLiteral == #""a\u{a}b""#)
    #expect("\\\n".swiftLiteral == #""\\\u{a}""#)
    #expect(#"\(a)"#.swiftLiteral == ##"#"\(a)"#"##)
    let lines = try printedModels(["CREATE TABLE \"a\nimport Evil\" (\"b\n*/ }\" TEXT CHECK (\"b\n*/ }\" <> 'x\ny'))"])
      .components(separatedBy: "\n")
    #expect(!lines.contains { $0.hasPrefix("import Evil") || $0.hasPrefix("*/") || $0.hasPrefix("y") })
  }

  @Test func typesFollowTheDeclarations() throws {
    let found = try columns(
      "CREATE TABLE t (a INT NOT NULL, b VARCHAR(3), c DOUBLE PRECISION, d BLOB, e BOOLEAN, f DECIMAL(9, 2), g, h DATE)"
    )
    #expect(
      found == [
        "static let a = column(\"a\", Int.self)  // INT", "static let b = column(\"b\", String?.self)  // VARCHAR(3)",
        "static let c = column(\"c\", Double?.self)  // DOUBLE PRECISION", "static let d = column(\"d\", Data?.self)",
        "static let e = column(\"e\", Bool?.self)  // BOOLEAN",
        "static let f = column(\"f\", Double?.self, DeclaredType(\"DECIMAL(9, 2)\"))",
        "// no declared type, and no stored value",
        "static let g = column(\"g\", Data?.self)  // without a type",
        "// no stored value shows the format of the dates",
        "static let h = column(\"h\", String?.self, DeclaredType(\"DATE\"))",
      ])
  }

  @Test func columnsDeclaredAsJSONHoldText() throws {
    #expect(
      try columns("CREATE TABLE t (a JSON, b JSON NOT NULL)", rows: #"(NULL, '{"c":1}')"#) == [
        "static let a = column(\"a\", String?.self, DeclaredType(\"JSON\"))",
        "static let b = column(\"b\", String.self, DeclaredType(\"JSON\"))",
      ])
    #expect(
      try columns("CREATE TABLE t (a JSON)", rows: "('[]'), (5)") == [
        "// declared JSON, but holds INTEGER and TEXT",
        "static let a = column(\"a\", StoredValue?.self, as: .text, DeclaredType(\"JSON\"))",
      ])
  }

  @Test func typesReadEveryRow() throws {
    let found = try columns(
      "CREATE TABLE t (a INTEGER, b INTEGER, c TEXT NOT NULL, d INTEGER, e REAL, f, g TEXT, h BLOB, i BOOL, j NUMERIC)",
      rows: """
        (0, 1, 'x', 1, 1.5, 7, x'00', 'text', 1, 9007199254740993),
        (1, 1, 'y', 'many', NULL, 8, 'b', 'text', NULL, 1)
        """)
    #expect(
      found == [
        "// contains only 0 and 1; use Int if other numbers are possible", "static let a = column(\"a\", Bool?.self)",
        "static let b = column(\"b\", Int?.self)", "static let c = column(\"c\", String.self)",
        "// declared INTEGER, but holds INTEGER and TEXT",
        "static let d = column(\"d\", StoredValue?.self, as: .integer)", "static let e = column(\"e\", Double?.self)",
        "static let f = column(\"f\", Int?.self, DeclaredType(\"\"))", "// declared TEXT, but holds BLOB and TEXT",
        "static let g = column(\"g\", StoredValue?.self, as: .text)",
        "// declared BLOB, but holds TEXT", "static let h = column(\"h\", String?.self, DeclaredType(\"BLOB\"))",
        "static let i = column(\"i\", Bool?.self)  // BOOL",
        "static let j = column(\"j\", Int?.self, DeclaredType(\"NUMERIC\"))",
      ])
    let broken = try columns("CREATE TABLE t (a TEXT)", rows: "(CAST(x'ff' AS TEXT))")
    #expect(broken.last == "static let a = column(\"a\", StoredValue?.self, as: .text)")
    #expect(broken.first == "// contains text that is not UTF-8; the model reads such text as a BLOB")
  }

  @Test func onlyReadableDatesBecomeDates() throws {
    let found = try columns(
      """
      CREATE TABLE t (a TEXT, b DATETIME, c TEXT, d TIMESTAMP, e DATETIME, f DATE, g INTEGER, h TEXT, i DATE,
        j DATETIME)
      """,
      rows: """
        ('2024-05-06T07:08:09.123Z', '2024-05-06 07:08:09', '2024-05-06', 1700000000, 1700000000123, 1700000000.5,
          1700000000, '2024-05-06T07:08:09.123456Z', 12, '2024-05-06 07:08:09.123')
        """)
    #expect(
      found == [
        "static let a = column(\"a\", Date?.self, as: .date(.iso8601))",
        "// dates in another format than the library writes: filters miss these dates, updates rewrite them",
        "static let b = column(\"b\", Date?.self, as: .date(.sqliteText), DeclaredType(\"DATETIME\"))",
        "static let c = column(\"c\", String?.self)",
        "static let d = column(\"d\", Date?.self, as: .date(.unixSeconds), DeclaredType(\"TIMESTAMP\"))",
        "static let e = column(\"e\", Date?.self, as: .date(.unixMilliseconds), DeclaredType(\"DATETIME\"))",
        "static let f = column(\"f\", Date?.self, DeclaredType(\"DATE\"))", "static let g = column(\"g\", Int?.self)",
        "static let h = column(\"h\", String?.self)",
        "static let i = column(\"i\", Double?.self, DeclaredType(\"DATE\"))",
        "static let j = column(\"j\", Date?.self, as: .date(.sqliteText), DeclaredType(\"DATETIME\"))",
      ])
  }

  /// The model uses the format in which all texts of the column sort as dates.
  @Test func textsOfSeveralFormsHaveAFormat() throws {
    let remark = "// dates in another format than the library writes: filters miss these dates, updates rewrite them"
    for (texts, format, isWritten) in [
      (["2024-05-06 07:08:09.123", "2024-05-06 07:08:10.000"], "sqliteText", true),
      (["2024-05-06 07:08:09.123", "2024-05-06 07:08:10"], "sqliteText", false),
      (["2024-05-06 07:08:09.123", "2024-05-06T07:08:10.000Z"], "iso8601", false),
      (["2024-05-06 07:08:09.123+00"], "iso8601", false), (["2024-05-06 07:08:09.123Z"], "iso8601", false),
      (["2024-05-06T07:08:10.000Z"], "iso8601", true),
    ] {
      let rows = texts.map { "('\($0)')" }.joined(separator: ", ")
      let column = "static let a = column(\"a\", Date?.self, as: .date(.\(format)))"
      #expect(try columns("CREATE TABLE t (a TEXT)", rows: rows) == (isWritten ? [column] : [remark, column]))
    }
  }

  @Test func keysAreNeverBooleans() throws {
    let found = try columns(
      "CREATE TABLE t (a INTEGER NOT NULL UNIQUE, b INTEGER REFERENCES t (a), c INTEGER DEFAULT 5, PRIMARY KEY (a, b))",
      rows: "(0, 0, 0), (1, 1, 1)")
    #expect(!found.contains { $0.contains("Bool") })
    let null = try columns("CREATE TABLE t (a TEXT PRIMARY KEY, b TEXT)", rows: "(NULL, 'x'), ('y', 'z')")
    #expect(
      null.prefix(2) == [
        "// part of the key, but holds NULL", #"static let a = column("a", String?.self, PrimaryKey())"#,
      ])
  }

  @Test func defaultsMatchTheStoredValues() throws {
    let found = try columns(
      """
      CREATE TABLE t (a TEXT DEFAULT 'it''s', b INTEGER DEFAULT -5, c INTEGER DEFAULT '7', d REAL DEFAULT 1,
        e BLOB DEFAULT x'0aff', f TEXT DEFAULT CURRENT_TIMESTAMP, g INTEGER DEFAULT (abs(-1)), h TEXT DEFAULT 3,
        i INTEGER DEFAULT 'none', j TEXT DEFAULT NULL)
      """)
    #expect(
      found == [
        #"static let a = column("a", String?.self, Default("it's"))"#,
        #"static let b = column("b", Int?.self, Default(-5))"#, #"static let c = column("c", Int?.self, Default(7))"#,
        #"static let d = column("d", Double?.self, Default(1))"#,
        #"static let e = column("e", Data?.self, Default(Data([0x0a, 0xff])))"#,
        #"static let f = column("f", String?.self, Default(sql: "CURRENT_TIMESTAMP"))"#,
        #"static let g = column("g", Int?.self, Default(sql: "abs(-1)"))"#,
        #"static let h = column("h", String?.self, Default("3"))"#,
        "// the default is not declared in the model: 'none'",
        #"static let i = column("i", Int?.self)"#, #"static let j = column("j", String?.self, Default(Null()))"#,
      ])
  }
}
