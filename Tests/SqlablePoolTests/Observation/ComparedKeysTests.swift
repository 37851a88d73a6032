import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Observation by key, which compares keys like SQLite: with the column's collation and affinity.
@Suite struct ComparedKeysTests {
  private struct Code: Observed.Model {
    static let code = Column("code", .text, PrimaryKey())
    static let n = Column("n", .nullable(.integer))
    static let tableLayout = [code, n]
  }

  /// Expects observers of these keys to match the rows that `WHERE code = ?` finds, in tables with and without a rowid.
  private func expectAsInSQL(
    _ column: String, stored: String, _ keys: [any SqlValue], sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    for options in ["", " WITHOUT ROWID"] {
      try withDatabase { db in
        try db.execute(SQL(verbatim: "CREATE TABLE code (code \(column) PRIMARY KEY NOT NULL, n INTEGER)\(options)"))
        // The rowid differs from all keys.
        let columns = options.isEmpty ? "(rowid, code) VALUES (1000, " : "(code) VALUES ("
        try db.execute(SQL(verbatim: "INSERT INTO code \(columns)\(stored))"))
        let log = EventLog()
        for (index, key) in keys.enumerated() { log.listen(to: db, on: Code.self, id: key, as: "\(index) ") }
        try db.execute("UPDATE code SET n = 1")
        let heard = Set(log.take().compactMap { $0.split(separator: " ").first.flatMap { Int($0) } })
        let found = try keys.indices.filter { index in
          try db.query("SELECT count(*) FROM code WHERE code = \(keys[index].databaseValue)", as: Int.self) == [1]
        }
        #expect(heard == Set(found), "\(column)\(options)", sourceLocation: sourceLocation)
        #expect(!found.isEmpty, sourceLocation: sourceLocation)
      }
    }
  }

  @Test(.needsPreupdateHook) func keyObserversUseTheCollationOfTheKey() throws {
    let keys = ["nok", "NOK", "Nok", "nok ", "NOK  ", "kon", "no", "ñok"]
    try expectAsInSQL("TEXT COLLATE NOCASE", stored: "'NOK'", keys)
    try expectAsInSQL("TEXT COLLATE RTRIM", stored: "'nok '", keys)
    try expectAsInSQL("TEXT", stored: "'nok'", keys)
  }

  @Test(.needsPreupdateHook) func keyObserversApplyTheColumnAffinity() throws {
    let keys: [any SqlValue] = [
      "1", " 1 ", "1.0", "+1", "1e0", "0x1", "1x", "", "01", ".1e1", 1, 1.0, 1.5, true, "1.5", 9_007_199_254_740_993,
      9_007_199_254_740_992.0,
    ]
    for type in ["INTEGER", "INT", "REAL", "NUMERIC", "TEXT", "BLOB", "VARCHAR(5)", "DOUBLE"] {
      try expectAsInSQL(type, stored: "1", keys + ["1"])
    }
    try expectAsInSQL("INT", stored: "9007199254740993", keys)
    try expectAsInSQL("NUMERIC", stored: "'1x'", keys)
    try expectAsInSQL("REAL", stored: "1.5", keys)
    try expectAsInSQL("TEXT COLLATE NOCASE", stored: "'1X'", keys)
  }

  /// SQLite compares a REAL with a TEXT key as its text.
  @Test(.needsPreupdateHook) func realMatchesATextKeyByItsText() throws {
    let sum: Double = 0.1 + 0.2
    var reals: [Double] = [
      0, -0.0, sum, 1e15, 1e20, -1e20, .leastNonzeroMagnitude, 1.7976931348623157e308, .infinity, -.infinity,
    ]
    var random = SeededGenerator(seed: SeededGenerator.seed)
    for _ in 0..<100 {
      reals.append(Double.random(in: -1e6...1e6, using: &random))
      let real = Double(bitPattern: random.next())
      if !real.isNaN { reals.append(real) }
    }
    try withDatabase { db in
      try db.execute("CREATE TABLE code (code TEXT PRIMARY KEY NOT NULL, n INTEGER)")
      for real in reals { try db.execute("INSERT OR IGNORE INTO code (code) VALUES (CAST(\(real) AS TEXT))") }
      for real in reals {
        let log = EventLog()
        let token = log.listen(to: db, on: Code.self, id: real)
        try db.execute("UPDATE code SET n = 1 WHERE code = \(real)")
        #expect(log.take().count == 1, "\(real)")
        db.removeObserver(token)
      }
    }
    try expectAsInSQL("TEXT", stored: "'0.3'", [sum, 0.3, 0.31])
    try expectAsInSQL("TEXT", stored: "'1.0e+20'", [1e20, 1e21, "1e20"])
    try expectAsInSQL("TEXT", stored: "'0.0'", [0.0, -0.0, 0])
  }

  /// A collation that treats texts of the same length as equal.
  private static var byLength: Collation {
    Collation("length") {
      let (left, right) = ($0.utf8.count, $1.utf8.count)
      return left < right ? .orderedAscending : left == right ? .orderedSame : .orderedDescending
    }
  }

  @Test(.needsPreupdateHook) func keyObserversUseACustomCollation() throws {
    try withDatabase { db in
      try db.register(ComparedKeysTests.byLength)
      try db.execute("CREATE TABLE code (code TEXT COLLATE length PRIMARY KEY NOT NULL, n)")
      let log = EventLog()
      for key in ["abc", "ab", "xyz"] { log.listen(to: db, on: Code.self, id: key, as: "\(key): ") }
      try db.execute("INSERT INTO code VALUES ('nok', 1)")
      #expect(log.take() == ["abc: insert code nok", "xyz: insert code nok"])
    }
  }

