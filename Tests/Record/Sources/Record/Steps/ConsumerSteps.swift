import Glibc
import Sqlable
import SqlableBackup
import SqlableChanges

/// A consumer that keeps totals in the same database. Each change counts once, also across backups, restores, VACUUM,
/// trims and changes of the schema.
struct ConsumerSteps: SteppedWork {
  private let path: String
  private let backup: String

  init(_ directory: String) { (path, backup) = (directory + "/log.sqlite", directory + "/backup.sqlite") }

  func prepare() throws {
    let db = try SqliteDatabase(filepath: path, configuration: Configuration(busyTimeout: 60))
    try db.transaction { db in
      try db.createTables(Member.self)
      try ChangeLog(Member.self).create(db)
      try db.execute("CREATE TABLE total (members INTEGER, letters INTEGER)")
      try db.execute("INSERT INTO total VALUES (0, 0)")
    }
    try db.close()
  }

  func work() throws { try run(writes: 200) }

  /// Writes and consumes at once; then consumes until nothing is left.
  private func run(writes: Int) throws {
    let configuration = PoolConfiguration(handles: Configuration(busyTimeout: 60), readers: 1)
    let pool = try SqlitePool(filepath: path, configuration: configuration)
    let db = try SqliteDatabase(filepath: path, configuration: Configuration(busyTimeout: 60))
    try waiting {
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await consume(pool) }
        // The first restore comes before the first backup of this process.
        if access(backup, F_OK) == 0 { try db.restore(from: backup, BackupOptions(pagesPerStep: 3)) }
        for number in 0..<writes {
          try maintain(number, db)
          let id = number * 7 % 40
          try await pool.transaction { db in
            try Member(id: id, name: String(repeating: "x", count: number % 13)).save().run(db)
            if number % 3 == 0 { try Member.delete(Member.id == (id + 5) % 40).run(db) }
          }
        }
        while try await pool.read({ db in try ConsumerSteps.totals(db) != ConsumerSteps.members(db) }) {
          try await Task.sleep(for: .milliseconds(2))
        }
        group.cancelAll()
      }
    }
    try db.close()
    try pool.close()
  }

  private func maintain(_ number: Int, _ db: SqliteDatabase) throws {
    switch number % 12 {
    // A trim before the first read would delete changes that the totals need.
    case 2 where try !db.changeConsumers().isEmpty:
      try ChangeLog.trim(db, keeping: .unacknowledged, .bytes(1_000))
    case 4: try db.execute("VACUUM")
    case 6: try db.backup(to: backup)
    case 8:
      try db.transaction { db in
        guard try db.query("SELECT count(*) FROM pragma_table_info('member')", as: Int.self) == [2] else { return }
        try db.execute("ALTER TABLE member ADD COLUMN more INTEGER DEFAULT 7")
        try ChangeLog(Member.self).create(db)
      }
    case 10: try Schema(Member.self).plan(db, dropping: .columns).apply(db, allowing: .dataLoss)
    case 11: try db.restore(from: backup, BackupOptions(pagesPerStep: 3))
    default: break
    }
  }

  private func consume(_ pool: SqlitePool) async throws {
    do {
      try await pool.consume("totals", on: Member.self, startingWith: .log) { db, change in
        let (members, letters) =
          switch change.row {
          case .insert(let new): (1, new.name.count)
          case .update(let old, let new): (0, new.name.count - old.name.count)
          case .delete(let old): (-1, -old.name.count)
          }
        try db.execute("UPDATE total SET members = members + \(members), letters = letters + \(letters)")
      }
    } catch is CancellationError {}
  }

  private static func totals(_ db: SqliteDatabase) throws -> [[Int]] {
    try db.query("SELECT members, letters FROM total", as: Int.self, Int.self).map { [$0, $1] }
  }

  private static func members(_ db: SqliteDatabase) throws -> [[Int]] {
    try db.query("SELECT count(*), coalesce(sum(length(name)), 0) FROM member", as: Int.self, Int.self)
      .map { [$0, $1] }
  }

  func check(_ round: Round, turn: Int) throws {
    if round.flaw != nil {
      let db = try SqliteDatabase(filepath: path, configuration: Configuration(busyTimeout: 60))
      try db.execute("UPDATE total SET members = members + 1")
      try db.close()
    }
    // A change that was lost or counted twice is never made up for: the totals then stay wrong until the time limit.
    let end = ContinuousClock.now + .seconds(30)
    let pool = try SqlitePool(filepath: path, configuration: PoolConfiguration(readers: 1))
    try waiting {
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await consume(pool) }
        while try await pool.read({ db in try ConsumerSteps.totals(db) != ConsumerSteps.members(db) }),
          ContinuousClock.now < end
        {
          try await Task.sleep(for: .milliseconds(2))
        }
        group.cancelAll()
      }
    }
    let (totals, members) = try pool.read { db in (try ConsumerSteps.totals(db), try ConsumerSteps.members(db)) }
    if totals != members { round.report(.wrong, "the totals are \(totals), the rows \(members)") }
    try pool.close()
  }
}
