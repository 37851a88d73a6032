import Sqlable
import SqlableCluster
import Testing

/// Tests that migrations run on a cluster as on a handle, once for all programs.
@Suite struct MigrationTests {
  private static let script = Migration(
    "script",
    sql: """
      -- a comment; with a semicolon
      CREATE TABLE part (id INTEGER PRIMARY KEY, name TEXT NOT NULL, note TEXT DEFAULT 'a;b');;
      CREATE TRIGGER part_added AFTER INSERT ON part BEGIN
        UPDATE part SET note = CASE new.name WHEN 'x' THEN 'X' ELSE note END WHERE id = new.id;
        SELECT 1;
      END;
      INSERT INTO part (name) VALUES ('x'), ('y; z') /* the end; */
      """)

  private static func migrations() throws -> Migrations {
    let color = try AnyStatement(Person.insert([Person(id: nil, name: "Ann"), Person(id: nil, name: "Bo")]))
    return Migrations([
      script,
      Migration("people", sql: "CREATE TABLE person (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL)"),
      try Migration("first", color),
      Migration(onCluster: "lower case") { tx in
        for var person in try await Person.read().run(tx) {
          person.name = person.name.lowercased()
          try await person.update().run(tx)
        }
      },
      Migration(onCluster: "marks") { tx, last in
        let ids = try await tx.query(
          "SELECT id FROM person WHERE id > \(last ?? 0) ORDER BY id LIMIT 1", as: Int.self)
        guard let id = ids.last else { return nil }
        try await tx.execute("UPDATE person SET name = name || '!' WHERE id = \(id)")
        return id
      },
    ])
  }

