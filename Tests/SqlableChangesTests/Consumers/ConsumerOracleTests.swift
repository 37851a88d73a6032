import SqlableBackup
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableChanges
@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Random runs of a consumer that keeps a copy of a table, with trims, losses and restores between all its steps.
///
/// A copy must equal the table whenever its consumer is at the end of the log. An error must have a cause: a deleted
/// change that the consumer had not read, a loss of the table, or a restore.
@Suite(.disabled(if: isInMemory)) struct ConsumerOracleTests {
  @Test func aCopyIsExactOrItsConsumerThrows() async throws {
    try await withDirectoryAsync { directory in
      let pool = try newPool(in: directory)
      try await pool.transaction { db in
        _ = try db.createTables(Member.self, Person.self)
        try ChangeLog(Member.self, Person.self).create(db)
      }
      var run = OracleRun(pool, backup: directory + "/backup.sqlite")
      for _ in 0..<1_000 { try await run.step() }
      #expect(run.comparisons > 0 && run.errors["trimmed", default: 0] > 0 && run.errors["false"] == nil)
      run.loop = nil
      try await pool.close(within: .seconds(300))
    }
  }
}

private struct OracleRun {
  typealias Loop = ChangeBatches<LoggedModelChange<Member>>.Iterator

  let pool: SqlitePool
  let backup: String
  var random = SeededGenerator(seed: SeededGenerator.seed)
  var loop: Loop?
  /// The copy, which is outside of the database.
  var copy: [Int: String] = [:]
  var batch: ChangeBatch<LoggedModelChange<Member>>?
  /// True if a change that the consumer has not read was deleted, and if a restore has changed the database.
  var (wasTrimmed, wasRestored, hasBackup) = (false, false, false)
  var (errors, comparisons, nextId): ([String: Int], Int, Int) = ([:], 0, 1)

  /// A short lease, because the owner in a restored database might not exist anymore.
  private var batches: ChangeBatches<LoggedModelChange<Member>> {
    pool.changes(on: Member.self, as: "copy", lease: .milliseconds(100))
  }

  init(_ pool: SqlitePool, backup: String) { (self.pool, self.backup) = (pool, backup) }

  mutating func step() async throws {
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<18: try await write(members: Int.random(in: 1...3, using: &random))
    case 18..<32: try await write(people: Int.random(in: 1...4, using: &random))
    case 32..<50: try await trim(Int.random(in: 1...8, using: &random))
    case 50..<70: try await follow { run in try await run.read() }
    case 70..<85: try await follow { run in try await run.batch?.acknowledge() }
    // After a restore, a loop that starts can't notice the restore.
    case 85..<90 where !wasRestored:
      // The changes of a batch that was not acknowledged might be deleted.
      if batch != nil { wasTrimmed = true }
      (loop, batch) = (nil, nil)
    case 90..<93:
      try await pool.backup(to: backup)
      hasBackup = true
    case 93..<96 where hasBackup && loop != nil:
      try await pool.restore(from: backup)
      // Later changes have other times than those that the restore has undone.
      try await Task.sleep(for: .milliseconds(3))
      wasRestored = true
    case 96: try await lose()
    default: try await compare()
    }
  }

  private mutating func write(members: Int = 0, people: Int = 0) async throws {
    let ids = nextId..<nextId + members
    nextId += members
    let kind = Int.random(in: 0..<4, using: &random)
    try await pool.transaction { db in
      for id in ids {
        try Member(id: id, name: "m").insert().run(db)
        if kind == 0 { try db.execute("DELETE FROM member WHERE id % 5 = \(id % 5)") }
        if kind == 1 { try db.execute("UPDATE member SET name = name || 'x' WHERE id % 5 = \(id % 5)") }
      }
      for _ in 0..<people { try Person(id: nil, name: "p").insert().run(db) }
    }
  }

  /// The numbers of the changes that the consumer has not acknowledged.
  private func unacknowledged() async throws -> Set<Int> {
    let rows = try await pool.read { db in
      try db.query(
        """
        SELECT seq FROM sqlable_changes WHERE kind > 0
        AND "table" IN (SELECT id FROM sqlable_change_tables WHERE name = 'member')
        AND seq > coalesce((SELECT seq FROM sqlable_change_consumers), -1)
        """, as: Int.self)
    }
    return Set(rows)
  }

  private mutating func trim(_ count: Int) async throws {
    let before = try await unacknowledged()
    try await ChangeLog.trim(pool, keeping: .count(count))
    // A batch that was read can be acknowledged although its changes were deleted.
    if try await !before.subtracting(unacknowledged()).isSubset(of: delivered) { wasTrimmed = true }
    // A restore might have undone the changes before a snapshot.
    if batch?.isSnapshot == true { wasTrimmed = true }
  }

  private mutating func lose() async throws {
    try await pool.transaction { [id = nextId] db in
      try db.execute("DROP TRIGGER sqlable_changes_member_insert")
      try Member(id: id, name: "lost").insert().run(db)
      try ChangeLog(Member.self).create(db)
    }
    nextId += 1
    wasTrimmed = true
  }

  private mutating func read() async throws {
    // Otherwise the loop would wait.
    if try await unacknowledged().subtracting(delivered).isEmpty { try await write(members: 1) }
    if loop == nil { loop = batches.makeAsyncIterator() }
    var next = loop
    loop = nil
    batch = try await next?.next()
    loop = next
    guard let batch else { return }
    if batch.isSnapshot { copy = [:] }
    for change in try await batch.all() {
      switch change.row {
      case .insert(let member): copy[member.id] = member.name
      case .update(let old, let new):
        copy[old.id] = nil
        copy[new.id] = new.name
      case .delete(let member): copy[member.id] = nil
      }
    }
  }

  /// The numbers that the batch contains; its acknowledgement is part of the next read.
  private var delivered: Set<Int> { batch.map { Set(0...max($0.position.number, 0)) } ?? [] }

  /// Runs a step of the consumer. After an error, the consumer starts again with all rows.
  private mutating func follow(_ body: (inout OracleRun) async throws -> Void) async throws {
    do { try await body(&self) } catch let error as SqlError {
      let cause =
        switch error.kind {
        case .changeLog(.trimmed) where wasTrimmed || wasRestored: "trimmed"
        // The backup can have the owner of that time.
        case .changeLog(.otherHistory) where wasRestored, .changeLog(.ownerChanged) where wasRestored: "restored"
        default: "false"
        }
      errors[cause, default: 0] += 1
      if cause == "false" { Issue.record(error) }
      (loop, batch, copy) = (nil, nil, [:])
      try await pool.removeChangeConsumer("copy")
      (wasTrimmed, wasRestored) = (false, false)
    }
  }

  /// Reads up to the end of the log, and compares the copy with the table.
  private mutating func compare() async throws {
    try await follow { run in
      try await run.write(members: 1)
      try await run.read()
      while let batch = run.batch, try await batch.position != run.pool.changePosition() { try await run.read() }
      try await run.batch?.acknowledge()
      run.comparisons += 1
      let rows = try await Member.read().run(run.pool)
      #expect(run.copy == Dictionary(rows.map { ($0.id, $0.name) }) { $1 })
      (run.wasTrimmed, run.wasRestored) = (false, false)
    }
  }
}
