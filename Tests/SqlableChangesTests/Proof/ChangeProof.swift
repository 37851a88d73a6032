import Foundation
import Glibc
import SqlableBackup
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableChanges
@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Writers in four processes, and consumers that are killed, while the database is backed up, restored, vacuumed,
/// trimmed and changed.
///
/// The copy of the tables in a second file equals the tables, and each change fits the copy to which the changes before
/// were applied. The totals in the same database are exact, which they would not be after a lost or repeated change.
/// Positions only grow, except by a restore. `SQLABLE_SWEEP=all` runs a
/// thousand rounds, `SQLABLE_SEED` others.
@Suite(
  .enabled(if: TestProgram.isAvailable, "the tests are no program of their own"), .needsSQLiteProgram,
  .enabled(if: ProofScript.isAvailable, "python3 is not installed"))
struct ChangeProof {
  static let variable = "SQLABLE_CHANGE_PROOF"

  @Test func copiesAndTotalsAreExactWhileProcessesAreKilled() async throws {
    let isSweep = ProcessInfo.processInfo.environment["SQLABLE_SWEEP"] == "all"
    // On a thread of its own, because the other tests need those of async code.
    let problems = try await onThread {
      try withDirectory { directory in
        let proof = try ProofRun(directory, seed: SeededGenerator.seed)
        defer { proof.end() }
        for round in 1...(isSweep ? 1_000 : 30) {
          try proof.disturb()
          usleep(UInt32.random(in: 20_000..<150_000))
          try proof.checkPositions()
          if round % 10 == 0 { try proof.compare(round) }
        }
        let counts = proof.counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
        print("proof: \(counts.joined(separator: ", "))")
        return proof.problems
      }
    }
    #expect(problems.isEmpty, "\(problems)")
  }
}

/// One run: the processes, and the state by which they are checked.
final class ProofRun {
  private let directory: String
  private let db: SqliteDatabase
  private let copy: SqliteDatabase
  private var random: SeededGenerator
  private var processes: [(role: String, process: ChildProcess)] = []
  private let shell: ShellLoop
  private var positions: [String: ChangePosition] = [:]
  private var migrations: [Migration] = []
  /// The number of disturbances by kind.
  private(set) var counts: [String: Int] = [:]
  private(set) var problems: [String] = []

  init(_ directory: String, seed: UInt64) throws {
    (self.directory, random) = (directory, SeededGenerator(seed: seed))
    db = try ProofTables.open(directory)
    try db.transaction { db in
      try db.createTables(Member.self, ProofBike.self)
      try ChangeLog(Member.self, ProofBike.self).create(db)
      try db.execute("CREATE TABLE total (members INTEGER, letters INTEGER)")
      try db.execute("INSERT INTO total VALUES (0, 0)")
    }
    copy = try ProofTables.openCopy(directory)
    shell = try ShellLoop(directory, seed: seed)
    for role in ["handle", "pool", "python", "consumer", "consumer"] { try start(role) }
    // A trim before would delete changes that the totals need.
    try wait("the totals' consumer") { try db.changeConsumers().contains { $0.name == "totals" } }
  }

  private func start(_ role: String) throws {
    let seed = UInt64.random(in: 0...999_999, using: &random)
    let process =
      role == "python"
      ? try ProofScript.start(directory, seed: seed)
      : try TestProgram.start(
        "ChangeProofWorker", environment: [ChangeProof.variable: "\(role) \(seed) \(directory)"])
    processes.append((role, process))
  }

  func end() {
    shell.end()
    for (_, process) in processes {
      process.signal(SIGKILL)
      process.waitUntilExit()
    }
  }

  private func count(_ kind: String) { counts[kind, default: 0] += 1 }

