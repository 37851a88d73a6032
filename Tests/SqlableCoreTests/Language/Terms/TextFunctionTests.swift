import Foundation
import SqlableCore
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlableTestSupport

@Suite struct TextFunctionTests {
  @Test func textsAreCutAndReplaced() throws {
    try withStays(Stay(id: 1, at: Stay.moment, note: "  Grüße  "), Stay(id: 2, at: Stay.moment)) { db in
      let query = Stay.select(
        Stay.note.trim(),
        Stay.note.ltrim(),
        Stay.note.rtrim(" e"),
        Stay.note.substr(3, 2),
        Stay.note.substr(-3),
        Stay.note.replace("ü", with: "ue"),
        Stay.note.instr("ß"),
        Stay.note.trim().unicode()
      ).orderBy(Stay.id)
      #expect(
        query.sql == #"""
          SELECT trim("note"), ltrim("note"), rtrim("note", ' e'), substr("note", 3, 2), substr("note", -3), \#
          replace("note", ?, ?), instr("note", ?), unicode(trim("note")) \#
          FROM "stay" ORDER BY "id"
          """#)
      let rows = try query.run(db)
      #expect(rows[0].0 == "Grüße")
      #expect(rows[0].1 == "Grüße  ")
      #expect(rows[0].2 == "  Grüß")
      #expect(rows[0].3 == "Gr")
      #expect(rows[0].4 == "e  ")
      #expect(rows[0].5 == "  Grueße  ")
      #expect(rows[0].6 == 6)
      #expect(rows[0].7 == 71)
      #expect(rows[1].0 == nil)
      #expect(rows[1].3 == nil)
      #expect(rows[1].5 == nil)
      #expect(rows[1].6 == nil)
      #expect(rows[1].7 == nil)
      let kinds = try Stay.select(Stay.note.typeof(), Stay.note.hex(), Stay.real.typeof()).orderBy(Stay.id).run(db)
      #expect(kinds[0] == ("text", "20204772C3BCC39F652020", "real"))
      #expect(kinds[1] == ("null", "", "real"))
    }
  }

  @Test func instrFindsTextAfterANulOfAStoredText() throws {
    try withStays(Stay(id: 1, at: Stay.moment, note: "ab\u{0}cd")) { db in
      let found = try Stay.select(Stay.id).filter(Stay.note.instr("cd") > 0).run(db)
      let prefixed = try Stay.select(Stay.id).filter(Stay.note.hasPrefix("ab")).run(db)
      let missed = try Stay.count().filter(Stay.note.contains("cd")).run(db)
      #expect(found == [1])
      #expect(prefixed == [1])
      #expect(missed == 0)
    }
  }

  @Test func untypedTextsAreCutAndReplaced() throws {
    try withCompany { db in
      let query = Bicycle.select(
        Bicycle.name.substr(2),
        Bicycle.name.trim("No"),
        Bicycle.name.replace("or", with: "OR"),
        Bicycle.name.instr("c"),
        Bicycle.name.unicode(),
        Bicycle.name.hex(),
        Bicycle.id.typeof(),
        (Bicycle.id * 1.26).round(1))
      #expect(
        query.sql == #"""
          SELECT substr("name", 2), trim("name", 'No'), replace("name", ?, ?), instr("name", ?), unicode("name"), \#
          hex("name"), typeof("id"), round("id" * ?, 1) \#
          FROM "bicycle"
          """#)
      let first = try query.filter(Bicycle.id == 1).first(db)
      #expect(
        first?.values == [
          .text("orco"),
          .text("rc"),
          .text("NORco"),
          .integer(4),
          .integer(78),
          .text("4E6F72636F"),
          .text("integer"),
          .real(1.3),
        ])
    }
  }

  @Test func numbersAreRoundedAndRandomNumbersDiffer() throws {
    try withCompany { db in
      let query = Worker.select((Worker.salary / 3).round(2), randomInteger()).orderBy(Worker.id)
      #expect(query.sql == #"SELECT round("salary" / ?, 2), random() FROM "worker" ORDER BY "id""#)
      let rows = try query.run(db)
      #expect(rows.map(\.0) == [3.33, 1.67, 2.33, 1.67])
      #expect(Set(rows.map(\.1)).count == 4)
    }
  }

  @Test func wildcardsInSearchedTextsAreEscaped() throws {
    let texts = textsLikeSQL + ["xx", "100x", "a%b", "a_b", "a\\b", "Abc"]
    try withDatabase { db in
      try db.createTable(Stay.self)
      try Stay.insert(texts.enumerated().map { Stay(id: $0.offset, at: Stay.moment, note: $0.element) }).run(db)
      try Stay(id: 1000, at: Stay.moment).insert().run(db)
      let sql = #"SELECT count(*) FROM "stay" WHERE "note" LIKE ? ESCAPE "#
      func notes(_ condition: SqlExpression) throws -> [String?] {
        try Stay.select(Stay.note).filter(condition).orderBy(Stay.id).run(db)
      }
      for text in texts {
        let fold = { (text: String) in Array(text.lowercased().unicodeScalars) }
        #expect(Stay.count().filter(Stay.note.hasPrefix(text)).sql == sql + #"'\'"#)
        #expect(try notes(Stay.note.hasPrefix(text)) == texts.filter { fold($0).starts(with: fold(text)) }, "\(text)")
        #expect(
          try notes(Stay.note.hasSuffix(text))
            == texts.filter { fold($0).reversed().starts(with: fold(text).reversed()) }, "\(text)")
        let found = try notes(Stay.note.contains(text))
        #expect(
          found
            == texts.filter { other in
              fold(text).isEmpty || fold(other).indices.contains { fold(other)[$0...].starts(with: fold(text)) }
            }, "\(text)")
        #expect(Bicycle.count().filter(Bicycle.name.contains(text)).sql.hasSuffix(#"WHERE "name" LIKE ? ESCAPE '\'"#))
      }
      let none = try notes(Stay.note.contains("a\0b"))
      #expect(none.isEmpty)
    }
  }

  @Test func argumentsBeyond32BitsAreClamped() throws {
    try withStays(Stay(id: 1, at: Stay.moment, note: "abcdef")) { db in
      let long = 1 << 32
      let texts = Stay.select(
        Stay.note.substr(long + 1),
        Stay.note.substr(2, long + 1),
        Stay.note.substr(-1, .max),
        Stay.note.substr(.max),
        Stay.note.column.substr(3, long).typed(as: String.self))
      let row = try #require(try texts.first(db))
      #expect(row == ("", "bcdef", "f", "", "cdef"))
      let half = TypedExpression(0.5)
      let rounded = try #require(try Stay.select(half.round(long), half.round(.min)).first(db))
      #expect(rounded == (0.5, 1))
    }
  }

  @Test func globDistinguishesCase() throws {
    try withCompany { db in
      #expect(Worker.count().filter(Worker.name.glob("A*")).sql.hasSuffix(#"WHERE "name" GLOB ?"#))
      let upper = try Worker.count().filter(Worker.name.glob("A*")).run(db)
      #expect(upper == 1)
      #expect(try Worker.count().filter(Worker.name.glob("a*")).run(db) == 0)
      #expect(try Bicycle.count().filter(Bicycle.name.glob("[NT]*")).run(db) == 2)
    }
  }

  @Test func valuesNeverChangeTheSQL() throws {
    func statements(_ text: String) -> [Select<String?>] {
      [
        Stay.select(Stay.note.replace(text, with: text)),
        Stay.select(Stay.note.trim().nullIf(text)),
        Stay.select(Stay.note.ifNull(text).nullIf("x")),
        Stay.select(Case.when(Stay.note == text, then: text).end()),
        Stay.select(Stay.note.least(text)).filter(Stay.note.glob(text) || Stay.note.instr(text) > 0),
        Stay.select(Stay.note).filter(Stay.note.isDistinct(from: text)),
      ]
    }
    /// Returns statements with constants, which the SQL contains as literals.
    func constants(_ text: String) -> [(Select<String?>, String)] {
      let literal = "'" + text.replacingOccurrences(of: "'", with: "''") + "'"
      return [
        (Stay.select(Stay.note.trim(text)), #"SELECT trim("note", \#(literal)) FROM "stay""#),
        (Stay.select(Stay.note.ltrim(text)), #"SELECT ltrim("note", \#(literal)) FROM "stay""#),
        (Stay.select(Stay.note.rtrim(text)), #"SELECT rtrim("note", \#(literal)) FROM "stay""#),
        (Stay.select(Stay.iso.strftime(text)), #"SELECT strftime(\#(literal), "iso") FROM "stay""#),
      ]
    }
    try withStays(Stay(id: 1, at: Stay.moment, note: "x")) { db in
      for text in textsLikeSQL {
        #expect(statements(text).map(\.sql) == statements("x").map(\.sql))
        for statement in statements(text) { _ = try statement.run(db) }
        for (statement, sql) in constants(text) {
          #expect(statement.sql == sql)
          #expect(try statement.run(db).count == 1)
        }
        #expect(try Stay.select(Stay.note.replace("x", with: text)).run(db) == [text])
        #expect(try Stay.select(Case.when(Stay.id == 1, then: text).else("")).run(db) == [text])
      }
    }
  }
}