  @Test func concurrentProgramsRunEachMigrationOnce() async throws {
    try await withClient { cluster, nodes in
      let migrations = try MigrationTests.migrations()
      #expect(
        try await migrations.status(cluster) == .pending(["script", "people", "first", "lower case", "marks"]))
      let run = try await withThrowingTaskGroup(of: [String].self) { group in
        for _ in 0..<4 {
          group.addTask {
            let own = try SqliteCluster(nodes: nodes.addresses)
            defer { own.close() }
            return try await migrations.apply(own)
          }
        }
        return try await group.reduce(into: []) { $0 += $1 }
      }
      #expect(run.sorted() == ["first", "lower case", "marks", "people", "script"])
      #expect(try await migrations.status(cluster) == .current)
      #expect(try await migrations.apply(cluster).isEmpty)
      #expect(try await Person.read().orderBy(Person.id).run(cluster).map(\.name) == ["ann!", "bo!"])
      let parts = try await cluster.query("SELECT name, note FROM part ORDER BY id", as: String.self, String.self)
      #expect(parts.map(\.0) == ["x", "y; z"])
      #expect(parts.map(\.1) == ["X", "a;b"])
      // The client splits the text into the same statements as a handle.
      let here = try SqliteDatabase.inMemory()
      try Migrations([MigrationTests.script]).apply(here)
      let query: SQL = "SELECT sql FROM sqlite_schema WHERE tbl_name = 'part' ORDER BY name"
      #expect(try await cluster.query(query, as: String.self) == here.query(query, as: String.self))
    }
  }

  @Test func newDatabaseGetsTheTablesOfTheModels() async throws {
    try await withClient { cluster, _ in
      // The table of transaction ids is excluded.
      try await cluster.transaction(id: .init()) { _ in }
      let old = Migration("old") { db in try db.execute("CREATE TABLE person (id INTEGER PRIMARY KEY)") }
      let migrations = Migrations([old], fresh: Schema(Person.self, Bicycle.self))
      #expect(try await migrations.apply(cluster).isEmpty)
      #expect(try await migrations.status(cluster) == .current)
      #expect(try await Bicycle.count().run(cluster) == 0)
      let next = Migrations([old, Migration("b", sql: "DROP TABLE bicycle")], fresh: Schema(Person.self))
      #expect(try await next.apply(cluster) == ["b"])
    }
    try await withClient { cluster, _ in
      let code = Migrations([Migration("a", sql: "SELECT 1")]) { db in try db.createTable(Person.self) }
      let error = await failure { try await code.apply(cluster) }
      #expect(error?.isMisuse == true)
      #expect(error?.message.contains("pass a Schema as `fresh`") == true)
      let tables = try await cluster.query("SELECT count(*) FROM sqlite_schema", as: Int.self)
      #expect(tables == [0])
    }
  }

  @Test func aMigrationThatFailsIsUndone() async throws {
    try await withClient { cluster, _ in
      let first = Migration("a", sql: "CREATE TABLE t (x)")
      let broken = Migrations([first, Migration("b", sql: "INSERT INTO t VALUES (1); INSERT INTO gone VALUES (1)")])
      let error = await failure { try await broken.apply(cluster) }
      #expect(error?.kind == .schema(.missingTable("gone")))
      #expect(error?.message.hasPrefix("migration b: ") == true)
      #expect(error?.transaction == .rolledBack)
      #expect(try await cluster.query("SELECT count(*) FROM t", as: Int.self) == [0])
      #expect(try await broken.status(cluster) == .pending(["b"]))
      let changed = Migrations([Migration("a", sql: "CREATE TABLE u (x)")])
      let altered = await failure { try await changed.apply(cluster) }
      #expect(altered?.message.contains("was changed") == true)
      #expect(try await Migrations([first, Migration("b", sql: "INSERT INTO t VALUES (2)")]).apply(cluster) == ["b"])
      let older = await failure { try await Migrations([first]).apply(cluster) }
      #expect(older?.message.contains("newer program") == true)
      #expect(try await Migrations([first]).status(cluster) == .newer(["b"]))
      // A migration that requires a handle is refused before any other runs.
      let code = Migrations([
        first, Migration("b", sql: "INSERT INTO t VALUES (2)"), Migration("c", sql: "DELETE FROM t"),
        Migration("d") { db in try db.execute("DELETE FROM t") },
      ])
      let refusal = await failure { try await code.apply(cluster) }
      #expect(
        refusal?.isMisuse == true)
      #expect(refusal?.message.hasPrefix("migration d: the migration needs a handle") == true)
      #expect(try await cluster.query("SELECT x FROM t", as: Int.self) == [2])
      let inside = await failure { try await cluster.transaction { _ in _ = try await broken.apply(cluster) } }
      #expect(inside?.isMisuse == true)
      let here = try SqliteDatabase.inMemory()
      #expect(throws: SqlError.self) { try Migrations([Migration(onCluster: "a") { _ in }]).apply(here) }
      let twice = Migrations([first, first])
      let doubled = await failure { _ = try await twice.status(cluster) }
      #expect(doubled?.isMisuse == true)
    }
  }

  @Test func batchesResumeWhereTheyStopped() async throws {
    try await withClient { cluster, _ in
      struct Stopped: Error {}
      let (runs, limit) = (Locked(0), Locked(3))
      let migrations = Migrations([
        Migration("t", sql: "CREATE TABLE t (x INTEGER)"),
        Migration(onCluster: "rows") { tx, last in
          guard runs.with({ $0 }) < limit.with({ $0 }) else { throw Stopped() }
          runs.with { $0 += 1 }
          let next = (last ?? 0) + 1
          try await tx.execute("INSERT INTO t VALUES (\(next))")
          return next == 5 ? nil : next
        },
      ])
      await #expect(throws: Stopped.self) { try await migrations.apply(cluster) }
      #expect(try await migrations.status(cluster) == .pending(["rows"]))
      limit.with { $0 = 10 }
      let progress = Locked<[Migrations.Progress]>([])
      let run = try await migrations.apply(cluster) { step in progress.with { $0.append(step) } }
      #expect(run == ["rows"])
      #expect(try await cluster.query("SELECT x FROM t ORDER BY x", as: Int.self) == [1, 2, 3, 4, 5])
      let steps = progress.with { $0 }
      #expect(steps.map(\.batch) == [0, 1])
      #expect(steps.allSatisfy { $0.name == "rows" })
    }
  }

  @Test func tableIsRecreatedWithoutDeletingReferencingRows() async throws {
    try await withClient { cluster, _ in
      try await cluster.createTables(Person.self, Bicycle.self)
      let ann = try await Person(id: nil, name: "Ann").insert().run(cluster)
      try await Bicycle(name: "Trek", color: "red", ownerId: ann).insert().run(cluster)
      let anew = Migration(
        "anew",
        sql: """
          CREATE TABLE new (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, age INTEGER);
          INSERT INTO new (id, name) SELECT id, name FROM person;
          DROP TABLE person;
          ALTER TABLE new RENAME TO person
          """)
      #expect(try await Migrations([anew]).apply(cluster) == ["anew"])
      #expect(try await Bicycle.read().run(cluster).map(\.ownerId) == [ann])
      let orphans = Migrations([anew, Migration("orphans", sql: "DELETE FROM person")])
      let error = await failure { try await orphans.apply(cluster) }
      #expect(error?.kind == .constraint(.foreignKey))
      #expect(error?.table == "bicycle")
      #expect(error?.transaction == .rolledBack)
      #expect(try await Person.count().run(cluster) == 1)
      // Foreign keys are enforced afterwards.
      let bike = Bicycle(name: "Norco", color: "blue", ownerId: 99)
      let orphan = await failure { try await bike.insert().run(cluster) }
      #expect(orphan?.kind == .constraint(.foreignKey))
      let batch = Migrations([anew, Migration(onCluster: "batch") { tx, _ in try await bike.insert().run(tx) }])
      let stray = await failure { try await batch.apply(cluster) }
      #expect(stray?.kind == .constraint(.foreignKey))
    }
  }
}
