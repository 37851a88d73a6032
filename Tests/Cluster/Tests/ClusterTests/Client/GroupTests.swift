import Foundation
import Sqlable
import SqlableCluster
import Testing

/// Tests that each of several writes in a shared commit has its own outcome.
@Suite struct GroupTests {
  /// Each failed write has its own error, and the others are stored.
  @Test func aWriteThatFailsIsUndoneAlone() async throws {
    try await withClient { cluster, _ in
      try await cluster.createTables(Person.self, Bicycle.self)
      try await Person(id: 1, name: "Ann").insert().run(cluster)
      let outcomes = await withTaskGroup(of: (Int, SqlError?).self) { group in
        for number in 0..<90 {
          group.addTask {
            do {
              switch number % 3 {
              case 0: _ = try await Person(id: nil, name: "\(number)").insert().run(cluster)
              case 1: _ = try await Person(id: 1, name: "again").insert().run(cluster)
              // The second row of the batch fails, so the first is undone, too.
              default:
                let bikes = [Bicycle(name: "\(number)", color: "red"), Bicycle(name: "x", color: "y", ownerId: 99)]
                _ = try await Bicycle.insert(bikes).run(cluster)
              }
              return (number, nil)
            } catch {
              return (number, error as? SqlError)
            }
          }
        }
        return await group.reduce(into: [Int: SqlError?]()) { $0[$1.0] = $1.1 }
      }
      for (number, error) in outcomes {
        switch number % 3 {
        case 0: #expect(error == nil)
        case 1: #expect(error?.kind == .constraint(.primaryKey))
        default: #expect(error?.kind == .constraint(.foreignKey))
        }
      }
      let counts = (try await Person.count().run(cluster), try await Bicycle.count().run(cluster))
      #expect(counts == (31, 0))
    }
  }

  /// The trigger rolls back the whole shared transaction.
  @Test func writeThatRollsBackEverythingAffectsNoOther() async throws {
    try await withClient { cluster, _ in
      try await cluster.createTables(Person.self)
      try await cluster.execute(
        "CREATE TRIGGER bad BEFORE INSERT ON person WHEN new.name = 'bad' BEGIN SELECT RAISE(ROLLBACK, 'no'); END")
      let failures = await withTaskGroup(of: SqlError?.self) { group in
        for number in 0..<60 {
          group.addTask {
            do {
              _ = try await Person(id: nil, name: number % 10 == 0 ? "bad" : "\(number)").insert().run(cluster)
              return nil
            } catch {
              return error as? SqlError
            }
          }
        }
        return await group.reduce(into: [SqlError]()) { all, error in if let error { all.append(error) } }
      }
      #expect(failures.count == 6)
      for error in failures {
        #expect(error.kind == .constraint(.trigger))
        #expect(error.transaction == .rolledBack)
      }
      #expect(try await Person.count().run(cluster) == 54)
    }
  }

  /// Writes that are sent together have the same outcomes as separate writes, even while another client creates and
  /// drops a trigger that ends transactions.
  @Test(arguments: [2, 128]) func eachOfManyWritesHasItsOwnOutcome(cacheSize: Int) async throws {
    try await withClient { other, nodes in
      var configuration = ClusterConfiguration()
      configuration.statementCacheSize = cacheSize
      let cluster = try SqliteCluster(nodes: nodes.addresses, configuration: configuration)
      defer { cluster.close() }
      try await cluster.createTables(Person.self)
      try await Person(id: 1, name: "first").insert().run(cluster)
      let toggling = Task {
        while !Task.isCancelled {
          try await other.execute(
            "CREATE TRIGGER bad BEFORE INSERT ON person WHEN new.name = 'bad' BEGIN SELECT RAISE(ROLLBACK, 'no'); END")
          try? await Task.sleep(for: .milliseconds(5))
          try await other.execute("DROP TRIGGER bad")
          try? await Task.sleep(for: .milliseconds(5))
        }
      }
      let stored = try await withThrowingTaskGroup(of: Set<Int>.self) { group in
        for task in 0..<60 {
          group.addTask {
            var ids: Set<Int> = []
            for number in 0..<20 {
              let id = 100 + task * 1_000 + number * 10
              ids.formUnion(try await GroupTests.write(id, (task + number * 7) % 10, cluster))
            }
            return ids
          }
        }
        return try await group.reduce(into: Set<Int>()) { $0.formUnion($1) }
      }
      toggling.cancel()
      _ = await toggling.result
      let ids = try await cluster.query("SELECT id FROM person", as: Int.self)
      #expect(Set(ids) == stored.union([1]))
    }
  }

