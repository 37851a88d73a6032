import SqlableCore
import Testing

@testable import SqlableTestSupport

/// Events of statements that fail after they, their triggers or their foreign keys have written.
@Suite struct FailedStatementTests {
  private struct Parent: Observed.Model {
    static let id = Column("id", .integer, PrimaryKey())
    static let tableLayout = [id]
  }
  private struct Child: Observed.Model {
    static let id = Column("id", .integer, PrimaryKey())
    static let tableLayout = [id]
  }
  private struct Log: Observed.Model {
    static let id = Column("id", .integer, PrimaryKey())
    static let tableLayout = [id]
  }

  /// The position of the word FAIL. Only `inEffect` has a meaning for SQLite.
  enum Word: CaseIterable { case nowhere, inAColumn, inAComment, inEffect }

  private static func schema(_ word: Word) -> SQL {
    let inEffect = word == .inEffect
    let comment = word == .inAComment ? "/* OR FAIL, RAISE(FAIL, '') */" : ""
    return SQL(
      verbatim: """
        CREATE TABLE parent (id INTEGER PRIMARY KEY, text TEXT \(comment), n INTEGER UNIQUE
          \(word == .inAColumn ? ", failed_at TEXT" : ""));
        CREATE TABLE child (id INTEGER PRIMARY KEY, text TEXT, n INTEGER CHECK (n <> 13),
          parent INTEGER REFERENCES parent (id) ON DELETE CASCADE ON UPDATE CASCADE,
          UNIQUE (n) \(inEffect ? "ON CONFLICT FAIL" : ""));
        CREATE TABLE holding (parent INTEGER REFERENCES parent (id));
        CREATE TABLE log (id INTEGER PRIMARY KEY, text TEXT, n INTEGER CHECK (n <> 17));
        CREATE TRIGGER parent_inserted AFTER INSERT ON parent BEGIN
          INSERT INTO log (text, n) VALUES ('i', new.n);
          SELECT RAISE(\(inEffect ? "FAIL" : "ABORT"), 'three') WHERE new.n % 5 = 3;
          SELECT RAISE(ABORT, 'four') WHERE new.n % 5 = 4;
        END;
        CREATE TRIGGER child_updated BEFORE UPDATE OF n ON child BEGIN
          UPDATE log SET text = text || 'u' WHERE n % 3 = new.n % 3;
          SELECT RAISE(\(inEffect ? "FAIL" : "ABORT"), 'seven') WHERE new.n % 7 = 3;
        END;
        CREATE TRIGGER parent_deleted AFTER DELETE ON parent BEGIN
          DELETE FROM log WHERE n = old.n;
          SELECT RAISE(ABORT, 'no') WHERE old.n % 11 = 5;
        END;
        """)
  }

  /// A generator of random statements.
  private struct Generator {
    var random: SeededGenerator
    /// A serial number that makes inserted rows distinct.
    var serial = 0

    /// Returns a statement that often fails and that changes the text of every updated row.
    mutating func statement(_ word: Word, movesIds: Bool) -> String {
      let policy = random.pick(
        word == .inEffect ? ["", "OR FAIL ", "OR IGNORE ", "OR REPLACE "] : ["", "", "OR REPLACE "])
      let comment = word == .nowhere || random.chance(75) ? "" : " -- what may FAIL"
      serial += 1
      func number(_ limit: Int = 40) -> Int { Int.random(in: 1...limit, using: &random) }
      switch Int.random(in: 0...(movesIds ? 6 : 5), using: &random) {
      case 0, 1:
        let rows = (0..<number(4)).map { _ in "('a\(serial)', \(number()))" }.joined(separator: ", ")
        return "INSERT \(policy)INTO parent (text, n) VALUES \(rows)" + comment
      case 2:
        return "INSERT \(policy)INTO child (text, n, parent) SELECT 'c\(serial)', \(number()) + id, id FROM parent "
          + "WHERE id % 3 = \(number(3) - 1) LIMIT 3" + comment
      case 3: return "UPDATE \(policy)child SET text = text || 'x', n = n + 1 WHERE n > \(number())" + comment
      case 4: return "DELETE FROM parent WHERE n % 4 = \(number(4) - 1) OR n = \(number())" + comment
      case 5:
        return "INSERT INTO holding SELECT id FROM parent WHERE n = \(number()) UNION ALL SELECT NULL" + comment
      default: return "UPDATE parent SET id = id + \(number(3)), text = text || 'p' WHERE n > \(number())" + comment
      }
    }
  }

