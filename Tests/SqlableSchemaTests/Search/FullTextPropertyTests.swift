import Foundation
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// A generator of texts and inputs with few letters, so that matches are frequent, and arbitrary separators.
private struct Texts {
  var random: SeededGenerator

  private static let words = ["a", "ab", "abc", "b", "ba", "c", "É", "éa", "ÄB", "日本", "x1", "1", "a\u{301}"]
  private static let gaps = [
    " ", " ", " ", "  ", "-", "\"", "'", "*", ", ", "\n", " AND ", "(", ") ",
    "\0", "😀", ":", "^", "\u{A0}",
  ]

  mutating func next(_ count: ClosedRange<Int>) -> String {
    var text = random.chance(50) ? "" : random.pick(Texts.gaps)
    for _ in 0..<Int.random(in: count, using: &random) { text += random.pick(Texts.words) + random.pick(Texts.gaps) }
    return text
  }
}

private typealias FoldedWord = [UInt8]

/// FTS5's ascii tokenizer in Swift: words consist of ASCII letters, digits and all characters beyond ASCII.
private func words(_ text: some StringProtocol) -> [FoldedWord] {
  text.utf8.split { byte in
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): false
    case UInt8(ascii: "0")...UInt8(ascii: "9"), 128...: false
    default: true
    }
  }.map { word in word.map { (65...90).contains($0) ? $0 + 32 : $0 } }
}

/// Splits input into the same parts as the library.
private func parts(_ input: String) -> [[FoldedWord]] {
  input.unicodeScalars.split { $0.properties.isWhitespace || $0 == "\0" }.map { words(String($0)) }
}

/// Returns whether a text contains consecutive words, the last of which may be a prefix.
private func has(_ text: [FoldedWord], _ phrase: [FoldedWord], isPrefix: Bool = false) -> Bool {
  guard let last = phrase.last, phrase.count <= text.count else { return false }
  return (0...(text.count - phrase.count)).contains { start in
    let part = text[start..<(start + phrase.count)]
    let endsRight = isPrefix ? part.last?.starts(with: last) == true : part.last == last
    return endsRight && part.dropLast().elementsEqual(phrase.dropLast())
  }
}

private enum Ascii: TableDeclaration {
  static let columns = [Column("id", .integer, PrimaryKey()), Column("a", .text), Column("b", .text)]
  static let fullText = FullTextIndex(columns[1], columns[2], tokenizer: .ascii, prefixes: [1, 2])
}

private typealias Row = Entry<Ascii>

@Suite struct FullTextPropertyTests {
  @Test func randomSearchesAgreeWithPlainSwift() throws {
    try withDatabase { db in
      try db.createTable(Row.self)
      var texts = Texts(random: SeededGenerator(seed: SeededGenerator.seed))
      var stored: [Int: [[FoldedWord]]] = [:]
      for id in 1...60 {
        let (a, b) = (texts.next(0...5), texts.next(0...3))
        try Row(.integer(Int64(id)), .text(a), .text(b)).insert().run(db)
        stored[id] = [words(a), words(b)]
      }
      func ids(_ query: FullTextQuery) throws -> [Int] {
        let found = try Row.search(query).run(db)
        return found.compactMap { row in if case .integer(let id) = row.values[0] { Int(id) } else { nil } }.sorted()
      }
      func expected(
        in columns: [Int] = [0, 1], _ phrases: [[FoldedWord]], prefix: Bool = false, any: Bool = false
      ) -> [Int] {
        stored.filter { _, texts in
          let conditions = phrases.enumerated().filter { !$1.isEmpty }.map { index, phrase in
            columns.contains { has(texts[$0], phrase, isPrefix: prefix && index == phrases.count - 1) }
          }
          return any ? conditions.contains(true) : !conditions.isEmpty && conditions.allSatisfy { $0 }
        }.keys.sorted()
      }
      var hits = 0
      for _ in 0..<times(250) {
        let input = texts.next(0...3)
        let label = Comment(rawValue: input.debugDescription)
        let all = try ids(.words(input))
        #expect(all == expected(parts(input)), label)
        #expect(try ids(.anyWord(input)) == expected(parts(input), any: true), label)
        #expect(try ids(.phrase(input)) == expected([words(input)]), label)
        #expect(try ids(.prefix(input)) == expected(parts(input), prefix: true), label)
        #expect(try ids(.words(input, in: Ascii.columns[2])) == expected(in: [1], parts(input)), label)
        let other = texts.next(1...1)
        let both = try ids(.words(input).excluding(.words(other)))
        #expect(both == all.filter { !expected(parts(other)).contains($0) }, label)
        hits += all.count
      }
      #expect(hits > times(500))
    }
  }

  @Test func randomChangesKeepTheIndexInStep() throws {
    try withDatabase(.init(recursiveTriggers: true)) { db in
      try db.createTable(Row.self)
      var texts = Texts(random: SeededGenerator(seed: SeededGenerator.seed))
      for round in 0..<times(300) {
        let id = Int64(Int.random(in: 1...30, using: &texts.random))
        let row = Row(.integer(id), .text(texts.next(0...3)), .text(texts.next(0...2)))
        switch Int.random(in: 0..<8, using: &texts.random) {
        case 0: try row.insert().ignoreOnConflict().run(db)
        case 1: try row.insert().replaceOnConflict().run(db)
        case 2: try row.save().run(db)
        case 3: try row.update().run(db)
        case 4: try row.delete().run(db)
        case 5: try Row.insert([row, Row(.integer(id % 30 + 1), "x", "y")]).replaceOnConflict().run(db)
        case 6: try row.insert().onConflict(Ascii.columns[0], update: Ascii.columns[2]).run(db)
        default:
          try db.transaction { db -> TransactionResult in
            try row.save().run(db)
            return round.isMultiple(of: 2) ? .rollback : .commit
          }
        }
        if round.isMultiple(of: 20) {
          let isIntact = try db.isFullTextIntact(Row.self)
          #expect(isIntact, "round \(round)")
        }
      }
      #expect(try db.isFullTextIntact(Row.self))
      let count = try Row.count().run(db)
      #expect(count > 5)
    }
  }
}