  /// Writes rows with `id` and the following ids in the way of `kind`, and returns the stored ids.
  private static func write(_ id: Int, _ kind: Int, _ cluster: SqliteCluster) async throws -> Set<Int> {
    switch kind {
    case 0:
      #expect(try await Person(id: id, name: "a").insert().run(cluster) == id)
      return [id]
    case 1:
      let error = await failure { _ = try await Person(id: 1, name: "b").insert().run(cluster) }
      #expect(error?.kind == .constraint(.primaryKey))
      return []
    case 2:
      // The third row of the batch fails, so the others are undone, too.
      let people = [id, id + 1, 1, id + 2].map { Person(id: $0, name: "c") }
      let error = await failure { _ = try await Person.insert(people).run(cluster) }
      #expect(error?.kind == .constraint(.primaryKey))
      return []
    case 3:
      let people = (0..<5).map { Person(id: id + $0, name: "d") }
      #expect(try await Person.insert(people).run(cluster) == people.map { $0.id })
      return Set(people.compactMap(\.id))
    case 4:
      let error = await failure {
        try await cluster.execute("INSERT OR ROLLBACK INTO person (id, name) VALUES (1, 'e')")
      }
      #expect(error?.kind == .constraint(.primaryKey))
      return []
    case 5:
      let error = await failure { _ = try await Person(id: id, name: "f\0").insert().run(cluster) }
      #expect(
        error?.kind
          == .encoding(.init(expected: "TEXT", found: "TEXT with U+0000, at which dqlite would truncate the text")))
      return []
    case 6:
      do { return [try await Person(id: id, name: "bad").insert().run(cluster)] } catch let error as SqlError {
        #expect(error.kind == .constraint(.trigger), "\(error)")
        return []
      }
    case 7:
      let rows = try await cluster.query(
        "INSERT INTO person (id, name) VALUES (\(id), 'h') RETURNING id, name", as: Int.self, String.self)
      #expect(rows.map(\.0) == [id])
      #expect(rows.map(\.1) == ["h"])
      return [id]
    case 8:
      // Two statements with the same text are compiled before they run.
      let error = await failure { try await cluster.execute("INSERT INTO nowhere (id) VALUES (\(id))") }
      #expect(error?.kind == .schema(.missingTable("nowhere")))
      return []
    default:
      let key = UUID()
      #expect(try await cluster.run(Person(id: id, name: "i").insert(), id: key) == id)
      #expect(try await cluster.run(Person(id: id, name: "i").insert(), id: key) == nil)
      return [id]
    }
  }

  /// A deferred foreign key fails the shared commit.
  @Test func aDeferredForeignKeyFailsItsOwnWriteOnly() async throws {
    try await withClient { cluster, _ in
      try await cluster.execute("CREATE TABLE a (id INTEGER PRIMARY KEY)")
      try await cluster.execute(
        "CREATE TABLE b (a INTEGER REFERENCES a (id) DEFERRABLE INITIALLY DEFERRED, number INTEGER)")
      let failed = await withTaskGroup(of: Int?.self) { group in
        for number in 0..<30 {
          group.addTask {
            let id = number == 17 ? 5 : nil
            do { try await cluster.execute("INSERT INTO b (a, number) VALUES (\(id), \(number))") } catch {
              return (error as? SqlError)?.kind == .constraint(.foreignKey) ? number : -1
            }
            return nil
          }
        }
        return await group.reduce(into: [Int]()) { all, number in if let number { all.append(number) } }
      }
      #expect(failed == [17])
      #expect(try await cluster.query("SELECT count(*) FROM b", as: Int.self) == [29])
    }
  }

  /// The error kind is independent of the trigger's words.
  @Test func triggerMessageIsAConstraintError() async throws {
    try await withClient { cluster, _ in
      try await cluster.createTables(Person.self)
      try await cluster.execute(
        "CREATE TRIGGER few BEFORE INSERT ON person BEGIN SELECT RAISE(ABORT, 'at most none'); END")
      let error = await failure { _ = try await Person(id: 1, name: "a").insert().run(cluster) }
      #expect(error?.kind == .constraint(.trigger))
      #expect(error?.message == "at most none")
      let misuse = await failure { _ = try await cluster.query("SELECT 1 WHERE count(*) > 1", as: Int.self) }
      if case .invalidStatement? = misuse?.kind {} else { Issue.record("\(String(describing: misuse))") }
    }
  }

  @Test func writerWithoutTheLockMissesItsDeadline() async throws {
    try await withClient { cluster, nodes in
      try await cluster.createTables(Person.self)
      let other = try SqliteCluster(nodes: nodes.addresses)
      defer { other.close() }
      try await other.transaction { _ in
        for isClosure in [true, false] {
          let error = await failure {
            try await withDeadline(.milliseconds(200)) {
              guard isClosure else { return try await cluster.execute("DELETE FROM person") }
              try await cluster.transaction { _ in }
            }
          }
          let expected = "other clients held the write lock until the deadline"
          #expect(error?.kind == .timeout, "\(isClosure): \(String(describing: error))")
          #expect(error?.message == expected, "\(isClosure): \(String(describing: error))")
        }
      }
    }
  }

  /// The guide's example is a client that is stopped during a transaction.
  @Test func aChangeOfTheLeaderTakesTheLockFromAClient() async throws {
    try await withClient { cluster, nodes in
      try await cluster.createTables(Person.self)
      try await withLockElsewhere(on: nodes) {
        let write = Task { try await Person(id: 1, name: "a").insert().run(cluster) }
        try await Task.sleep(for: .milliseconds(200))
        try await cluster.transferLeadership()
        #expect(try await write.value == 1)
      }
    }
  }
}