  /// Kills a process, or changes the database.
  func disturb() throws {
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<56:
      let index = Int.random(in: 0..<processes.count, using: &random)
      let (role, process) = processes.remove(at: index)
      process.signal(SIGKILL)
      process.waitUntilExit()
      count("killed \(role)")
      try start(role)
    case 56..<66:
      do { try db.execute("VACUUM") } catch let error as SqlError where error.kind == .busy { return }
      count("vacuums")
    case 66..<76:
      try db.backup(to: directory + "/backup.sqlite")
      count("backups")
    case 76..<81 where access(directory + "/backup.sqlite", F_OK) == 0: try restore()
    case 81..<87:
      try ChangeLog.trim(db, keeping: .unacknowledged, Bool.random(using: &random) ? .count(200) : .bytes(20_000))
      count("trims")
    default: try migrate()
    }
  }

  /// Restores the backup. The copies are ahead of the positions in the backup, so their consumers start again.
  private func restore() throws {
    let (path, removal): (String, SQL) = (
      directory + "/backup.sqlite", "DELETE FROM sqlable_change_consumers WHERE name <> 'totals'"
    )
    if Bool.random(using: &random) {
      // The order of `Docs/ChangeLog.md`.
      let consumers = processes.filter { $0.role == "consumer" }
      processes.removeAll { $0.role == "consumer" }
      for (_, process) in consumers {
        process.signal(SIGKILL)
        process.waitUntilExit()
      }
      try db.restore(from: path)
      try db.execute(removal)
      for _ in consumers { try start("consumer") }
      count("restores without consumers")
    } else {
      // A loop that starts directly after the restore would continue at a position of the backup.
      let backup = try SqliteDatabase(filepath: path)
      try backup.execute(removal)
      try backup.close()
      try db.restore(from: path)
      count("restores beside consumers")
    }
    positions = [:]
  }

  /// Changes the columns of a table while all others write: outside of migrations, by a plan, or by a migration.
  private func migrate() throws {
    let names = try db.query("SELECT name FROM pragma_table_info('proof_bike')", as: String.self)
    switch Int.random(in: 0..<3, using: &random) {
    case 0 where names.count < 8:
      try db.transaction { db in
        try db.execute("ALTER TABLE proof_bike ADD COLUMN \(table: "more\(names.count)") INTEGER DEFAULT 7")
        try ChangeLog(Member.self, ProofBike.self).create(db)
      }
      count("ALTER TABLE")
    case 1:
      // Drops the columns that the other cases have added.
      let plan = try Schema(Member.self, ProofBike.self).plan(db, dropping: .columns)
      try plan.apply(db, allowing: .dataLoss)
      count("plans")
    default:
      migrations.append(ProofRun.rebuild(migrations.count))
      // After a restore, some of the migrations run again.
      try Migrations(migrations).apply(db)
      count("migrations")
    }
  }

  /// A migration that rebuilds the table by a plan, without the column of the previous migration, and adds a column.
  /// SQLite itself can't drop a column that references a table.
  private static func rebuild(_ number: Int) -> Migration {
    Migration("rebuild \(number)") { db in
      let plan = try Schema(Member.self, ProofBike.self).plan(db, dropping: .columns)
      try plan.apply(db, allowing: .dataLoss)
      try db.execute(
        """
        ALTER TABLE proof_bike ADD COLUMN \(column: "more of \(number)") INTEGER REFERENCES member (id)
        ON DELETE CASCADE
        """)
    }
  }

  /// Waits for at most 15 minutes.
  private func wait(_ what: String, for condition: () throws -> Bool) throws {
    let end = ContinuousClock.now + .seconds(900)
    // After a problem, the copies might stay different.
    while try !condition(), !files(in: directory).contains(where: { $0.hasPrefix("problem") }) {
      guard ContinuousClock.now < end else { return problems.append("\(what): not within 15 minutes") }
      usleep(1_000)
    }
  }

  func checkPositions() throws {
    for consumer in try db.changeConsumers() {
      if let last = positions[consumer.name], last > consumer.position {
        problems.append("\(consumer.name) went back from \(last) to \(consumer.position)")
      }
      positions[consumer.name] = consumer.position
    }
  }

  /// Stops the writers, waits for the consumers, and compares their effects with the tables.
  func compare(_ round: Int) throws {
    _ = FileManager.default.createFile(atPath: directory + "/pause", contents: nil)
    shell.pause()
    try wait("round \(round), the writers' pause") {
      ["handle", "pool", "python"].allSatisfy { access(directory + "/paused-\($0)", F_OK) == 0 }
    }
    let members = try Member.read().orderBy(Member.id).run(db)
    let bikes = try ProofBike.read().orderBy(ProofBike.id).run(db)
    try wait("round \(round), the copies") {
      try Member.read().orderBy(Member.id).run(copy) == members
        && ProofBike.read().orderBy(ProofBike.id).run(copy) == bikes
    }
    let totals = [members.count, members.map(\.name.count).reduce(0, +)]
    try wait("round \(round), the totals") {
      try db.query("SELECT members, letters FROM total", as: Int.self, Int.self).map { [$0, $1] } == [totals]
    }
    for name in files(in: directory) where name.hasPrefix("problem") {
      problems.append(try String(contentsOfFile: directory + "/" + name, encoding: .utf8))
    }
    unlink(directory + "/pause")
    try wait("round \(round), the writers") { !files(in: directory).contains { $0.hasPrefix("paused") } }
    shell.resume()
    count("comparisons")
  }
}
