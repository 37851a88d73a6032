import Foundation
import SqlableCore
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Text functions with terms as arguments, compared with plain Swift.
@Suite struct TextTermTests {
  private static let texts = [
    "", "a", "aa", "aaa", "ab", "ba", "A", "é", "e\u{301}", "日本", "本", "😀", "%", "_", "'", "\"", "a\0b", "\0", "b",
  ]

  /// Calls `body` with random rows of three texts, the first of which may be NULL.
  private func withTexts(_ body: (SqliteDatabase, [Sample]) throws -> Void) throws {
    var random = SeededGenerator(seed: SeededGenerator.seed)
    let rows = (0..<times(400)).map { (id: Int) in
      Sample(
        id: id, text: random.chance(20) ? nil : random.pick(Self.texts) + random.pick(Self.texts),
        part: random.pick(Self.texts), other: random.pick(Self.texts))
    }
    try withDatabase { db in
      try db.createTable(Sample.self)
      try Sample.insert(rows).run(db)
      try body(db, rows)
    }
  }

  @Test func anEmptyFormatMakesEmptyText() throws {
    try withCinema { db throws in
      #expect(try Film.select(format("", Film.title)).first(db) == "")
    }
  }

  @Test func everyOccurrenceOfAnotherTextIsReplaced() throws {
    try withTexts { db, rows throws in
      let query = Sample.select(Sample.text.replace(Sample.part, with: Sample.other)).orderBy(Sample.id)
      #expect(query.sql == #"SELECT replace("text", "part", "other") FROM "sample" ORDER BY "id""#)
      let expected = rows.map { row in row.text.map { replacing($0, row.part, row.other) } }
      #expect(try query.run(db) == expected)
      for row in rows.prefix(40) {
        let fixed = Sample.select(Sample.text.replace(row.part, with: row.other)).orderBy(Sample.id)
        #expect(try fixed.run(db) == rows.map { $0.text.map { replacing($0, row.part, row.other) } })
      }
      // A computed text is a valid argument too.
      let lower = Sample.select(Sample.part.replace(Sample.part.lowercase(), with: Sample.other.concatenated("!")))
      let lowered = rows.map { replacing($0.part, ascii($0.part), $0.other + "!") }
      #expect(try lower.orderBy(Sample.id).run(db) == lowered)
    }
  }

  @Test func instrFindsThePositionOfAnotherText() throws {
    try withTexts { db, rows throws in
      let query = Sample.select(Sample.text.instr(Sample.part), Sample.part.instr(Sample.other)).orderBy(Sample.id)
      #expect(query.sql == #"SELECT instr("text", "part"), instr("part", "other") FROM "sample" ORDER BY "id""#)
      let found = try query.run(db)
      #expect(found.map(\.0) == rows.map { row in row.text.map { place(of: row.part, in: $0) } })
      #expect(found.map(\.1) == rows.map { place(of: $0.other, in: $0.part) })
      let untyped = try Sample.select(Sample.part.column.instr(Sample.text.column)).orderBy(Sample.id).run(db)
      #expect(
        try untyped.map { try $0.get(at: 0, as: Int?.self) }
          == rows.map { row in row.text.map { place(of: $0, in: row.part) } })
      for row in rows.prefix(40) {
        let fixed = try Sample.select(Sample.part.instr(row.other)).orderBy(Sample.id).run(db)
        #expect(fixed == rows.map { place(of: row.other, in: $0.part) })
      }
    }
  }

  @Test(.needs(40, "group_concat of texts with NUL bytes")) func groupConcatJoinsDistinctTexts() throws {
    try withTexts { db, rows throws in
      let query = Sample.select(
        Sample.part,
        Sample.text.groupConcat(distinct: true),
        Sample.other.groupConcat(distinct: true, where: Sample.id < 50),
        Sample.text.groupConcat(distinct: false),
        Sample.id.groupConcat(distinct: true)
      ).groupBy(Sample.part).orderBy(Sample.part)
      #expect(
        query.sql == #"""
          SELECT "part", group_concat(DISTINCT "text"), group_concat(DISTINCT "other") FILTER (WHERE "id" < ?), \#
          group_concat("text"), group_concat(DISTINCT "id") \#
          FROM "sample" GROUP BY "part" ORDER BY "part"
          """#)
      let groups = Dictionary(grouping: rows, by: { Array($0.part.utf8) })
      let found = try query.run(db)
      #expect(found.count == groups.count)
      for row in found {
        let group = try #require(groups[Array(row.0.utf8)])
        #expect(parts(row.1) == distinct(group.compactMap(\.text)))
        #expect(parts(row.2) == distinct(group.filter { $0.id < 50 }.map(\.other)))
        #expect(parts(row.3) == all(group.compactMap(\.text)))
        #expect(parts(row.4) == distinct(group.map { "\($0.id)" }))
      }
      let untyped = try Sample.select(Sample.text.column.groupConcat(distinct: true)).run(db)
      #expect(parts(try untyped[0].get(at: 0, as: String?.self)) == distinct(rows.compactMap(\.text)))
      #expect(try Sample.select(Sample.part.groupConcat(distinct: true)).filter(Sample.id < 0).run(db) == [nil])
      #expect(try Sample.select(Sample.text.groupConcat(distinct: true)).filter(Sample.text.isNull).run(db) == [nil])
    }
  }

  @Test func aWindowRefusesDistinctAggregates() throws {
    try withTexts { db, _ throws in
      let error = sqlError { _ = try Sample.select(Sample.text.groupConcat(distinct: true).over()).run(db) }
      let says = "DISTINCT is not supported for window functions"
      #expect(error?.message.contains(says) == true, "\(String(describing: error))")
    }
  }

  // MARK: In plain Swift, byte by byte: for Swift "é" is the same in both of its forms

  private func replacing(_ text: String, _ part: String, _ other: String) -> String {
    // SQLite's replace() takes a text that starts with a NUL for an empty one.
    guard let first = part.utf8.first, first != 0 else { return text }
    var (rest, result) = (Array(text.utf8)[...], [UInt8]())
    while !rest.isEmpty {
      if rest.starts(with: part.utf8) {
        result += other.utf8
        rest = rest.dropFirst(part.utf8.count)
      } else {
        result.append(rest.removeFirst())
      }
    }
    return String(decoding: result, as: UTF8.self)
  }

  private func place(of part: String, in text: String) -> Int {
    let (part, text) = (Array(part.unicodeScalars), Array(text.unicodeScalars))
    return (0...text.count).first { text[$0...].starts(with: part) }.map { $0 + 1 } ?? 0
  }

  private func ascii(_ text: String) -> String {
    String(decoding: text.utf8.map { (0x41...0x5A).contains($0) ? $0 + 32 : $0 }, as: UTF8.self)
  }

  private func precedes(_ left: [UInt8], _ right: [UInt8]) -> Bool { left.lexicographicallyPrecedes(right) }

  private func all(_ texts: [String]) -> [[UInt8]]? {
    texts.isEmpty ? nil : texts.map { Array($0.utf8) }.sorted(by: precedes)
  }

  private func distinct(_ texts: [String]) -> [[UInt8]]? {
    all(texts).map { Set($0).sorted(by: precedes) }
  }

  /// Splits a text at commas, which no test text contains.
  private func parts(_ text: String?) -> [[UInt8]]? {
    text.map { $0.utf8.split(separator: 0x2C, omittingEmptySubsequences: false).map(Array.init).sorted(by: precedes) }
  }
}