  private typealias Rows = [String: String]

  private func rows(_ db: SqliteDatabase) throws -> Rows {
    let rows = try db.query(
      """
      SELECT 'parent ' || id, text || n FROM parent
      UNION ALL SELECT 'child ' || id, text || n || '/' || coalesce(parent, '') FROM child
      UNION ALL SELECT 'log ' || id, text || coalesce(n, '') FROM log
      """
    ) { row in (try row.get(at: 0, as: String.self), try row.get(at: 1, as: String.self)) }
    return Dictionary(uniqueKeysWithValues: rows)
  }

  /// Returns the defect of events that should lead from one state to the other, or nil.
  private func defect(_ events: [RowChange], from before: Rows, to after: Rows, isAlone: Bool) -> String? {
    if let defect = ObservationOracle.defect(events, from: before, to: after) { return defect }
    // Every kept update changes the text of its row.
    for event in events {
      let key = "\(event.table) \(event.id)"
      if event.change == .update, event.id == event.previousId, let now = after[key], before[key] == now {
        return "update of \(key), which is as it was"
      }
    }
    // Several statements may cancel one another out.
    return isAlone && before == after && !events.isEmpty ? "events, though nothing has changed" : nil
  }

  @Test(.needsPreupdateHook, arguments: Word.allCases, [1, 20, 300] as [UInt64])
  func eventsAreTheDifferenceOfTheTables(word: Word, seed: UInt64) throws {
    try withDatabase(Configuration(synchronous: .off)) { db in
      try db.execute(Self.schema(word))
      let heard = Collected<RowChange>()
      db.observe(on: Parent.self) { (row: RowChange) in heard.append(row) }
      db.observe(on: Child.self) { (row: RowChange) in heard.append(row) }
      db.observe(on: Log.self) { (row: RowChange) in heard.append(row) }
      var generator = Generator(random: SeededGenerator(seed: seed))
      var before = try rows(db)
      var (failures, kept) = (0, 0)
      for round in 0..<400 {
        let isAlone = round.isMultiple(of: 2)
        var journal: [String] = []
        func run(_ db: SqliteDatabase) throws {
          let statement = generator.statement(word, movesIds: isAlone)
          journal.append(statement)
          let error = sqlError { try db.execute(SQL(verbatim: statement)) }
          guard let error else { return }
          failures += 1
          guard case .constraint = error.kind else { throw error }
        }
        let failuresBefore = failures
        if isAlone {
          try run(db)
        } else {
          try db.transaction { db in
            try run(db)
            try db.transaction { db in
              try run(db)
              try run(db)
              return generator.random.chance(33) ? .rollback : .commit
            }
            try run(db)
          }
        }
        let after = try rows(db)
        let defect = defect(heard.take(), from: before, to: after, isAlone: isAlone)
        try #require(defect == nil, "\(word), seed \(seed), round \(round): \(journal)")
        if isAlone, failures > failuresBefore, before != after { kept += 1 }
        before = after
      }
      // A seed with fewer failures tests too little.
      #expect(failures > 100, "\(failures) \(kept)")
      #expect((kept > 5) == (word == .inEffect), "\(failures) \(kept)")
    }
  }

  /// The first row fails, so no row count shows if SQLite keeps the trigger's write.
  @Test func failedFirstRowReportsTheKeptTriggerUpdate() throws {
    for (raise, isKept) in [("FAIL", true), ("ABORT", false)] {
      try withDatabase { db in
        try db.execute(
          SQL(
            verbatim: """
              CREATE TABLE parent (id INTEGER PRIMARY KEY, failed_at TEXT);
              CREATE TABLE log (id INTEGER PRIMARY KEY, text TEXT);
              INSERT INTO log VALUES (1, 'old');
              CREATE TRIGGER t BEFORE INSERT ON parent BEGIN
                UPDATE log SET text = 'new';
                SELECT RAISE(\(raise), 'no');
              END
              """))
        let log = EventLog()
        log.listen(to: db, on: Log.self)
        log.listen(to: db, on: Parent.self)
        for inTransaction in [false, true] {
          func insert() { expectError(.constraint(.trigger)) { try db.execute("INSERT INTO parent VALUES (1, '')") } }
          if inTransaction { try db.transaction { _ in insert() } } else { insert() }
          let text = try db.query("SELECT text FROM log", as: String.self)
          #expect(text == [isKept ? "new" : "old"])
          #expect(log.take() == (isKept ? ["update log 1"] : []))
        }
      }
    }
  }

