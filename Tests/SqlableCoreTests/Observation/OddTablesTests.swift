import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Observation of tables with misleading names, and with registered functions that replace SQLite's.
@Suite struct OddTablesTests {
  private struct WordsConfig: Observed.Model {
    static let tableName = "words_config"
    static let id = Column("id", .integer, PrimaryKey())
    static let text = Column("text", .nullable(.text))
    static let tableLayout = [id, text]
  }

  private struct Refusal: Error {}

  private func expectObserved(_ db: SqliteDatabase, sourceLocation: SourceLocation = #_sourceLocation) throws {
    try db.createTable(WordsConfig.self)
    let log = EventLog()
    log.listen(to: db, on: WordsConfig.self)
    try db.execute("INSERT INTO words_config VALUES (1, 'a')")
    #expect(log.take() == ["insert words_config 1"], sourceLocation: sourceLocation)
  }

  @Test(.needsFullText) func tableIsObservedDespiteAVocabTable() throws {
    try withDatabase { db in
      try db.execute("CREATE VIRTUAL TABLE notes USING fts5(text)")
      try db.execute("CREATE VIRTUAL TABLE words USING fts5vocab('notes', 'row')")
      try expectObserved(db)
    }
  }

  @Test func tableIsObservedDespiteFullTextInADefault() throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE words (text TEXT DEFAULT 'CREATE VIRTUAL TABLE words USING fts5(text)')")
      try expectObserved(db)
    }
  }

  @Test(.needsFullText) func fullTextShadowTablesAreNotObserved() throws {
    let texts: [SQL] = [
      "CREATE VIRTUAL TABLE words USING fts5(text)",
      "create virtual table if not exists Words/* a using b */ -- c\n using\n FTS5 (text)",
      #"CREATE VIRTUAL TABLE "words" USING "fts5"(text)"#,
      "CREATE VIRTUAL TABLE main.[words] USING/**/fts5/**/(text)",
    ]
    for text in texts {
      try withDatabase { db in
        try db.execute(text)
        let log = EventLog()
        log.listenToAll(of: db)
        try db.execute("INSERT INTO words VALUES ('one two')")
        #expect(log.take() == [])
      }
    }
  }

  @Test(.needsFullText) func quotedNameDoesNotHideItsModule() throws {
    try withDatabase { db in
      try db.execute(#"CREATE VIRTUAL TABLE "a ""using"" fts5vocab('" USING fts5(text)"#)
      let log = EventLog()
      log.listenToAll(of: db)
      try db.execute(#"INSERT INTO "a ""using"" fts5vocab('" VALUES ('one')"#)
      #expect(log.take() == [])
    }
  }

  @Test func registeredFunctionsDoNotAffectObservation() throws {
    try withDatabase { db in
      try db.register(ScalarFunction("like") { (_: String?, _: String?) in false })
      try db.register(ScalarFunction("like") { (_: String?, _: String?, _: String?) in false })
      try db.register(ScalarFunction("lower") { (_: String?) -> String? in throw Refusal() })
      try db.register(ScalarFunction("instr") { (_: String?, _: String?) -> Int? in throw Refusal() })
      try db.register(ScalarFunction("ifnull") { (_: String?, _: String?) -> String? in throw Refusal() })
      try expectObserved(db)
    }
  }
}
