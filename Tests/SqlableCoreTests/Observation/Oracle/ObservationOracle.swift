import SqlableCore

// Tests/Record has this file and what it uses in one target.
#if canImport(SqlableTestSupport) && !RECORD
@testable import SqlableTestSupport
#endif

/// A schema whose tables affect one another by foreign keys, triggers and conflicts, with snapshots of its rows.
struct ObservationOracle {
  static let schema: SQL = """
    CREATE TABLE country (code TEXT PRIMARY KEY, name TEXT UNIQUE);
    CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT UNIQUE,
      country TEXT REFERENCES country (code) ON DELETE SET NULL ON UPDATE CASCADE);
    CREATE TABLE seat (holder TEXT UNIQUE, number INTEGER, row TEXT,
      note INTEGER REFERENCES note (id) ON DELETE CASCADE ON UPDATE CASCADE, PRIMARY KEY (row, number)) WITHOUT ROWID;
    CREATE TABLE tag (weight INTEGER, label TEXT PRIMARY KEY) WITHOUT ROWID;
    CREATE TRIGGER note_inserted AFTER INSERT ON note BEGIN
      INSERT INTO tag VALUES (new.id, new.text) ON CONFLICT (label) DO UPDATE SET weight = weight + 1;
    END;
    CREATE TRIGGER note_updated AFTER UPDATE OF text ON note BEGIN
      UPDATE OR REPLACE tag SET label = new.text WHERE label = old.text;
    END;
    CREATE TRIGGER note_deleted AFTER DELETE ON note BEGIN DELETE FROM tag WHERE label = old.text; END;
    CREATE TRIGGER tag_refused BEFORE INSERT ON tag WHEN new.weight = 11 BEGIN SELECT RAISE(ABORT, 'no'); END;
    CREATE TRIGGER tag_kept AFTER UPDATE ON tag WHEN new.weight % 7 = 3 BEGIN SELECT RAISE(FAIL, 'no'); END;
    """

  /// The contents of the rows by table and key, for example `seat x,1`.
  typealias Snapshot = [String: String]

  static func snapshot(_ db: SqliteDatabase) throws -> Snapshot {
    let rows = try db.query(
      """
      SELECT 'country ' || code, '' || quote(name) FROM country
      UNION ALL SELECT 'note ' || id, quote(text) || quote(country) FROM note
      UNION ALL SELECT 'seat ' || row || ',' || number, quote(holder) || quote(note) FROM seat
      UNION ALL SELECT 'tag ' || label, '' || quote(weight) FROM tag
      """
    ) { row in (try row.get(at: 0, as: String.self), try row.get(at: 1, as: String.self)) }
    return Dictionary(uniqueKeysWithValues: rows)
  }

  /// An observer of all tables that collects their changes.
  final class Listener: Sendable {
    private let rows = Mutex<[RowChange]>([])

    init(_ db: SqliteDatabase) {
      observe(Observed.Country.self, db)
      observe(Observed.Note.self, db)
      observe(Observed.Seat.self, db)
      observe(Observed.Tag.self, db)
    }

    private func observe<Model: Sqlable>(_ model: Model.Type, _ db: SqliteDatabase) {
      db.observe(on: model) { (row: RowChange) in self.rows.withLock { $0.append(row) } }
    }

    func take() -> [RowChange] {
      rows.withLock { rows in
        defer { rows = [] }
        return rows
      }
    }
  }

