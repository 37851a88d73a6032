import Foundation
import Sqlable
import SqlablePolicies
import Testing

@testable import SqlableTestSupport

struct AuditEntry: Sqlable {
  static let number = column("number", Int?.self, PrimaryKey(autoincrement: true))
  static let transaction = column("transaction", Int.self)
  static let at = column("at", Date.self)
  static let statement = column("statement", String.self)
  static let result = column("result", Int?.self)
  static let tableLayout = [number.column, transaction.column, at.column, statement.column, result.column]

  var number: Int?
  /// The number of the first entry of its transaction.
  var transaction: Int
  var at: Date
  var statement: String
  /// The id of an inserted row, or how many rows were inserted in a batch, changed or returned.
  var result: Int?
}

extension AuditEntry {
  init(row: ReadRow) throws {
    number = try row.get(AuditEntry.number)
    transaction = try row.get(AuditEntry.transaction)
    at = try row.get(AuditEntry.at)
    statement = try row.get(AuditEntry.statement)
    result = try row.get(AuditEntry.result)
  }

  func write(to row: inout RowWriter) throws {
    row.set(AuditEntry.number, number)
    row.set(AuditEntry.transaction, transaction)
    row.set(AuditEntry.at, at)
    row.set(AuditEntry.statement, statement)
    row.set(AuditEntry.result, result)
  }
}

struct AuditedDatabase: SqlExecutor {
  let db: SqliteDatabase
  var functions: Set<String> = []
  /// The policy of the client whose statements it runs, by `import SqlablePolicies`; nil for the program's own.
  var policy: StatementPolicy?
  var now: @Sendable () -> Date = { Date() }
  private var first: Int?

  init(_ db: SqliteDatabase) { self.db = db }

  func run<Work: Runnable>(_ work: Work, file: StaticString, line: UInt) throws -> Work.Output {
    func output() throws -> Work.Output {
      guard let policy else { return try db.run(work, file: file, line: line) }
      return try db.run(work.limited(by: policy), file: file, line: line)
    }
    guard !work.isReadOnly else { return try output() }
    let statement = try AnyStatement(work)
    try statement.checkIsRepeatable(functions: functions)
    let document = String(decoding: try statement.json(), as: UTF8.self)
    return try transaction { audited in
      let output = try output()
      try AuditEntry(
        transaction: audited.first ?? 0, at: AuditEntry.time(now(), db), statement: document,
        result: (output as? AnyStatement.Output)?.count ?? output as? Int ?? (output as? [Any])?.count
      )
      .insert().run(db)
      return output
    }
  }

  /// Runs `body` in a transaction, which commits when it returns and rolls back when it throws.
  func transaction<Value>(_ body: (AuditedDatabase) throws -> Value) throws -> Value {
    try db.transaction { db in
      var audited = self
      audited.first = try first ?? AuditEntry.nextNumber(db)
      return try body(audited)
    }
  }
}

extension AuditEntry {
  static func nextNumber(_ db: SqliteDatabase) throws -> Int {
    let last: SQL = "SELECT seq FROM sqlite_sequence WHERE name = \(tableName)"
    return (try db.query(last, as: Int.self).first ?? 0) + 1
  }

  /// The time of an entry: never before that of the entry before it, whatever happens to the clock.
  static func time(_ now: Date, _ db: SqliteDatabase) throws -> Date {
    let last = try AuditEntry.select(AuditEntry.at).orderBy(AuditEntry.number.desc).first(db)
    return max(now, last ?? now)
  }
}

struct AuditLog {
  let db: SqliteDatabase
  let rules: StatementRules

  struct Failure: Error {
    let message: String
  }