  /// The program creates the trigger after its observers, in the temp schema of the connection.
  @Test func rowsKeptByATemporaryTriggerAreReported() throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE parent (id INTEGER PRIMARY KEY)")
      try db.execute("CREATE TABLE log (id INTEGER PRIMARY KEY, text TEXT)")
      try db.execute("ATTACH ':memory:' AS other; CREATE TABLE other.source (id INTEGER PRIMARY KEY)")
      try db.execute("DETACH other")
      let log = EventLog()
      log.listen(to: db, on: Log.self)
      let insert: SQL = "INSERT INTO parent VALUES (1)"
      try db.execute("CREATE TRIGGER kept AFTER INSERT ON log BEGIN UPDATE log SET text = 'x' WHERE id = new.id; END")
      try db.transaction { db in
        try db.execute("INSERT INTO log VALUES (7, '')")
        try db.execute(
          """
          CREATE TEMP TRIGGER t BEFORE INSERT ON main.parent BEGIN
            INSERT INTO log VALUES (1, ''); SELECT RAISE(FAIL, 'no');
          END
          """)
        expectError(.constraint(.trigger)) { try db.execute(insert) }
      }
      #expect(log.take() == ["insert log 7", "update log 7", "insert log 1", "update log 1"])
      try db.execute("DROP TRIGGER temp.t; DELETE FROM log")
      _ = log.take()
      // Triggers of attached databases may use FAIL, too.
      try db.execute(
        """
        ATTACH ':memory:' AS other;
        CREATE TABLE other.source (id INTEGER PRIMARY KEY);
        CREATE TABLE other.stop (id INTEGER PRIMARY KEY);
        CREATE TRIGGER other.no BEFORE INSERT ON stop BEGIN SELECT RAISE(FAIL, 'no'); END;
        CREATE TEMP TRIGGER u BEFORE INSERT ON other.source BEGIN
          INSERT INTO log VALUES (new.id, ''); INSERT INTO stop VALUES (1);
        END
        """)
      expectError(.constraint(.trigger)) { try db.execute("INSERT INTO other.source VALUES (3)") }
      #expect(try db.query("SELECT id FROM log", as: Int.self) == [3])
      #expect(log.take() == ["insert log 3", "update log 3"])
    }
  }

  /// The check for kept rows takes the write lock, which a write to a temporary table does not need.
  @Test func temporaryTableWriteWaitsForNoOtherWriter() throws {
    try withDatabase(Configuration(busyTimeout: 0)) { db in
      try db.execute("CREATE TABLE parent (id INTEGER PRIMARY KEY, failed_at TEXT); CREATE TEMP TABLE own (id)")
      let log = EventLog()
      log.listen(to: db, on: Parent.self)
      let other = try db.createChild()
      try db.transaction(.deferred) { db in
        #expect(try db.query("SELECT count(*) FROM parent", as: Int.self) == [0])
        try other.execute("INSERT INTO parent (id) VALUES (1)")
        try db.execute("INSERT INTO own VALUES (1)")
        expectError(.busy) { try db.execute("INSERT INTO parent (id) VALUES (2)") }
      }
      #expect(try db.query("SELECT count(*) FROM own", as: Int.self) == [1])
      db.queue.sync {}
      #expect(log.take() == ["insert parent 1"])
    }
  }

  /// The library's own table, which counts savepoints, has a different name in each process.
  @Test func tableNamedSqlableUndoIsLeftUnchanged() throws {
    try withDatabase { db in
      try db.execute(
        """
        CREATE TABLE parent (id INTEGER PRIMARY KEY);
        CREATE TABLE sqlable_undo (value);
        INSERT INTO sqlable_undo VALUES (1)
        """
      )
      let log = EventLog()
      log.listen(to: db, on: Parent.self)
      try db.transaction { db in
        _ = sqlError { try db.execute("INSERT OR FAIL INTO parent VALUES (1), (1)") }
      }
      #expect(log.take() == ["insert parent 1"])
      #expect(try db.query("SELECT value FROM sqlable_undo", as: Int.self) == [1])
    }
  }
}
