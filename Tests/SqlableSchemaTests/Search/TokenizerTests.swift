import Foundation
import Testing

@testable import SqlableCore
@testable import SqlableSchema
@testable import SqlableTestSupport

/// A tokenizer that splits at commas and lowercases.
private let commas = Tokenizer("commas") { text, _ in
  text.split(separator: ",").map { Tokenizer.Token($0.lowercased(), at: $0.startIndex..<$0.endIndex) }
}

private struct Refusal: Error, Equatable {
  let text: String
}

/// A tokenizer that splits at blanks. It throws at "bad" and stores "bicycle" as a synonym of "bike".
private let strict = Tokenizer("my \"own\" tokenizer's") { text, purpose in
  try text.split(separator: " ").flatMap { word -> [Tokenizer.Token] in
    if word == "bad" { throw Refusal(text: text) }
    let token = Tokenizer.Token(String(word), at: word.startIndex..<word.endIndex)
    guard word == "bike", purpose == .document else { return [token] }
    return [token, Tokenizer.Token("bicycle", at: token.range, isSynonym: true)]
  }
}

private let key = Column("id", .integer, PrimaryKey())
private let text = Column("text", .text)

private enum Commas: TableDeclaration {
  static let columns = [key, text]
  static let fullText = FullTextIndex(text, tokenizer: commas)
}
private enum Strict: TableDeclaration {
  static let columns = [key, text]
  static let fullText = FullTextIndex(text, tokenizer: strict)
}
private enum Unknown: TableDeclaration {
  static let columns = [key, text]
  static let fullText = FullTextIndex(text, tokenizer: .named("nobody's", "a b", "'"))
}

@Suite struct TokenizerTests {
  @Test func tokenizersBecomeFTS5Arguments() {
    let spellings: [(Tokenizer, String)] = [
      (.unicode61, "'unicode61 remove_diacritics 2'"),
      (.unicode61(removeDiacritics: false), "'unicode61 remove_diacritics 0'"),
      (
        .unicode61(tokenCharacters: "-_", separators: "x"),
        "'unicode61 remove_diacritics 2 tokenchars ''-_'' separators x'"
      ),
      (.ascii, "'ascii'"), (.ascii(tokenCharacters: "'\"é"), "'ascii tokenchars ''''''\"é'''"),
      (.porter, "'porter unicode61 remove_diacritics 2'"), (.porter(.ascii), "'porter ascii'"),
      (.trigram, "'trigram case_sensitive 0'"), (.trigram(caseSensitive: true), "'trigram case_sensitive 1'"),
      (commas, "'commas'"), (.porter(commas), "'porter commas'"), (.named("a", "b c", ""), "'a ''b c'' '''''"),
      (strict, "'''my \"own\" tokenizer''''s'''"),
    ]
    for (tokenizer, sql) in spellings { #expect(tokenizer.sql.quotedText == sql) }
  }

  @Test func tokenizersFindTheDocumentedMatches() throws {
    func finds(_ tokenizer: Tokenizer, _ text: String, _ query: FullTextQuery) throws -> Bool {
      let db = try SqliteDatabase.inMemory()
      try db.execute(SQL(verbatim: "CREATE VIRTUAL TABLE t USING fts5(a, tokenize = \(tokenizer.sql.quotedText))"))
      try db.execute("INSERT INTO t VALUES (\(text))")
      return try db.query("SELECT count(*) FROM t WHERE t MATCH \(query.rawValue)", as: Bool.self)[0]
    }
    #expect(try finds(.unicode61, "Ångström Éa", .words("angstrom ea")))
    #expect(try !finds(.unicode61(removeDiacritics: false), "Ångström", .words("angstrom")))
    #expect(try finds(.unicode61(removeDiacritics: false), "Ångström", .words("ångström")))
    #expect(try !finds(.unicode61, "well-known", .words("wellknown")))
    #expect(try finds(.unicode61, "well-known", .words("known")))
    #expect(try !finds(.unicode61(tokenCharacters: "-"), "well-known", .words("known")))
    #expect(try finds(.unicode61(separators: "x"), "axb", .words("b")))
    #expect(try !finds(.ascii, "É", .words("é")))
    #expect(try finds(.ascii, "É", .words("É")))
    #expect(try finds(.porter, "corrections", .words("corrected")))
    #expect(try finds(.trigram, "Notation", .words("TAT")))
    #expect(try !finds(.trigram(caseSensitive: true), "Notation", .words("TAT")))
    #expect(try finds(.ascii(tokenCharacters: "'"), "it's", .words("it's")))
  }

  @Test func customTokenizerIsRegisteredForAHandleAndItsChildren() throws {
    try withDatabase { db in
      let early = try db.createChild()
      try db.register(commas)
      try db.createTable(Entry<Commas>.self)
      try Entry<Commas>(1, "Grey Heron,White Stork").insert().run(db)
      let late = try db.createChild()
      for handle in [db, early, late] {
        #expect(try Entry<Commas>.search(.phrase("grey heron")).run(handle).count == 1)
        #expect(try Entry<Commas>.search(.words("heron")).run(handle).isEmpty)
        let marked = Entry<Commas>.search(.phrase("WHITE STORK")).select(Entry<Commas>.highlight(text))
        #expect(try marked.run(handle) == ["Grey Heron,<b>White Stork</b>"])
      }
      try Entry<Commas>(2, "é,日本,👍").insert().run(late)
      let marked = Entry<Commas>.search(.phrase("日本")).select(Entry<Commas>.highlight(text))
      #expect(try marked.run(early) == ["é,<b>日本</b>,👍"])
      #expect(try db.isFullTextIntact(Entry<Commas>.self))
    }
  }

  @Test func synonymMatchesAtThePlaceOfItsWord() throws {
    try withDatabase { db in
      try db.register(strict)
      try db.createTable(Entry<Strict>.self)
      try Entry<Strict>.insert([Entry(1, "my bike rides"), Entry(2, "my bicycle rides")]).run(db)
      #expect(try Entry<Strict>.search(.words("bicycle")).run(db).count == 2)
      #expect(try Entry<Strict>.search(.phrase("my bicycle rides")).run(db).count == 2)
      #expect(try Entry<Strict>.search(.words("bike")).run(db).count == 1)
      #expect(try Entry<Strict>.search(.prefix("bicy")).run(db).count == 2)
      try Entry<Strict>.delete(text == "my bike rides").run(db)
      #expect(try Entry<Strict>.search(.words("bicycle")).run(db).count == 1)
      #expect(try db.isFullTextIntact(Entry<Strict>.self))
    }
  }

  @Test func tokenizerErrorIsThrownAndUndoesTheStatement() throws {
    try withDatabase { db in
      try db.register(strict)
      try db.createTable(Entry<Strict>.self)
      try Entry<Strict>.insert([Entry(1, "good"), Entry(2, "good")]).run(db)
      #expect(throws: Refusal(text: "a bad")) { try Entry<Strict>(3, "a bad").insert().run(db) }
      #expect(throws: Refusal(text: "bad b")) {
        try Entry<Strict>.insert([Entry(4, "good"), Entry(5, "bad b")]).run(db)
      }
      #expect(throws: Refusal(text: "bad")) { try Entry<Strict>.updateAll(text.set(to: "bad")).run(db) }
      #expect(throws: Refusal(text: "bad")) { try Entry<Strict>.search(.words("x bad")).run(db) }
      try db.transaction { db -> Void in
        try Entry<Strict>(6, "kept").insert().run(db)
        #expect(throws: Refusal(text: "bad")) { try Entry<Strict>(7, "bad").insert().run(db) }
      }
      #expect(try Entry<Strict>.search(.words("good")).run(db).count == 2)
      #expect(try Entry<Strict>.count().run(db) == 3)
      #expect(try db.isFullTextIntact(Entry<Strict>.self))
    }
  }