  /// Repeats the transactions that a backup lacks. Stops before the first transaction with a write that matches `end`.
  func replay(onto backup: SqliteDatabase, until end: SqlExpression? = nil) throws {
    var next = try AuditEntry.nextNumber(backup)
    try db.transaction(.deferred) { db in
      var entries = AuditEntry.read().filter(AuditEntry.number >= next).orderBy(AuditEntry.number)
      if let end {
        let first = try AuditEntry.read().filter(end).orderBy(AuditEntry.number).first().run(db)?.transaction ?? Int.max
        guard first >= next else { throw Failure(message: "the backup has writes that are to be left out") }
        entries = entries.filter(AuditEntry.number < first)
      }
      try backup.transaction { backup in
        try entries.forEach(db) { entry in
          guard entry.number == next else { throw Failure(message: "write \(next) is not in the log") }
          let output = try AnyStatement(json: Data(entry.statement.utf8), rules: rules).run(backup)
          guard entry.result == nil || entry.result == output.count else {
            throw Failure(message: "write \(next) has another result than on the original")
          }
          try entry.insert().run(backup)
          next += 1
        }
      }
    }
  }
}

extension AnyStatement.Output {
  var count: Int? {
    switch self {
    case .rows(let rows): rows.count
    case .number(let number): number
    case .ids(let ids): ids.count
    case .exists: nil
    }
  }
}

/// The examples and claims of Docs/AuditLog.md.
@Suite struct AuditLogGuide {
  private let rules = StatementRules(models: [Person.self, Bicycle.self])

  private func withAudited(_ body: (SqliteDatabase, AuditedDatabase) throws -> Void) throws {
    try withDatabase { db in
      for model: any Sqlable.Type in [Person.self, Bicycle.self, AuditEntry.self] { try db.createTable(model) }
      try body(db, AuditedDatabase(db))
    }
  }

  private func entries(_ db: SqliteDatabase) throws -> [AuditEntry] {
    try AuditEntry.read().orderBy(AuditEntry.number).run(db)
  }

  private func names(_ db: SqliteDatabase) throws -> [String] {
    try Person.read().orderBy(Person.id).run(db).map(\.name)
  }

  private func person(_ name: String) -> Statement<Person, Int> { Person(id: nil, name: name).insert() }

