import Foundation
import SqlableCore
import SqlableDocuments
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Constants written into the SQL and bound values, checked by the query plans.
@Suite struct ConstantTests {
  private enum Words: TableDeclaration {
    static let id = Column("id", .integer, PrimaryKey())
    static let folded = Column("folded", .text, Collate.nocase)
    static let exact = Column("exact", .text)
    static let columns = [id, folded, exact]
    static let indexes = [Index(folded), Index(exact)]
  }
  private typealias Word = Entry<Words>

  private func withWords(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db throws in
      try db.createTable(Word.self)
      let words = ["apple", "Apply", "appl", "a%pple", "a_ple", "a\\ple", "banana", "", "'\u{301}x", "äpfel", "100%"]
      try Word.insert(words.enumerated().map { Word(.integer(Int64($0)), .text($1), .text($1)) }).run(db)
      try body(db)
    }
  }

  @Test func aPrefixFilterUsesACaseInsensitiveIndex() throws {
    try withWords { db throws in
      for prefix in ["app", "APP", "a%", "a_", "a\\", "100%", "'\u{301}", "ä", "nothing"] {
        let read = Word.read().filter(Words.folded.hasPrefix(prefix)).orderBy(Words.id)
        #expect(read.sql.contains(#""folded" LIKE ? ESCAPE '\'"#))
        let plan = try read.explain(db).description
        #expect(plan.contains("SEARCH t USING INDEX t_folded (folded>? AND folded<?)"), "\(prefix): \(plan)")
        let byScan = Word.read().filter(Words.exact.hasPrefix(prefix)).orderBy(Words.id)
        #expect(try byScan.explain(db).description.contains("SEARCH") == false)
        let (found, expected) = (try read.run(db), try byScan.run(db))
        #expect(found == expected, "\(prefix)")
        #expect(found.isEmpty == (prefix == "nothing"), "\(prefix)")
      }
      // Statements of the same shape with other values need other plans.
      let counts = try ["app", "b", "%", ""].map { try Word.count().filter(Words.folded.hasPrefix($0)).run(db) }
      #expect(counts == [3, 1, 0, 11])
    }
  }

  @Test func aCustomEscapeIsWrittenIntoTheSQL() throws {
    try withWords { db throws in
      for escape in ["!", "'", "\\", "é"] as [Character] {
        let read = Word.read().filter(Words.folded.like("a\(escape)%pp%", escape: escape))
        #expect(try read.run(db).map { $0.values[1] } == ["a%pple"], "\(escape)")
        // SQLite optimizes LIKE only with an escape of one byte.
        #expect(try read.explain(db).description.contains("SEARCH") == (escape.utf8.count == 1))
      }
      // The SQL does not depend on the pattern.
      let inside = Word.count().filter(Words.folded.contains("ppl"))
      #expect(inside.sql.hasSuffix(#"LIKE ? ESCAPE '\'"#))
      #expect(inside.bindings == ["%ppl%"])
      #expect(try inside.run(db) == 4)
    }
  }

  @Test func globUsesACaseSensitiveIndex() throws {
    try withWords { db throws in
      let read = Word.read().filter(Words.exact.glob("app*"))
      #expect(try read.explain(db).description == "SEARCH t USING INDEX t_exact (exact>? AND exact<?)")
      #expect(try read.run(db).map { $0.values[2] } == ["appl", "apple"])
    }
  }

  @Test(.needs(38, "->>")) func anIndexOnTheSameExpressionIsUsed() throws {
    try withStays(Stay(id: 1, at: Stay.moment, note: "  abc ", doc: #"{"kind":"a","pets":[{"age":3}]}"#)) { db throws in
      let cases: [(index: String, condition: SqlExpression, isMet: Bool)] = [
        ("json_extract(doc, '$.kind')", Stay.doc.jsonExtract("kind", as: String.self) == "a", true),
        ("doc ->> '$.pets[0].age'", Stay.doc.jsonValue("pets", 0, "age", as: Int.self) == 3, true),
        ("doc -> '$.pets'", Stay.doc.json("pets") == "[]", false),
        (#"doc ->> '$."it''s"'"#, Stay.doc.jsonValue("it's", as: Int.self) == 3, false),
        ("json_type(doc, '$.kind')", Stay.doc.jsonType("kind") == "text", true),
        ("json_array_length(doc, '$.pets')", Stay.doc.jsonArrayLength("pets") == 1, true),
        ("strftime('%Y-%m', seconds, 'unixepoch')", Stay.seconds.strftime("%Y-%m") == "2024-01", true),
        ("substr(note, 3, 2)", Stay.note.substr(3, 2) == "ab", true),
        ("substr(note, -2)", Stay.note.substr(-2) == "c ", true),
        ("trim(note, ' a')", Stay.note.trim(" a") == "bc", true),
        ("round(flags, 1)", Stay.flags.column.round(1) == 9, false),
      ]
      for (number, (index, condition, isMet)) in cases.enumerated() {
        let count = Stay.count().filter(condition)
        #expect(try count.explain(db).description.contains("SEARCH") == false)
        try db.execute(SQL(verbatim: "CREATE INDEX i\(number) ON stay (\(index))"))
        let plan = try count.explain(db).description
        #expect(plan.contains("SEARCH stay USING"), "\(index): \(plan)")
        #expect(plan.contains("INDEX i\(number) (<expr>=?)"), "\(index): \(plan)")
        #expect(try count.run(db) == (isMet ? 1 : 0), "\(index)")
      }
    }
  }

  @Test(.needs(38, "->>")) func differentConstantsMakeDifferentStatements() throws {
    try withStays(Stay(id: 1, at: Stay.moment, note: "abcdef", doc: #"{"a":1,"b":2,"it's":3}"#)) { db throws in
      // The second pass finds the statements in the cache.
      for _ in 1...2 {
        for (key, value) in ["a": 1, "b": 2, "it's": 3] {
          let read = Stay.select(Stay.doc.jsonValue(.key(key), as: Int.self))
          #expect(try read.run(db) == [value])
          #expect(try Stay.count().filter(Stay.doc.jsonExtract(.key(key), as: Int.self) == value).run(db) == 1)
        }
        for start in 1...6 {
          #expect(try Stay.select(Stay.note.substr(start)).run(db) == [String("abcdef".dropFirst(start - 1))])
          #expect(try Stay.select(Stay.note.substr(1, start)).run(db) == [String("abcdef".prefix(start))])
        }
        #expect(try Stay.select(Stay.seconds.strftime("%Y")).run(db) == ["2024"])
        #expect(try Stay.select(Stay.seconds.strftime("%m")).run(db) == ["01"])
        for escape in ["!", "c"] as [Character] {
          let isMet = try Stay.count().filter(Stay.note.like("abc%", escape: escape)).run(db) == 1
          #expect(isMet == (escape == "!"))
        }
      }
    }
  }

  @Test func aConstantWithANULIsRefused() throws {
    try withStays(Stay(id: 1, at: Stay.moment, note: "a")) { db throws in
      for _ in 1...2 {
        expectInvalidStatement { _ = try Stay.select(Stay.seconds.strftime("%Y\0")).run(db) }
        expectInvalidStatement { _ = try Stay.select(Stay.note.trim("a\0")).run(db) }
      }
    }
  }

  @Test func plansSeeTheValues() throws {
    try withStays(Stay(id: 1, at: Stay.moment, note: "red", flags: 4)) { db throws in
      try db.execute("CREATE INDEX red ON stay (flags) WHERE note = 'red'")
      func condition(_ note: String) -> SqlExpression { Stay.note == note && Stay.flags > 3 }
      let plan = try Stay.read().filter(condition("red")).explain(db)
      #expect(plan.description == "SEARCH stay USING INDEX red (flags>?)")
      #expect(plan.scans.isEmpty)
      #expect(try Stay.read().filter(condition("blue")).explain(db).scans == ["stay"])
      let rows = Stay.read().filter(condition("red"))
      #expect(try rows.explain(db).scans.isEmpty)
      #expect(try rows.run(db).count == 1)
      // A long list is one bound value; a parameter has no value yet.
      #expect(try Stay.read().filter(Stay.id.in(Array(1...100))).explain(db).scans.isEmpty)
      #expect(try Stay.read().filter(Stay.id == Parameter<Int>("id")).explain(db).scans.isEmpty)
    }
  }
}
