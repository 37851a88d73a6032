import Foundation
import SqlableCodable
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// The containers of `Codable` that are reused for later rows. A container or coder that a model keeps is never used
/// for another row.
@Suite struct CodableReuseTests {
  /// The coders and containers that models have kept; only for the thread of one test.
  private final class Kept: @unchecked Sendable {
    // Sound: a single test uses each object, on one thread.
    var reads: [() throws -> String] = []
    var writes: [(String) throws -> Void] = []
    var outcomes: [String] = []
  }

  @TaskLocal private static var kept = Kept()

  private enum Keeping { case nothing, container, coder }

  @TaskLocal private static var keeping = Keeping.nothing

  private struct Word: SqlCodable, Equatable {
    var id: Int
    var text: String
    static let id = column("id", Int.self, PrimaryKey())
    static let text = column("text", String.self)
    static let tableLayout = [id.column, text.column]
    enum CodingKeys: CodingKey { case id, text }

    init(id: Int, text: String) { (self.id, self.text) = (id, text) }

    init(from decoder: any Decoder) throws {
      let kept = CodableReuseTests.kept
      kept.outcomes += kept.reads.map { read in
        do { return try read() } catch { return "\(isMisuse(error) ? "misuse" : "\(error)")" }
      }
      let container = try decoder.container(keyedBy: CodingKeys.self)
      id = try container.decode(Int.self, forKey: .id)
      text = try container.decode(String.self, forKey: .text)
      // Only some rows keep something, so that containers are reused before and after.
      guard id % 3 == 0 else { return }
      switch CodableReuseTests.keeping {
      case .nothing: break
      case .container: kept.reads.append { try container.decode(String.self, forKey: .text) }
      case .coder:
        kept.reads.append { try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .text) }
      }
    }