  @Test func everyWriteIsLogged() throws {
    try withAudited { db, _ in
      let audited = AuditedDatabase(db)
      let id = try Bicycle(name: "Norco", color: "red").insert().run(audited)
      try audited.transaction { audited in
        try Bicycle.update(Bicycle.color.set(to: "blue")).filter(Bicycle.id == id).run(audited)
        try Bicycle.delete(Bicycle.color == "black").run(audited)
      }
      let reds = try Bicycle.read().filter(Bicycle.color == "red").run(audited)
      let entries = try entries(db)
      #expect(reds == [])
      #expect(id == 1)
      #expect(
        entries.map(\.statement) == [
          #"{"insert":{"into":"bicycle","row":{"color":"red","name":"Norco"}},"sqlable":1}"#,
          #"{"sqlable":1,"update":{"set":[{"column":"color","to":"blue"}],"table":"bicycle","#
            + #""where":{"=":[{"column":"id"},1]}}}"#,
          #"{"delete":{"from":"bicycle","where":{"=":[{"column":"color"},"black"]}},"sqlable":1}"#,
        ])
      #expect(entries.map(\.number) == [1, 2, 3])
      #expect(entries.map(\.transaction) == [1, 2, 2])
      #expect(entries.map(\.result) == [1, 1, 0])
    }
  }

  @Test func clientWriteIsLoggedWithItsConditionsAndResult() throws {
    try withAudited { db, _ in
      try Bicycle.insert((1...3).map { Bicycle(name: "b\($0)", color: "red", ownerId: nil) }).run(db)
      var policy = StatementPolicy(
        .table(Bicycle.self).filtering(Bicycle.color, by: .equality).setting(Bicycle.color).rows(where: Bicycle.id < 3),
        kinds: [.update])
      let (set, red) = (#"[{"column":"color","to":"blue"}]"#, #"{"=":[{"column":"color"},"red"]}"#)
      let body = Data(#"{"sqlable":1,"update":{"set":\#(set),"table":"bicycle","where":\#(red)}}"#.utf8)
      do {
        var audited = AuditedDatabase(db)
        audited.policy = policy
        let output = try policy.statement(json: body).run(audited)
        #expect(output == .number(2))
      }
      let entry = try #require(try entries(db).last)
      #expect(
        entry.statement
          == #"{"sqlable":1,"update":{"set":\#(set),"table":"bicycle","#
          + #""where":{"and":[{"<":[{"column":"id"},3]},\#(red)]}}}"#)
      #expect(entry.result == 2)

      // The policy refuses a larger text, which is neither written nor logged.
      policy.limits.valueBytes = 2
      var audited = AuditedDatabase(db)
      audited.policy = policy
      let statement = try policy.statement(json: body)
      expectError(.tooBig) { try statement.run(audited) }
      #expect(try entries(db).count == 1)
    }
  }

  @Test func aWriteThatFailsOrIsRolledBackLeavesNoEntry() throws {
    struct OutOfStock: Error {}
    try withAudited { db, audited in
      try Bicycle(name: "Norco", color: "red").insert().run(audited)
      expectError(.constraint(.unique)) { try Bicycle(name: "Norco", color: "red").insert().run(audited) }
      #expect(throws: OutOfStock.self) {
        try audited.transaction { audited in
          try person("undone").run(audited)
          throw OutOfStock()
        }
      }
      try audited.transaction { audited in
        try person("kept").run(audited)
        try? audited.transaction { audited in
          try person("undone alone").run(audited)
          throw OutOfStock()
        }
        expectError(.constraint(.unique)) { try Bicycle(name: "Norco", color: "red").insert().run(audited) }
        try person("kept too").run(audited)
      }
      #expect(try names(db) == ["kept", "kept too"])
      let entries = try entries(db)
      #expect(entries.map(\.number) == [1, 2, 3])
      #expect(entries.map(\.transaction) == [1, 2, 2])
    }
  }

  @Test func aWriteWhoseEntryCannotBeStoredIsUndone() throws {
    try withAudited { db, audited in
      try db.execute("CREATE TRIGGER full BEFORE INSERT ON audit_entry BEGIN SELECT raise(ABORT, 'full'); END")
      expectError(.constraint(.trigger)) { try person("Ann").run(audited) }
      #expect(try names(db) == [])
    }
  }

  @Test func nonDeterministicWriteIsRefused() throws {
    try withAudited { db, audited in
      let shout = ScalarFunction("shout", isDeterministic: true) { (text: String) in text + "!" }
      try db.register(shout)
      try Person.insert([Person(id: nil, name: "Ann"), Person(id: nil, name: "Bob")]).run(audited)
      func message(_ work: some Runnable) -> String? {
        sqlError { _ = try audited.run(work, file: #fileID, line: 1) }?.message
      }
      #expect(
        message(Person.updateAll(Person.id.set(to: randomInteger())))
          == "random() is not repeatable: its value changes with each call")
      #expect(
        message(Person.updateAll(Person.name.set(to: shout(Person.name))))
          == "function shout can't be checked for repeatability; add its name to `functions` if equal arguments always "
          + "give equal values"
      )
      #expect(
        message(Person.delete().limit(1))
          == "the limit on table person is not repeatable; order the rows by a key")
      #expect(message(SQL("DELETE FROM person"))?.hasPrefix("an AnyStatement needs a statement or a query") == true)
      #expect(try entries(db).count == 1)
      #expect(try names(db) == ["Ann", "Bob"])

      var trusting = audited
      trusting.functions = ["SHOUT"]
      try Person.updateAll(Person.name.set(to: shout(Person.name))).run(trusting)
      try Person.delete().orderBy(Person.id).limit(1).run(audited)
      #expect(try entries(db).count == 3)
      #expect(try names(db) == ["Bob!"])
    }
  }

  // MARK: Replaying

  @Test func replayBringsABackupToAnyMoment() throws {
    try withAudited { db, audited in
      let path = db.filepath + ".backup"
      let noon = Date() + 3_600
      try person("first").run(audited)
      try db.execute("VACUUM INTO \(path)")  // the backup: a copy of one moment
      try person("second").run(audited)
      var afternoon = audited
      afternoon.now = { noon + 1 }
      for number in 3...17 { try person("\(number)").run(afternoon) }
      try afternoon.transaction { audited in
        try person("18").run(audited)
        try person("19").run(audited)
      }
      let backup = try SqliteDatabase(filepath: path)
      let log = AuditLog(db: db, rules: StatementRules(models: [Person.self, Bicycle.self]))
      try log.replay(onto: backup, until: AuditEntry.at > noon)
      #expect(try names(backup) == ["first", "second"])  // not shown
      try log.replay(onto: backup, until: AuditEntry.number > 17)
      #expect(try names(backup) == names(db).dropLast(2))  // not shown
      // The eighteenth and the nineteenth are one transaction. // not shown
      try log.replay(onto: backup, until: AuditEntry.number > 18)  // not shown
      #expect(try names(backup) == names(db).dropLast(2))  // not shown
      try log.replay(onto: backup)  // all that is left
      #expect(try names(backup) == names(db))
      #expect(try entries(backup).count == 19)
      let early = #expect(throws: AuditLog.Failure.self) {
        try log.replay(onto: backup, until: AuditEntry.at > noon)
      }
      #expect(early?.message == "the backup has writes that are to be left out")
      #expect(try names(backup) == names(db))
    }
  }

  @Test func replayStopsBeforeTheMistake() throws {
    try withAudited { db, audited in
      let path = db.filepath + ".backup"
      try db.execute("VACUUM INTO \(path)")
      try person("Ann").run(audited)
      try Person.deleteAll().run(audited)
      try person("Bob").run(audited)
      let backup = try SqliteDatabase(filepath: path)
      try AuditLog(db: db, rules: rules)
        .replay(onto: backup, until: AuditEntry.statement.like("{\"delete\":{\"all\":true,%"))
      #expect(try names(backup) == ["Ann"])
    }
  }

  @Test func timesOfEntriesNeverDecrease() throws {
    try withAudited { db, audited in
      let times = Mutex([10.0, 20, 15, 30].map(Date.init(timeIntervalSince1970:)))
      var audited = audited
      audited.now = { times.withLock { $0.removeFirst() } }
      for name in ["a", "b", "c", "d"] { try person(name).run(audited) }
      #expect(try entries(db).map(\.at.timeIntervalSince1970) == [10, 20, 20, 30])
    }
  }

  @Test func replayWithADifferentResultChangesNothing() throws {
    try withAudited { db, audited in
      let path = db.filepath + ".backup"
      try db.execute("VACUUM INTO \(path)")
      try person("Ann").run(audited)
      try Person(id: 7, name: "around the log").insert().run(db)
      try Person.updateAll(Person.name.set(to: "Bob")).run(audited)
      let backup = try SqliteDatabase(filepath: path)
      let failure = #expect(throws: AuditLog.Failure.self) { try AuditLog(db: db, rules: rules).replay(onto: backup) }
      #expect(failure?.message == "write 2 has another result than on the original")
      #expect(try names(backup) == [])
      #expect(try entries(backup).isEmpty)
    }
  }

  @Test func aLogThatLacksWritesIsNotReplayed() throws {
    try withAudited { db, audited in
      let path = db.filepath + ".backup"
      try db.execute("VACUUM INTO \(path)")
      for name in ["a", "b", "c"] { try person(name).run(audited) }
      try AuditEntry.delete(AuditEntry.number == 1).run(db)
      let backup = try SqliteDatabase(filepath: path)
      let failure = #expect(throws: AuditLog.Failure.self) { try AuditLog(db: db, rules: rules).replay(onto: backup) }
      #expect(failure?.message == "write 1 is not in the log")
      #expect(try names(backup) == [])
    }
  }
}
