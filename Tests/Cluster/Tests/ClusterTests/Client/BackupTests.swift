import Foundation
import Sqlable
import SqlableBackup
import SqlableCluster
import Testing

/// Tests of backups and restores of a cluster's database.
@Suite struct BackupTests {
  @Test func aBackupHasEveryCommitThatWasAcknowledgedBefore() async throws {
    try await withClient { cluster, _ in
      try await withDirectory { directory in
        try await cluster.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, x TEXT NOT NULL)")
        let (next, stored) = (Locked(0), Locked<Set<Int>>([]))
        let writers = (0..<8).map { _ in
          Task {
            while !Task.isCancelled {
              let id = next.with { next in
                next += 1
                return next
              }
              try await cluster.execute("INSERT INTO t VALUES (\(id), \(String(repeating: "x", count: 500)))")
              stored.with { _ = $0.insert(id) }
            }
          }
        }
        for number in 0..<24 {
          let before = stored.with { $0 }
          let path = "\(directory)/\(number).sqlite"
          try await cluster.backup(to: path, number % 2 == 0 ? .copied : .vacuumed)
          let copy = try SqliteDatabase(filepath: path)
          let ids = Set(try copy.query("SELECT id FROM t", as: Int.self))
          #expect(ids.isSuperset(of: before), "\(before.subtracting(ids))")
          #expect(try copy.query("PRAGMA integrity_check", as: String.self) == ["ok"])
          try copy.close()
        }
        for writer in writers { writer.cancel() }
        for writer in writers { _ = await writer.result }
        #expect(stored.with { $0.count } > 100)
        // A second backup to the same path replaces the first.
        try await cluster.backup(to: "\(directory)/0.sqlite")
        let files = try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
        #expect(files == (0..<24).map { "\($0).sqlite" }.sorted())
        let mode = try FileManager.default.attributesOfItem(atPath: "\(directory)/0.sqlite")[.posixPermissions]
        #expect(mode as? Int == 0o600)
      }
    }
  }

  @Test func eachDatabaseHasItsOwnBackup() async throws {
    try await withClient { cluster, nodes in
      try await withDirectory { directory in
        try await cluster.execute("CREATE TABLE t (x)")
        var configuration = ClusterConfiguration()
        configuration.database = "räder"
        let other = try SqliteCluster(nodes: nodes.addresses, configuration: configuration)
        defer { other.close() }
        try await other.execute("CREATE TABLE u (x)")
        try await other.execute("INSERT INTO u VALUES (1)")
        try await other.backup(to: "\(directory)/a.sqlite")
        let copy = try SqliteDatabase(filepath: "\(directory)/a.sqlite")
        #expect(try copy.query("SELECT x FROM u", as: Int.self) == [1])
        #expect(try copy.schema().tables.map(\.name) == ["u"])
        configuration.database = String(repeating: "x", count: 256)
        #expect(throws: SqlError.self) { try SqliteCluster(nodes: nodes.addresses, configuration: configuration) }
      }
    }
  }

  @Test func failedBackupLeavesNoFile() async throws {
    try await withClient { cluster, nodes in
      try await withDirectory { directory in
        // An empty database can be backed up, too.
        try await cluster.backup(to: "\(directory)/empty.sqlite")
        #expect(try SqliteDatabase(filepath: "\(directory)/empty.sqlite").schema().tables.isEmpty)
        try FileManager.default.removeItem(atPath: "\(directory)/empty.sqlite")
        try await cluster.createTables(Person.self)
        let path = "\(directory)/b.sqlite"
        let schema = await failure { try await cluster.backup(to: path, schema: Schema(Bicycle.self)) }
        if case .schema(.mismatch)? = schema?.kind {} else { Issue.record("\(String(describing: schema))") }
        let missing = await failure { try await cluster.backup(to: "\(directory)/no/b.sqlite") }
        let occupied = await failure { try await cluster.backup(to: directory) }
        #expect(missing?.kind == .cannotOpen)
        #expect(occupied?.kind == .cannotOpen)
        let memory = await failure { try await cluster.backup(to: ":memory:") }
        #expect(memory?.isMisuse == true)
        let late = await failure { try await cluster.backup(to: path, timeLimit: .zero) }
        #expect(late?.kind == .timeout)
        try Data("not a database at all, but long enough to be one".utf8).write(to: URL(fileURLWithPath: path))
        let foreign = await failure { try await cluster.backup(to: path) }
        #expect(foreign?.kind == .notADatabase)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["b.sqlite"])
        let other = try SqliteCluster(nodes: nodes.addresses)
        other.close()
        let closed = await failure { try await other.backup(to: "\(directory)/c.sqlite") }
        #expect(closed?.kind == .closed)
      }
    }
  }

  @Test func restoreReproducesTheBackup() async throws {
    try await withClient { cluster, nodes in
      try await withDirectory { directory in
        let (path, back) = ("\(directory)/a.sqlite", "\(directory)/b.sqlite")
        let db = try SqliteDatabase(filepath: path)
        try BackupTests.fill(db)
        // The restore removes the previous contents, including a table of the same name and a trigger that ends
        // transactions.
        try await cluster.createTables(Person.self, Bicycle.self, Story.self)
        try await cluster.execute("CREATE TABLE part (id INTEGER PRIMARY KEY ON CONFLICT ROLLBACK)")
        try await cluster.execute("CREATE VIEW parts AS SELECT * FROM part")
        try await cluster.execute("INSERT INTO part VALUES (1)")
        try await cluster.execute("PRAGMA user_version = 3")
        try await cluster.restore(from: path)
        try await cluster.backup(to: back)
        #expect(try BackupTests.contents(of: back) == db.dump())
        let statistics = try await cluster.query("SELECT count(*) FROM sqlite_stat1", as: Int.self)
        #expect(statistics != [0])
        #expect(try await Story.read().filter(Story.matches(.words("long"))).run(cluster).map(\.id) == [1])
        // Foreign keys and counters are restored.
        let orphan = await failure {
          try await Bicycle(name: "Norco", color: "blue", ownerId: 99).insert().run(cluster)
        }
        #expect(orphan?.kind == .constraint(.foreignKey))
        #expect(try await Person(id: nil, name: "Cy").insert().run(cluster) == 78)
        // The second restore includes the library's own tables.
        try await cluster.transaction(id: UUID()) { tx in try await Person(id: nil, name: "Di").insert().run(tx) }
        try await cluster.backup(to: back)
        try await Person.delete().filter(Person.name == "Di").run(cluster)
        try await cluster.restore(from: back)
        #expect(try await Person.count().filter(Person.name == "Di").run(cluster) == 1)
        let empty = "\(directory)/empty.sqlite"
        let other = try SqliteDatabase(filepath: empty)
        try other.execute("CREATE TABLE t (x)")
        try await cluster.restore(from: empty)
        try await cluster.backup(to: back)
        #expect(try BackupTests.contents(of: back) == other.dump())
      }
    }
  }

  private static func makeDatabase(at path: String, rows: Int, bytes: Int) throws {
    let db = try SqliteDatabase(filepath: path)
    try db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, x TEXT NOT NULL)")
    try db.execute(
      """
      WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < \(rows))
      INSERT INTO t SELECT i, hex(zeroblob(\(bytes))) FROM n
      """ as SQL)
  }

  /// Returns the dump of a file without the table of transaction ids.
  private static func contents(of path: String) throws -> String {
    let lines = try SqliteDatabase(filepath: path).dump().split(separator: "\n", omittingEmptySubsequences: false)
    return lines.filter { !$0.contains("sqlable_transaction") }.joined(separator: "\n")
  }

  private static func fill(_ db: SqliteDatabase) throws {
    try db.createTables(Person.self, Bicycle.self, Story.self)
    try Person.insert([Person(id: 1, name: "Ann"), Person(id: 77, name: "Bo")]).run(db)
    try Person.delete().filter(Person.id == 77).run(db)
    try Bicycle(name: "Trek", color: "red", ownerId: 1).insert().run(db)
    try db.execute("INSERT INTO story VALUES (1, 'The rider', 'a long way', 2024, 'x')")
    let columns = (0..<300).map { "c\($0)" }
    try db.execute(
      """
      CREATE TABLE part (id TEXT PRIMARY KEY, parent TEXT REFERENCES part (id), size REAL, raw BLOB,
        double REAL GENERATED ALWAYS AS (size * 2), note TEXT AS (id || '-') STORED) WITHOUT ROWID;
      CREATE TABLE rowids (x);
      CREATE TABLE wide (\(columns.joined(separator: ", ")));
      CREATE INDEX part_size ON part (size) WHERE size > 0;
      CREATE VIEW small AS SELECT id FROM part WHERE size < 1;
      CREATE TRIGGER part_added AFTER INSERT ON rowids BEGIN
        SELECT RAISE(ROLLBACK, 'no; more') WHERE new.x = 'bad';
        INSERT INTO part (id) VALUES ('t' || new.rowid);
      END;
      PRAGMA user_version = 7;
      PRAGMA application_id = -3;
      ANALYZE
      """ as String)
    // The row references a later row.
    try db.execute("PRAGMA foreign_keys = OFF")
    try db.execute(
      "INSERT INTO part (id, parent, size, raw) VALUES ('a', 'z', 9e999, x'00ff'), ('z', NULL, -0.0, NULL)")
    try db.execute("PRAGMA foreign_keys = ON")
    try db.execute("INSERT INTO rowids (rowid, x) VALUES (5, 'a' || char(0) || 'b'), (-9, 1e-310), (8, NULL)")
    try db.execute("INSERT INTO wide (c0, c299) VALUES (1, 'end')")
  }

  @Test func aRestoreThatFailsChangesNothing() async throws {
    try await withClient { cluster, _ in
      try await withDirectory { directory in
        try await cluster.createTables(Person.self)
        try await Person(id: nil, name: "Ann").insert().run(cluster)
        let path = "\(directory)/a.sqlite"
        let missing = await failure { try await cluster.restore(from: path) }
        #expect(missing?.kind == .cannotOpen)
        try Data("not a database at all, but long enough to be one".utf8).write(to: URL(fileURLWithPath: path))
        let foreign = await failure { try await cluster.restore(from: path) }
        #expect(foreign?.kind == .notADatabase)
        try FileManager.default.removeItem(atPath: path)
        let db = try SqliteDatabase(filepath: path)
        try db.createTables(Person.self, Bicycle.self)
        let schema = await failure { try await cluster.restore(from: path, schema: Schema(Story.self)) }
        if case .schema(.mismatch)? = schema?.kind {} else { Issue.record("\(String(describing: schema))") }
        let late = await failure { try await cluster.restore(from: path, timeLimit: .zero) }
        #expect(late?.kind == .timeout)
        try db.execute("PRAGMA foreign_keys = OFF")
        try db.execute("INSERT INTO bicycle (name, color, owner_id) VALUES ('x', 'y', 4)")
        let orphan = await failure { try await cluster.restore(from: path, checks: .all) }
        #expect(orphan?.kind == .constraint(.foreignKey))
        // The nodes refuse the last part, which calls a function of a handle.
        try db.execute("DELETE FROM bicycle")
        try db.register(ScalarFunction("twice", isDeterministic: true, isAllowedInSchema: true) { (x: Int) in x * 2 })
        try db.execute("CREATE TABLE t (x, y AS (twice(x)))")
        let refused = await failure { try await cluster.restore(from: path, checks: []) }
        #expect(refused?.transaction == .rolledBack)
        #expect(try await Person.read().run(cluster).map(\.name) == ["Ann"])
      }
    }
  }

  @Test func restoreInATransactionIsRefused() async throws {
    try await withClient { cluster, _ in
      let error = await failure { try await cluster.transaction { _ in try await cluster.restore(from: "a.sqlite") } }
      #expect(error?.isMisuse == true)
    }
  }

  @Test func manyRowsAreOneCommit() async throws {
    try await withClient { cluster, nodes in
      try await withDirectory { directory in
        let path = "\(directory)/a.sqlite"
        try BackupTests.makeDatabase(at: path, rows: 30000, bytes: 150)
        let other = try SqliteCluster(nodes: nodes.addresses)
        defer { other.close() }
        let commits = cluster.statistics.commits
        let reader = Task {
          var seen: Set<Int> = []
          while !Task.isCancelled {
            seen.insert(try await other.query("SELECT count(*) FROM sqlite_schema", as: Int.self)[0])
            // The table, the table of transaction ids and its index.
            if seen.contains(3) { seen.insert(-(try await other.query("SELECT count(*) FROM t", as: Int.self)[0])) }
          }
          return seen
        }
        try await cluster.restore(from: path)
        #expect(cluster.statistics.commits == commits + 1)
        try await until("the reader sees the rows") {
          try await other.query("SELECT count(*) FROM t", as: Int.self) == [30_000]
        }
        reader.cancel()
        if case .success(let seen) = await reader.result { #expect(seen.isSubset(of: [0, 3, -30_000])) }
        try await cluster.backup(to: "\(directory)/b.sqlite")
        let copy = try SqliteDatabase(filepath: "\(directory)/b.sqlite")
        #expect(try copy.query("SELECT sum(id) FROM t", as: Int.self) == [450_015_000])
      }
    }
  }

  @Test func observingClientsContinueAfterARestore() async throws {
    try await withClient { cluster, nodes in
      try await withDirectory { directory in
        let path = "\(directory)/a.sqlite"
        let db = try SqliteDatabase(filepath: path)
        try db.createTables(Person.self, Bicycle.self)
        try Bicycle(name: "Trek", color: "red").insert().run(db)
        try await cluster.createTables(Person.self, Bicycle.self)
        let counts = Locked<[Int]>([])
        let follower = Task {
          for try await count in Bicycle.count().updates(in: cluster) { counts.with { $0.append(count) } }
        }
        defer { follower.cancel() }
        try await until("the first result") { counts.with { $0 } == [0] }
        try await cluster.restore(from: path)
        try await until("the restored rows") { counts.with { $0.last } == 1 }
        let other = try SqliteCluster(nodes: nodes.addresses)
        defer { other.close() }
        try await Bicycle(name: "Norco", color: "blue").insert().run(other)
        try await until("a change after the restore") { counts.with { $0.last } == 2 }
      }
    }
  }

  @Test func leaderDeathDuringARestoreLeavesOldOrNewContents() async throws {
    try await withClient { cluster, nodes in
      try await withDirectory { directory in
        let path = "\(directory)/a.sqlite"
        try BackupTests.makeDatabase(at: path, rows: 20000, bytes: 50)
        try await cluster.execute("CREATE TABLE old (x)")
        let killed = Task {
          try await Task.sleep(for: .milliseconds(300))
          let leader = try await nodes.leader()
          await nodes.node(leader).kill()
        }
        do {
          try await cluster.restore(from: path)
          #expect(try await cluster.query("SELECT count(*) FROM t", as: Int.self) == [20_000])
        } catch let error as SqlError where error.kind == .outcomeUnknown {
          let names = try await cluster.query("SELECT name FROM sqlite_schema", as: String.self)
          #expect(names == ["old"] || names == ["t"])
        }
        try await killed.value
        try await cluster.backup(to: "\(directory)/b.sqlite")
      }
    }
  }
}