  /// Returns the defect of `events`, which should lead from one snapshot to the other, or nil.
  ///
  /// Each event must fit the state after the previous ones. With `isOrdered` false, two commits may arrive in reverse
  /// order, so only the sum of the events is checked.
  static func defect(_ events: [RowChange], from before: Snapshot, to after: Snapshot, isOrdered: Bool = true)
    -> String?
  {
    var counts = before.mapValues { _ in 1 }
    var touched: Set<String> = []
    for event in events {
      let key = name(event.table, event.key, event.id)
      let previous = name(event.table, event.previousKey, event.previousId)
      if event.change != .insert { counts[previous, default: 0] -= 1 }
      if event.change != .delete { counts[key, default: 0] += 1 }
      touched.insert(key)
      guard isOrdered else { continue }
      if let count = counts[previous], count < 0 { return "\(EventLog.line(event)): there is no such row" }
      if let count = counts[key], count > 1 { return "\(EventLog.line(event)): there is such a row" }
    }
    for key in Set(counts.keys).union(after.keys) where counts[key, default: 0] != (after[key] == nil ? 0 : 1) {
      return "\(key): \(counts[key, default: 0]) times by the events, \(after[key] == nil ? "not there" : "there")"
    }
    for (key, content) in after where content != before[key] && !touched.contains(key) {
      return "\(key): became \(content), which nobody heard of"
    }
    return nil
  }

  private static func name(_ table: String, _ key: [DatabaseValue], _ id: Int) -> String {
    let parts = key.map { value in
      switch value {
      case .text(let text): text
      case .integer(let integer): "\(integer)"
      default: "?"
      }
    }
    return table + " " + (parts.isEmpty ? "\(id)" : parts.joined(separator: ","))
  }
}

/// Random work on the oracle's tables, determined by its seed.
struct ObservationWork {
  private var state: UInt64
  /// The executed steps, for failure messages.
  private(set) var journal: [String] = []
  /// Unexpected errors: all except constraint errors.
  private(set) var surprises: [String] = []

  init(seed: UInt64) { state = seed }

  // SplitMix64.
  private mutating func random(_ range: ClosedRange<Int>) -> Int {
    state &+= 0x9E37_79B9_7F4A_7C15
    var bits = state
    bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
    bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
    return range.lowerBound + Int((bits ^ (bits >> 31)) % UInt64(range.count))
  }

  private struct Stop: Error {}

  /// Runs one transaction, or one statement outside a transaction.
  mutating func transact(on db: SqliteDatabase) {
    journal = []
    do {
      switch random(1...10) {
      case 1...3: statement(on: db)
      case 4...6: try byHand(db)
      default: try inClosures(db)
      }
    } catch is Stop {
      journal.append("thrown")
    } catch let error as SqlError {
      // An earlier OR ROLLBACK makes the commit fail.
      if !journal.contains(where: { $0.contains("OR ROLLBACK") }) { surprises.append("\(error)") }
      if db.transactionLevel > 0 { try? db.rollbackTransaction(1) }
    } catch {
      surprises.append("\(error)")
    }
  }

  private mutating func statements(_ most: Int, on db: SqliteDatabase) {
    for _ in 0..<random(0...most) { statement(on: db) }
  }

  private mutating func byHand(_ db: SqliteDatabase) throws {
    var level = try db.beginTransaction()
    journal.append("begin")
    while level > 0 {
      statements(3, on: db)
      switch random(1...10) {
      case 1...3 where level < 4:
        level = try db.beginTransaction()
        journal.append("begin \(level)")
      case 4...5:
        level = random(1...level)
        try db.rollbackTransaction(level)
        journal.append("rollback \(level)")
        level -= 1
      default:
        try db.commitTransaction()
        journal.append("commit \(level)")
        level -= 1
      }
    }
  }

  private mutating func inClosures(_ db: SqliteDatabase) throws {
    journal.append("transaction")
    try db.transaction { db in
      statements(3, on: db)
      for _ in 0..<random(0...3) {
        journal.append("savepoint")
        let result = try? db.transaction { db in
          statements(3, on: db)
          if random(1...4) == 1 { throw Stop() }
          return random(1...4) == 1 ? TransactionResult.rollback : .commit
        }
        journal.append(result.map { "\($0)" } ?? "thrown")
        statements(2, on: db)
      }
      if random(1...8) == 1 { throw Stop() }
      return random(1...8) == 1 ? TransactionResult.rollback : .commit
    }
  }

