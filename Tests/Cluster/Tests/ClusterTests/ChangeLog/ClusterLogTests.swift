import Foundation
import Sqlable
import SqlableChanges
import SqlableCluster
import Testing

/// Tests of the change log of a cluster: its creation, its end and its trim.
@Suite struct ClusterLogTests {
  @Test func createdLogHasTheChangesOfAllClients() async throws {
    try await withClient { cluster, nodes in
      try await cluster.createTables(Person.self, Seat.self)
      try await ChangeLog(Person.self, Seat.self).create(cluster)
      let other = try SqliteCluster(nodes: nodes.addresses)
      defer { other.close() }
      try await Person(id: 1, name: "Ada").insert().run(other)
      try await Seat(row: 3, letter: "it's").insert().run(cluster)
      try await Person(id: 1, name: "Bob").update().run(cluster)
      try await cluster.transaction { tx in
        try await Person(id: 2, name: "Eve").insert().run(tx)
        _ = try? await tx.transaction { tx in
          try await Person.deleteAll().run(tx)
          throw CancellationError()
        }
      }
      let kinds = try await cluster.query(
        """
        SELECT t."name", l."kind" FROM sqlable_changes AS l JOIN sqlable_change_tables AS t ON t."id" = l."table"
        ORDER BY l."seq"
        """, as: String.self, Int.self)
      #expect(kinds.map { "\($0) \($1)" } == ["person 1", "seat 1", "person 3", "person 1"])
    }
  }

  @Test func rowThatReplaceDeletesIsLogged() async throws {
    try await withClient { cluster, _ in
      try await cluster.createTables(Seat.self, Person.self)
      try await cluster.execute("CREATE UNIQUE INDEX person_name ON person (name)")
      try await ChangeLog(Person.self).create(cluster)
      let start = try await cluster.changePosition()
      try await Person(id: 1, name: "Ada").insert().run(cluster)
      try await cluster.execute("INSERT OR REPLACE INTO person (id, name) VALUES (2, 'Ada')")
      var seen: [String] = []
      for try await change in cluster.changes(since: start) {
        let row = change.new ?? change.old
        seen.append("\(change.change) \(row?.values.first == .integer(1) ? 1 : 2)")
        if seen.count == 3 { break }
      }
      #expect(seen == ["insert 1", "delete 1", "insert 2"])
    }
  }

  @Test func callThatFindsEverythingUpToDateWritesNothing() async throws {
    try await withClient { cluster, nodes in
      try await cluster.createTables(Person.self)
      try await ChangeLog(Person.self).create(cluster)
      let commits = cluster.statistics.commits
      try await withLockElsewhere(on: nodes) { try await ChangeLog(Person.self).create(cluster) }
      #expect(cluster.statistics.commits == commits)
    }
  }

  @Test func createAfterANewColumnBringsTheLogUpToDate() async throws {
    try await withClient { cluster, _ in
      try await cluster.createTables(Person.self)
      try await ChangeLog(Person.self).create(cluster)
      let start = try await cluster.changePosition()
      try await Person(id: 1, name: "Ada").insert().run(cluster)
      try await cluster.execute("ALTER TABLE person ADD COLUMN age INTEGER")
      let error = await failure { for try await _ in cluster.changes(since: start) { break } }
      if case .schema(.mismatch)? = error?.kind {} else { Issue.record("\(String(describing: error))") }
      try await ChangeLog(Person.self).create(cluster)
      try await cluster.execute("INSERT INTO person (id, name, age) VALUES (2, 'Bob', 7)")
      var rows: [[DatabaseValue]] = []
      for try await change in cluster.changes(since: start) {
        rows.append(change.new?.values ?? [])
        if rows.count == 2 { break }
      }
      #expect(rows == [[.integer(1), .text("Ada")], [.integer(2), .text("Bob"), .integer(7)]])
    }
  }