  @Test(.needsPreupdateHook) func keyUpdateNotifiesObserversOfOldAndNewKey() throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE code (code TEXT COLLATE NOCASE PRIMARY KEY NOT NULL, n)")
      try db.execute("INSERT INTO code VALUES ('NOK', 1)")
      let log = EventLog()
      log.listen(to: db, on: Code.self, id: "nok", as: "of nok: ")
      log.listen(to: db, on: Code.self, id: "sek", as: "of sek: ")
      try db.execute("UPDATE code SET code = 'Sek'")
      #expect(log.take() == ["of nok: update code NOK→Sek", "of sek: update code NOK→Sek"])
      try db.execute("UPDATE code SET code = 'SEK'")
      #expect(log.take() == ["of sek: update code Sek→SEK"])
    }
  }

  /// Without the pre-update hook, observers get ids only. A text matches no id of a row with another key.
  @Test func textIdMatchesOnlyTablesWithARowidKey() throws {
    for usesPreupdateHook in [true, false] {
      try withDatabase(Configuration(usesPreupdateHook: usesPreupdateHook)) { db in
        try db.createTables(Observed.Note.self, Observed.Country.self)
        let log = EventLog()
        log.listen(to: db, on: Observed.Note.self, id: " 7", as: "note: ")
        log.listen(to: db, on: Observed.Country.self, id: "7", as: "country: ")
        try db.execute("INSERT INTO note (id) VALUES (6), (7)")
        try db.execute("INSERT INTO country (rowid, code) VALUES (7, 'de')")
        #expect(log.take() == ["note: insert note 7"])
      }
    }
  }

  @Test(.needsPreupdateHook) func loopsCompareKeysLikeObservers() async throws {
    try await withMembers { pool in
      try await pool.transaction { db in
        try db.execute("CREATE TABLE code (code TEXT COLLATE NOCASE PRIMARY KEY NOT NULL, n INTEGER)")
      }
      var loop = pool.changes(on: Code.self, id: "nok").makeAsyncIterator()
      var byText = pool.changes(on: Member.self, id: "2").makeAsyncIterator()
      try await pool.transaction { db in
        try db.execute("INSERT INTO code VALUES ('sek', 1), ('NOK', 2)")
        try Member(id: 1, name: "a").insert().run(db)
        try Member(id: 2, name: "b").insert().run(db)
      }
      guard case .row(let row) = await loop.next(), case .row(let member) = await byText.next() else {
        Issue.record("missed")
        return
      }
      #expect(row.key == [.text("NOK")])
      #expect(member.id == 2)
    }
  }

  @Test(.needsPreupdateHook) func collationRegisteredAfterTheKeyLookupApplies() throws {
    try withMembers { pool in
      let maker = try SqliteDatabase(filepath: pool.filepath)
      try maker.register(ComparedKeysTests.byLength)
      try maker.execute("CREATE TABLE code (code TEXT COLLATE length PRIMARY KEY NOT NULL, n INTEGER)")
      let db = try SqliteDatabase(filepath: pool.filepath)
      let log = EventLog()
      for key in ["abc", "ab", "xyz"] { log.listen(to: db, on: Code.self, id: key, as: "\(key): ") }
      // The library looks up the keys of all observed tables before the first write to any table.
      try db.execute("INSERT INTO member (id, name) VALUES (1, 'a')")
      try db.register(ComparedKeysTests.byLength)
      try db.execute("INSERT INTO code VALUES ('nok', 1)")
      #expect(log.take() == ["abc: insert code nok", "xyz: insert code nok"])
    }
  }

  @Test(.needsPreupdateHook) func collationReplacedInsideATransactionApplies() throws {
    try withDatabase { db in
      try db.register(Collation("length") { _, _ in .orderedSame })
      try db.execute("CREATE TABLE code (code TEXT COLLATE length PRIMARY KEY NOT NULL, n INTEGER)")
      try db.createTable(Observed.Note.self)
      let log = EventLog()
      for key in ["abc", "ab"] { log.listen(to: db, on: Code.self, id: key, as: "\(key): ") }
      try db.transaction { db in
        try db.execute("INSERT INTO note (id) VALUES (1)")
        try db.register(ComparedKeysTests.byLength)
        try db.execute("INSERT INTO code VALUES ('nok', 1)")
      }
      #expect(log.take() == ["abc: insert code nok"])
    }
  }

  /// The model does not declare the collation of the table in the file.
  @Test(.needsPreupdateHook) func loopsUseACollationThatOnlyTheTableDeclares() async throws {
    try await withMembers { pool in
      try await pool.transaction { db in
        try db.register(ComparedKeysTests.byLength)
        try db.execute("CREATE TABLE code (code TEXT COLLATE length PRIMARY KEY NOT NULL, n INTEGER)")
      }
      var same = pool.changes(on: Code.self, id: "abc").makeAsyncIterator()
      var other = pool.changes(on: Code.self, id: "ab").makeAsyncIterator()
      try await pool.transaction { db in try db.execute("INSERT INTO code VALUES ('nok', 1)") }
      // Each loop gets one of the following changes, so none waits for ever.
      try await pool.transaction { db in try db.execute("DELETE FROM code") }
      try await pool.transaction { db in try db.execute("INSERT INTO code VALUES ('ab', 2)") }
      try await pool.transaction { db in try db.execute("INSERT INTO code VALUES ('abc', 3)") }
      try await pool.transaction { db in try db.execute("UPDATE code SET n = 4") }
      var found: [[DatabaseValue]] = []
      for event in [await same.next(), await same.next(), await other.next()] {
        guard case .row(let row) = event else {
          Issue.record("missed")
          return
        }
        found.append(row.key)
      }
      #expect(found == [[.text("nok")], [.text("nok")], [.text("ab")]])
    }
  }
}