    func encode(to encoder: any Encoder) throws {
      let kept = CodableReuseTests.kept
      for write in kept.writes {
        do { try write("lost") } catch { kept.outcomes.append("\(isMisuse(error))") }
      }
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(id, forKey: .id)
      try container.encode(text, forKey: .text)
      guard id % 3 == 0 else { return }
      switch CodableReuseTests.keeping {
      case .nothing: break
      case .container:
        let copy = container
        kept.writes.append { text in
          var container = copy
          try container.encode(text, forKey: .text)
        }
      case .coder:
        kept.writes.append { text in
          var container = encoder.container(keyedBy: CodingKeys.self)
          try container.encode(text, forKey: .text)
        }
      }
    }
  }

  private static let words = (1...8).map { Word(id: $0, text: "word \($0)") }

  @Test(arguments: [false, true]) func aKeptDecoderReadsNoLaterRow(_ keepsCoder: Bool) throws {
    try withDatabase { db in
      try db.createTable(Word.self)
      try Word.insert(CodableReuseTests.words).run(db)
      let kept = Kept()
      try CodableReuseTests.$kept.withValue(kept) {
        try CodableReuseTests.$keeping.withValue(keepsCoder ? .coder : .container) {
          for _ in 1...2 {
            let words = try Word.read().orderBy(Word.id).run(db)
            #expect(words == CodableReuseTests.words)
          }
        }
      }
      // The rows 3 and 6 of both reads keep something: the first read uses it 7 times, and the second 23 times.
      #expect(kept.outcomes == Array(repeating: "misuse", count: 30))
    }
  }

  @Test(arguments: [false, true]) func aKeptEncoderWritesNoLaterRow(_ keepsCoder: Bool) throws {
    try withDatabase { db in
      try db.createTable(Word.self)
      let kept = Kept()
      try CodableReuseTests.$kept.withValue(kept) {
        try CodableReuseTests.$keeping.withValue(keepsCoder ? .coder : .container) {
          try Word.insert(CodableReuseTests.words).run(db)
        }
      }
      #expect(kept.outcomes == Array(repeating: "true", count: 7))
      #expect(try Word.read().orderBy(Word.id).run(db) == CodableReuseTests.words)
    }
  }

  // MARK: Several models in a row

  @Test func rowsOfJoinsHaveSeveralModels() throws {
    try withDatabase { db in
      try db.createTables(Word.self, Light.self)
      try Word.insert(CodableReuseTests.words).run(db)
      try Light.insert((1...8).map { Light(id: $0, color: "color \($0)") }).run(db)
      for _ in 1...2 {
        let rows = try Word.join(Light.self, on: Word.id == Light.id).orderBy(Word.id).run(db)
        #expect(rows.map(\.0) == CodableReuseTests.words)
        #expect(rows.map(\.1.id) == Array(1...8))
        #expect(rows.map(\.1.color) == (1...8).map { "color \($0)" })
        let turned = try Light.leftJoin(Word.self, on: Word.id == Light.id * 2).orderBy(Light.id).run(db)
        #expect(turned.map(\.0.color) == (1...8).map { "color \($0)" })
        #expect(turned.map(\.1?.text) == ["word 2", "word 4", "word 6", "word 8", nil, nil, nil, nil])
      }
    }
  }

  /// A model that reads two other models from its row, one of them within `init(from:)` of the other.
  private struct Twice: Sqlable {
    var word: Word
    var nested: [Word]
    static let tableName = "word"
    static let tableLayout = Word.tableLayout

    init(row: ReadRow) throws {
      let outer = try Outer.$row.withValue(SharedRow(row: row)) { try Outer(row: row) }
      (nested, word) = (outer.nested, try Word(row: row))
    }
  }

  private struct SharedRow: @unchecked Sendable {
    // Sound: only the test's thread uses the row.
    let row: ReadRow
  }

  private struct Outer: SqlCodable {
    var nested: [Word] = []
    @TaskLocal static var row: SharedRow?
    static let tableName = "word"
    static let tableLayout = Word.tableLayout
    enum CodingKeys: CodingKey { case text, id }

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      let id = try container.decode(Int.self, forKey: .id)
      if let shared = Outer.row { nested.append(try Word(row: shared.row)) }
      nested.append(Word(id: id, text: try container.decode(String.self, forKey: .text)))
    }

    func encode(to encoder: any Encoder) throws {}
  }

  @Test func aModelReadsAnotherModelOfItsRow() throws {
    try withDatabase { db in
      try db.createTable(Word.self)
      try Word.insert(CodableReuseTests.words).run(db)
      let rows = try Twice.read().orderBy(Word.id).run(db)
      #expect(rows.map(\.word) == CodableReuseTests.words)
      #expect(rows.map(\.nested) == CodableReuseTests.words.map { [$0, $0] })
    }
  }

  // MARK: Statements inside of coding

  /// A model that reads and writes its own table while it is decoded and encoded.
  private struct Tree: SqlCodable {
    var id: Int
    var parent: Int?
    var ancestors: [Int] = []
    static let id = column("id", Int.self, PrimaryKey())
    static let parent = column("parent", Int?.self)
    static let tableLayout = [id.column, parent.column]
    enum CodingKeys: CodingKey { case id, parent }
    @TaskLocal static var database: SharedDatabase?

    init(id: Int, parent: Int?) { (self.id, self.parent) = (id, parent) }

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      parent = try container.decodeIfPresent(Int.self, forKey: .parent)
      if let parent, let found = try Tree.byId(parent).run(Tree.opened()) { ancestors = [parent] + found.ancestors }
      id = try container.decode(Int.self, forKey: .id)
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(id, forKey: .id)
      try container.encode(parent, forKey: .parent)
    }

    static func opened() throws -> SqliteDatabase {
      guard let database else { throw CancellationError() }
      return database.handle
    }
  }

  private struct SharedDatabase: @unchecked Sendable {
    // Sound: only the test's thread uses the handle.
    let handle: SqliteDatabase
  }

  @Test func aModelReadsItsTableWhileItIsDecoded() throws {
    try withDatabase { db in
      try db.createTable(Tree.self)
      try Tree.insert((1...6).map { Tree(id: $0, parent: $0 == 1 ? nil : $0 - 1) }).run(db)
      try Tree.$database.withValue(SharedDatabase(handle: db)) {
        for _ in 1...2 {
          let trees = try Tree.read().orderBy(Tree.id).run(db)
          #expect(trees.map(\.id) == Array(1...6))
          #expect(trees.map(\.ancestors) == [[], [1], [2, 1], [3, 2, 1], [4, 3, 2, 1], [5, 4, 3, 2, 1]])
        }
      }
    }
  }

  // MARK: Threads

  private struct Fresh: SqlCodable, Equatable {
    var id: Int
    var text: String?
    var date: Date
    var list: [Int]
    static let id = column("id", Int.self, PrimaryKey())
    static let text = column("text", String?.self)
    static let date = column("date", Date.self)
    static let list = column("list", [Int].self)
    static let tableLayout = [id.column, text.column, date.column, list.column]
  }

  @Test func threadsReadAndWriteOneModelConcurrently() throws {
    try withDirectory { directory in
      onThreads(6) { thread in
        let wrong = Result {
          let date = Date(timeIntervalSince1970: Double(thread))
          let rows = (1...40).map { Fresh(id: $0, text: $0 % 3 == 0 ? nil : "\(thread)", date: date, list: [$0]) }
          var wrong = 0
          for round in 1...5 {
            // Later handles recycle the memory of earlier ones.
            let db = try SqliteDatabase(filepath: "\(directory)/\(thread) \(round).sqlite")
            try db.createTable(Fresh.self)
            try Fresh.insert(rows).run(db)
            for _ in 1...5 where try Fresh.read().orderBy(Fresh.id).run(db) != rows { wrong += 1 }
          }
          return wrong
        }
        #expect((try? wrong.get()) == 0)
      }
    }
  }
}

private func isMisuse(_ error: any Error) -> Bool {
  guard case .misuse = (error as? SqlError)?.kind else { return false }
  return true
}
