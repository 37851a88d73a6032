import Foundation
import SqlableCore
import Testing

@testable import SqlableChanges
@testable import SqlableTestSupport

/// Random statements of three writers. After each transaction, a copy to which the logged changes are applied equals
/// the tables. The log keeps all columns or random columns, and sometimes other columns than before.
@Suite struct LogOracleTests {
  @Test(arguments: [false, true]) func aCopyOfLoggedChangesEqualsTheTables(firesTriggersOfReplace: Bool) throws {
    for round in 0..<40 {
      try run(seed: SeededGenerator.seed &+ UInt64(round), firesTriggersOfReplace) { db, _ in [HandleWriter(db)] }
    }
  }

  @Test(.needsSQLiteProgram, .enabled(if: PythonWriter.isAvailable, "python3 is not installed"))
  func aCopyEqualsTheTablesThatThreeProgramsChange() throws {
    for round in 0..<8 {
      try run(seed: SeededGenerator.seed &+ UInt64(1_000 + round), round % 2 == 1) { db, path in
        [HandleWriter(db), try ShellWriter(path), try PythonWriter(path)]
      }
    }
  }

  private func run(
    seed: UInt64, _ isRecursive: Bool, writers: (SqliteDatabase, String) throws -> [any OracleWriter]
  ) throws {
    var random = SeededGenerator(seed: seed)
    try withDirectory { directory in
      let path = directory + "/oracle.sqlite"
      let db = try SqliteDatabase(filepath: path)
      for definition in OracleTable.definitions { try db.execute(SQL(verbatim: definition)) }
      let first = OracleLog(&random)
      try first.log.create(db)
      for index in OracleTable.lateIndexes { try db.execute(SQL(verbatim: index)) }
      try first.log.create(db)
      var copy = LogCopy(position: try db.changePosition(), columns: first.columns)
      let writers = try writers(db, path)
      let hasForeignKeys = random.chance(50)
      for writer in writers {
        try writer.run("PRAGMA recursive_triggers = \(isRecursive ? 1 : 0)")
        try writer.run("PRAGMA foreign_keys = \(hasForeignKeys ? 1 : 0)")
      }
      for _ in 0..<(120 / writers.count) {
        let writer = random.pick(writers)
        var statements: [String] = []
        for _ in 0..<Int.random(in: 1...8, using: &random) {
          statements.append(random.statement())
          try writer.run(statements[statements.count - 1])
        }
        // Ends the transaction, if one is open.
        try writer.run(random.pick(["COMMIT", "COMMIT", "ROLLBACK"]))
        let problem = try copy.follow(db)
        if random.chance(4) {
          let next = OracleLog(&random)
          try next.log.create(db)
          try copy.keep(next.columns, db)
        }
        guard problem == nil else {
          Issue.record("seed \(seed): \(problem ?? "")\n\(statements.joined(separator: ";\n"))")
          return
        }
      }
      #expect(copy.changes > 20)
      for writer in writers { writer.quit() }
    }
  }
}

/// A copy of the tables, to which the logged changes are applied.
private struct LogCopy {
  private(set) var position: ChangePosition
  private(set) var changes = 0
  private var rows: [OracleTable: [[DatabaseValue]]] = [:]
  private var columns: [OracleTable: [String]]
  private let source = LogSource<LoggedChange>()

  init(position: ChangePosition, columns: [OracleTable: [String]]) {
    (self.position, self.columns) = (position, columns)
  }

  /// Continues with other columns.
  mutating func keep(_ columns: [OracleTable: [String]], _ db: SqliteDatabase) throws {
    self.columns = columns
    for table in OracleTable.allCases { rows[table] = try stored(table, db) }
  }

  private func stored(_ table: OracleTable, _ db: SqliteDatabase) throws -> [[DatabaseValue]] {
    let names = columns[table, default: []].joined(separator: ", ")
    let sql: SQL = "SELECT \(sql: SQL(verbatim: names)) FROM \(table: table.rawValue)"
    return try db.query(sql, as: DynamicRow.self).map(\.values)
  }

  /// Applies the changes since the last call; returns a difference between the copy and the tables.
  mutating func follow(_ db: SqliteDatabase) throws -> String? {
    let page = try db.transaction(.deferred) { try source.page(after: position, in: $0) }
    for change in try page.elements {
      guard let table = OracleTable(rawValue: change.table) else { return "unknown table \(change.table)" }
      guard position < change.position else { return "the position does not grow" }
      position = change.position
      guard (change.new ?? change.old)?.columns == columns[table] else { return "\(change) has other columns" }
      if let problem = apply(change, to: table) { return problem }
    }
    guard page.isLast else { return try follow(db) }
    position = page.end
    changes += page.items.count
    for table in OracleTable.allCases {
      let (expected, found) = (sorted(try stored(table, db)), sorted(rows[table] ?? []))
      guard expected == found else { return "\(table): the table has \(expected), the copy has \(found)" }
    }
    return nil
  }

  private func sorted(_ rows: [[DatabaseValue]]) -> [String] { rows.map { "\($0)" }.sorted() }

  private mutating func apply(_ change: LoggedChange, to table: OracleTable) -> String? {
    if let old = change.old {
      let found = rows[table]?.firstIndex { row in
        table.keyLength.map { row.prefix($0) == old.values.prefix($0) } ?? (row == old.values)
      }
      // A foreign key of a table to itself can change the row before the log has the change that caused it.
      guard found != nil || table == .a else { return "\(change) of a missing row" }
      if let found {
        guard table == .a || rows[table]?[found] == old.values else { return "\(change) of another row" }
        rows[table]?.remove(at: found)
      }
    }
    if let new = change.new {
      // A consumer stores a row under its key.
      if table == .a { rows[table]?.removeAll { $0.prefix(1) == new.values.prefix(1) } }
      rows[table, default: []].append(new.values)
    }
    return nil
  }
}

private protocol OracleWriter {
  /// Runs a statement. A statement that fails changes nothing.
  func run(_ sql: String) throws
  func quit()
}

private struct HandleWriter: OracleWriter {
  let db: SqliteDatabase

  init(_ db: SqliteDatabase) { self.db = db }

  func run(_ sql: String) throws {
    do { try db.execute(SQL(verbatim: sql)) } catch is SqlError {}
  }

  func quit() {}
}

private struct ShellWriter: OracleWriter {
  private let process: SQLiteProcess

  init(_ path: String) throws {
    process = try SQLiteProcess(path)
    try process.run(".bail off")
  }

  func run(_ sql: String) throws { try process.run(sql.replacingOccurrences(of: "\n", with: " ") + ";") }

  func quit() { process.quit() }
}

private final class PythonWriter: OracleWriter {
  static let isAvailable = FileManager.default.isExecutableFile(atPath: "/usr/bin/python3") && !isEncrypted
  private let process: ChildProcess

  init(_ path: String) throws {
    let program = """
      import sqlite3, sys
      db = sqlite3.connect(sys.argv[1], isolation_level=None)
      for line in sys.stdin:
          try: db.execute(line).fetchall()
          except sqlite3.Error: pass
          print(".", end="", flush=True)
      """
    process = try ChildProcess("/usr/bin/python3", ["-c", program, path], errors: .dropped)
  }

  func run(_ sql: String) throws {
    try process.input.write(contentsOf: Data((sql.replacingOccurrences(of: "\n", with: " ") + "\n").utf8))
    while process.output.availableData.isEmpty {}
  }

  func quit() { process.end() }
}