  private mutating func statement(on db: SqliteDatabase) {
    do {
      switch random(1...40) {
      case 1: try run("note.delete()", Observed.Note.deleteAll(), db)
      case 2: try run("country.delete()", Observed.Country.deleteAll(), db)
      case 3: try run("seat.delete()", Observed.Seat.deleteAll(), db)
      case 4: try run("tag.delete()", Observed.Tag.deleteAll(), db)
      default:
        let sql = sql()
        journal.append(sql)
        try db.execute(sql)
      }
    } catch let error as SqlError {
      journal.append("  failed")
      if case .constraint = error.kind { return }
      // Statements after an OR ROLLBACK may fail.
      if error.transaction == .rolledBack || db.transactionLevel > 0,
        journal.contains(where: { $0.contains("OR ROLLBACK") })
      {
        return
      }
      surprises.append("\(error)")
    } catch {
      surprises.append("\(error)")
    }
  }

  private mutating func run<Model: Sqlable>(_ name: String, _ statement: Statement<Model, Int>, _ db: SqliteDatabase)
    throws
  {
    journal.append(name)
    try statement.run(db)
  }

  /// Returns a statement that often conflicts with existing rows and often fails midway.
  private mutating func sql() -> String {
    let policies = ["", "", "", " OR REPLACE", " OR REPLACE", " OR IGNORE", " OR FAIL", " OR ABORT", " OR ROLLBACK"]
    // OR ROLLBACK undoes the whole transaction, so it is rare: otherwise few changes would remain.
    let policy = policies[random(0...(random(1...10) == 1 ? 8 : 7))]
    let id = random(1...12)
    let other = random(1...12)
    let code = "'c\(random(1...6))'"
    let text = "'t\(random(1...9))'"
    let place = "'\(random(1...2) == 1 ? "x" : "y")', \(random(1...4))"
    let nullable = random(1...3) == 1 ? "NULL" : code
    switch random(1...24) {
    case 1...3: return "INSERT\(policy) INTO note VALUES (\(id), \(text), \(nullable))"
    case 4: return "INSERT\(policy) INTO note VALUES (\(id), \(text), NULL), (\(other), 't\(id)', \(code))"
    case 5: return "INSERT INTO note VALUES (\(id), \(text), NULL) ON CONFLICT (id) DO UPDATE SET text = excluded.text"
    case 6: return "INSERT INTO note VALUES (\(id), \(text), NULL) ON CONFLICT DO NOTHING"
    case 7: return "UPDATE\(policy) note SET id = \(id) WHERE id = \(other)"
    case 8: return "UPDATE\(policy) note SET id = id + 1 WHERE id > \(id)"
    case 9: return "UPDATE\(policy) note SET text = \(text) WHERE id >= \(id)"
    case 10: return "DELETE FROM note WHERE id % 5 = \(id % 5)"
    case 11, 12: return "INSERT\(policy) INTO country VALUES (\(code), 'n\(other)')"
    case 13: return "UPDATE\(policy) country SET code = \(code) WHERE code = 'c\(random(1...6))'"
    case 14: return "UPDATE\(policy) country SET name = 'n\(id)' WHERE name < 'n\(other)'"
    case 15: return "DELETE FROM country WHERE code = \(code)"
    case 16, 17: return "INSERT\(policy) INTO seat (row, number, holder, note) VALUES (\(place), \(text), \(id))"
    case 18: return "UPDATE\(policy) seat SET row = 'x', number = number + 1 WHERE number <= \(id)"
    case 19: return "UPDATE\(policy) seat SET holder = \(text), note = NULL WHERE number = \(random(1...4))"
    case 20:
      return "DELETE FROM seat WHERE number = \(random(1...4))\(SQLiteLibrary.isAtLeast(35) ? " RETURNING holder" : "")"
    case 21: return "INSERT\(policy) INTO tag VALUES (\(id), \(text)), (\(other), 't\(random(1...9))')"
    case 22: return "UPDATE\(policy) tag SET label = \(text) WHERE weight > \(id)"
    case 23: return "UPDATE tag SET weight = weight + 1"
    default: return "DELETE FROM country; DELETE FROM tag WHERE weight > \(id); UPDATE note SET id = id"
    }
  }
}