  @Test func migrationsKeepTheLogUpToDate() async throws {
    try await withClient { cluster, _ in
      try await cluster.createTables(Person.self, Seat.self)
      try await ChangeLog(Person.self, Seat.self).create(cluster)
      try await Migrations([
        Migration("age", sql: "ALTER TABLE person ADD COLUMN age INTEGER"),
        Migration(onCluster: "names") { tx in
          try await tx.execute("CREATE UNIQUE INDEX person_name ON person (name)")
          try await tx.execute("ALTER TABLE seat RENAME TO place")
        },
      ]).apply(cluster)
      let start = try await cluster.changePosition()
      try await cluster.execute("INSERT INTO person (id, name, age) VALUES (1, 'Ada', 7)")
      try await cluster.execute("INSERT OR REPLACE INTO person (id, name, age) VALUES (2, 'Ada', 8)")
      try await cluster.execute("INSERT INTO place (row, letter) VALUES (3, 'a')")
      #expect(
        try await events(4, of: cluster, since: start) == [
          "insert person", "delete person", "insert person", "insert place",
        ])
      // The log has lost the changes of a table that a migration creates again.
      try await Migrations([
        Migration("age", sql: "ALTER TABLE person ADD COLUMN age INTEGER"),
        Migration(onCluster: "names") { _ in },
        Migration(onCluster: "again") { tx in
          try await tx.execute("DROP TABLE person")
          try await tx.execute("CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT)")
        },
      ]).apply(cluster)
      let error = await failure { for try await _ in cluster.changes(since: start) { break } }
      #expect(error?.kind == .changeLog(.trimmed))
    }
  }

  @Test func createTablesKeepsTheLogUpToDate() async throws {
    try await withClient { cluster, _ in
      try await cluster.createTables(Person.self)
      try await cluster.execute(
        """
        CREATE TABLE bicycle (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL,
        color TEXT NOT NULL DEFAULT 'black', UNIQUE (name, color))
        """)
      try await ChangeLog(Bicycle.self).create(cluster)
      let start = try await cluster.changePosition()
      try await cluster.createTables(Person.self, Bicycle.self)
      let bike = Bicycle(id: 1, name: "Trek", color: "red", ownerId: nil)
      try await bike.insert().run(cluster)
      for try await change in cluster.changes(on: Bicycle.self, since: start) {
        #expect(change.row == .insert(bike))
        break
      }
    }
  }

  @Test func createInATransactionBelongsToIt() async throws {
    try await withClient { cluster, _ in
      await #expect(throws: CancellationError.self) {
        try await cluster.transaction { _ in
          try await cluster.createTables(Person.self)
          try await ChangeLog(Person.self).create(cluster)
          throw CancellationError()
        }
      }
      let error = await failure { _ = try await cluster.changePosition() }
      #expect(error?.kind == .schema(.missingTable("sqlable_changes")))
      try await cluster.transaction { _ in
        try await cluster.createTables(Person.self)
        try await ChangeLog(Person.self).create(cluster)
        try await Person(id: 1, name: "Ada").insert().run(cluster)
        // The position is that of the transaction.
        #expect(try await cluster.changePosition().description.contains("-1-"))
      }
      #expect(try await cluster.changePosition().description.contains("-1-"))
    }
  }

  @Test func tablesThatALogCannotRecordAreRefused() async throws {
    try await withClient { cluster, _ in
      let missing = await failure { try await ChangeLog(Person.self).create(cluster) }
      #expect(missing?.kind == .schema(.missingTable("person")))
      try await cluster.execute("CREATE VIEW person AS SELECT 1 AS id, 'x' AS name")
      let view = await failure { try await ChangeLog(Person.self).create(cluster) }
      #expect(view?.isMisuse == true)
      #expect(try await cluster.query("SELECT count(*) FROM sqlite_schema", as: Int.self) == [1])
    }
  }

  @Test func dropEndsTheLog() async throws {
    try await withClient { cluster, _ in
      try await cluster.createTables(Person.self, Seat.self)
      try await ChangeLog(Person.self, Seat.self).create(cluster)
      try await Person(id: 1, name: "Ada").insert().run(cluster)
      try await ChangeLog(Person.self).drop(cluster)
      try await Person(id: 2, name: "Bob").insert().run(cluster)
      #expect(try await cluster.query("SELECT count(*) FROM sqlable_changes", as: Int.self) == [1])
      try await ChangeLog(Seat.self).drop(cluster)
      #expect(
        try await cluster.query("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'sqlable_change%'", as: Int.self)
          == [0])
    }
  }

  @Test func trimDeletesWhatNoRuleKeeps() async throws {
    try await withClient { cluster, _ in
      try await cluster.createTables(Person.self)
      try await ChangeLog(Person.self).create(cluster)
      let start = try await cluster.changePosition()
      _ = try await Person.insert((1...100).map { Person(id: nil, name: "\($0)") }).run(cluster)
      #expect(try await ChangeLog.trim(cluster, keeping: .count(40), .age(.seconds(3_600))) == 0)
      #expect(try await ChangeLog.trim(cluster, keeping: .count(40)) == 60)
      #expect(try await ChangeLog.trim(cluster, keeping: .bytes(1_000_000)) == 0)
      #expect(try await ChangeLog.trim(cluster, keeping: .unacknowledged, .bytes(300)) > 20)
      #expect(try await ChangeLog.trim(cluster, keeping: .age(.zero), .count(3)) > 0)
      #expect(try await cluster.query("SELECT count(*) FROM sqlable_changes", as: Int.self) == [3])
      let error = await failure { for try await _ in cluster.changes(since: start) { break } }
      #expect(error?.kind == .changeLog(.trimmed))
      let none = await failure { try await ChangeLog.trim(cluster) }
      #expect(none?.isMisuse == true)
      let negative = await failure { try await ChangeLog.trim(cluster, keeping: .count(-1)) }
      #expect(negative?.isMisuse == true)
    }
  }

  /// Returns the next changes of the log.
  private func events(_ count: Int, of cluster: SqliteCluster, since start: ChangePosition) async throws -> [String] {
    var seen: [String] = []
    for try await change in cluster.changes(since: start) {
      seen.append("\(change.change) \(change.table)")
      if seen.count == count { break }
    }
    return seen
  }
}