  @Test func tokenizerErrorDuringHighlightingIsThrown() throws {
    try withDatabase { db in
      try db.register(
        Tokenizer("shy") { text, purpose in
          if purpose == .excerpt { throw Refusal(text: text) }
          return text.isEmpty ? [] : [Tokenizer.Token("word", at: text.startIndex..<text.endIndex)]
        })
      try db.execute("CREATE VIRTUAL TABLE t USING fts5(a, tokenize = 'shy'); INSERT INTO t VALUES ('one')")
      for function in ["highlight(t, 0, '', '')", "snippet(t, 0, '', '', '', 4)"] {
        #expect(throws: Refusal(text: "one")) {
          try db.query(SQL(verbatim: "SELECT \(function) FROM t WHERE t MATCH 'word'"), as: String.self)
        }
      }
      #expect(try db.query("SELECT a FROM t WHERE t MATCH 'word'", as: String.self) == ["one"])
    }
  }

  @Test func handlesOnSeveralThreadsTokenizeConcurrently() throws {
    try withDatabase(Configuration(busyTimeout: 600)) { db in
      try db.register(commas)
      try db.createTable(Entry<Commas>.self)
      let handles = try (0..<4).map { _ in try db.createChild() }
      let failures = Mutex<[String]>([])
      onThreads(4) { index in
        do {
          for number in 0..<times(25) {
            let id = Int64(index * 1_000 + number)
            try Entry<Commas>(.integer(id), .text("Thread \(index),Number \(number)")).insert().run(handles[index])
            let own = try Entry<Commas>.search(.phrase("thread \(index)")).run(handles[index])
            if own.count != number + 1 { failures.withLock { $0.append("\(index): \(own.count) of \(number + 1)") } }
          }
        } catch { failures.withLock { $0.append("\(error)") } }
      }
      #expect(failures.withLock { $0 } == [])
      #expect(try db.isFullTextIntact(Entry<Commas>.self))
    }
  }

  @Test func tokenizerReceivesItsPurposeAndMayNotWrite() throws {
    try withDatabase { db in
      let asked = Mutex<[String]>([])
      let handle = Mutex<SqliteDatabase?>(nil)
      let curious = Tokenizer("curious") { text, purpose in
        asked.withLock { $0.append("\(purpose) \(text)") }
        if text == "write" { try handle.withLock { $0 }?.execute("CREATE TABLE x (a)") }
        return text.isEmpty ? [] : [Tokenizer.Token(text, at: text.startIndex..<text.endIndex)]
      }
      try db.register(curious)
      handle.withLock { $0 = db }
      defer { handle.withLock { $0 = nil } }
      try db.execute("CREATE VIRTUAL TABLE t USING fts5(a, tokenize = 'curious'); INSERT INTO t VALUES ('one')")
      let rows = try db.query(
        "SELECT highlight(t, 0, '', '') FROM t WHERE t MATCH '\"o\" * OR \"one\"'", as: String.self)
      #expect(rows == ["one"])
      #expect(asked.withLock { $0 } == ["document one", "prefixQuery o", "query one", "excerpt one"])
      expectMisuse { try db.execute("INSERT INTO t VALUES ('write')") }
      #expect(try db.definition(of: "x") == nil)
    }
  }

  @Test func tokensOutsideTheTextAreRefused() throws {
    try withDatabase { db in
      let other = "a much longer text than the one that is given"
      try db.register(
        Tokenizer("wrong") { _, _ in [Tokenizer.Token("x", at: other.startIndex..<other.endIndex)] })
      try db.register(Tokenizer("empty") { text, _ in [Tokenizer.Token("", at: text.startIndex..<text.endIndex)] })
      try db.register(
        Tokenizer("lone") { text, _ in [Tokenizer.Token("x", at: text.startIndex..<text.startIndex, isSynonym: true)] })
      for name in ["wrong", "empty", "lone"] {
        try db.execute(SQL(verbatim: "CREATE VIRTUAL TABLE \(name) USING fts5(a, tokenize = '\(name)')"))
      }
      let error = expectMisuse { try db.execute("INSERT INTO wrong VALUES ('secret')") }
      #expect(error?.message == "tokenizer wrong returned a word whose range is outside the text")
      #expect(error?.sql == "INSERT INTO wrong VALUES ('secret')")
      try db.execute("INSERT INTO empty VALUES ('a'); INSERT INTO lone VALUES ('a')")
      #expect(try db.query("SELECT count(*) FROM lone WHERE lone MATCH 'y'", as: Int.self) == [1])
      // These bytes are not valid UTF-8.
      try db.execute("INSERT INTO lone VALUES (CAST(x'ff00fe' AS TEXT)), (NULL), (x''), (12)")
    }
  }

  @Test func takenOrInvalidTokenizerNamesAreRefused() throws {
    try withDatabase { db in
      try db.register(commas)
      expectMisuse { try db.register(commas) }
      expectMisuse { try db.createChild().register(Tokenizer("COMMAS") { _, _ in [] }) }
      for name in ["unicode61", "Porter", "", "a\0b", String(repeating: "x", count: 256)] {
        expectMisuse { try db.register(Tokenizer(name) { _, _ in [] }) }
      }
      expectMisuse { try db.register(.porter) }
      expectMisuse { try db.register(.named("commas")) }
      let error = expectSqlError { try db.createTable(Entry<Unknown>.self) }
      #expect(error?.message.contains("no such tokenizer") == true)
      #expect(try db.definition(of: "t") == nil)
      #expect(commas == .named("commas"))
      #expect(commas != .porter(commas))
    }
  }

  @Test(.needsTableOfStatements) func untrustedSchemaMayUseFTS5Only() throws {
    try withDatabase(Configuration(trustsSchema: false)) { db in
      try db.createTable(Story.self)
      try Story(1, "swift").insert().run(db)
      #expect(try db.query("PRAGMA trusted_schema", as: Bool.self) == [false])
      try db.execute(
        """
        CREATE TABLE place (count);
        CREATE TRIGGER far AFTER INSERT ON story BEGIN INSERT INTO place SELECT count(*) FROM sqlite_stmt; END
        """)
      let error = expectSqlError { try Story(2, "swift").insert().run(db) }
      #expect(error?.message.contains("unsafe use of virtual table") == true)
    }
  }

  @Test(arguments: [false, true])
  func triggersWriteToFTS5AfterSQLRevokesTrust(isIndexInUse: Bool) throws {
    try withDirectory { directory in
      let path = directory + "/stories.sqlite"
      try SqliteDatabase(filepath: path).createTable(Story.self)
      let db = try SqliteDatabase(filepath: path)
      if isIndexInUse { try Story(1, "swift").insert().run(db) }
      try db.execute("PRAGMA trusted_schema = OFF")
      try Story(2, "swift").insert().run(db)
      try db.execute("PRAGMA trusted_schema = ON; PRAGMA trusted_schema = OFF")
      try Story(3, "swift").insert().run(db)
      #expect(try Story.search(.words("swift")).run(db).count == (isIndexInUse ? 3 : 2))
      #expect(try db.isFullTextIntact(Story.self))
      #expect(try db.query("PRAGMA trusted_schema", as: Bool.self) == [false])
    }
  }
}
