import Foundation
import Sqlable
import SqlableCluster
import Testing

/// Tests of loops over rows, which a cluster sends in parts.
@Suite struct LoopTests {
  /// `INSERT INTO "person" … ('1'), ('2'), …`
  private func insertPeople(_ count: Int, _ cluster: SqliteCluster) async throws {
    try await cluster.createTables(Person.self, Bicycle.self)
    try await cluster.execute(
      """
      WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
      INSERT INTO person (name) SELECT i FROM n
      """
    )
  }

  /// A query of 4 million rows of 20 KB.
  private func insertCrowd(_ cluster: SqliteCluster) async throws -> Select<(Person, Bicycle)> {
    try await cluster.createTables(Person.self, Bicycle.self)
    try await cluster.execute(
      """
      WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
      INSERT INTO bicycle (name, color) SELECT i, 'red' FROM n
      """)
    try await cluster.execute("INSERT INTO person (name) SELECT hex(zeroblob(10000)) FROM bicycle WHERE id <= 200")
    return Person.crossJoin(Bicycle.self)
  }

  @Test func allRowsComeOnceAndInOrder() async throws {
    try await withClient { cluster, _ in
      try await insertPeople(20_000, cluster)
      var ids: [Int] = []
      try await Person.read().orderBy(Person.id).forEach(cluster) { person in
        ids.append(person.id ?? 0)
        return .continue
      }
      #expect(ids == Array(1...20_000))
      var names: [String] = []
      let query = Person.select(Person.name.typed(as: String.self)).filter(Person.id > 19_998).orderBy(Person.id)
      #expect(query.sql == #"SELECT "name" FROM "person" WHERE "id" > ? ORDER BY "id""#)
      try await query.forEach(cluster) { name in
        names.append(name)
        return .continue
      }
      #expect(names == ["19999", "20000"])
      var all: [String] = []
      try await query.forEach(cluster) { all.append($0) }
      try await Person.read().filter(Person.id == 1).forEach(cluster) { person in all.append(person.name) }
      try await cluster.read { tx in try await query.forEach(tx) { all.append($0) } }
      #expect(all == ["19999", "20000", "1", "19999", "20000"])
      try await Person.read().filter(Person.id == 0).forEach(cluster) { _ in
        Issue.record("no row has this id")
        return .stop
      }
    }
  }

  /// The loop neither receives nor waits for the 80 GB of the result.
  @Test func aLoopThatStopsEndsTheQuery() async throws {
    try await withClient { cluster, nodes in
      let crowd = try await insertCrowd(cluster)
      for _ in 0..<10 {
        var rows = 0
        try await crowd.forEach(cluster) { _ in
          rows += 1
          return rows == 3 ? .stop : .continue
        }
        #expect(rows == 3)
        #expect(try await Person.count().run(cluster) == 200)
      }
      for node in nodes.nodes { #expect(await node.isRunning) }
    }
  }

  @Test func slowLoopBuffersFewRowsInTheClient() async throws {
    try await withClient { cluster, _ in
      let crowd = try await insertCrowd(cluster)
      let before = try residentBytes()
      try await crowd.forEach(cluster) { _ in
        try await Task.sleep(for: .seconds(2))
        return .stop
      }
      #expect(try residentBytes() - before < 64 << 20)
    }
  }

  @Test func aLoopEndsAtItsDeadlineAndWithItsTask() async throws {
    try await withClient { cluster, nodes in
      let crowd = try await insertCrowd(cluster)
      let late = await failure {
        try await withDeadline(.milliseconds(500)) { try await crowd.forEach(cluster) { _ in .continue } }
      }
      #expect(late?.kind == .timeout)
      #expect(late?.sql == crowd.sql)
      let task = Task { try await crowd.forEach(cluster) { _ in .continue } }
      try await Task.sleep(for: .milliseconds(300))
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      #expect(try await Person.count().run(cluster) == 200)
      for node in nodes.nodes { #expect(await node.isRunning) }
    }
  }

  @Test func errorAfterSomeRowsIsThrown() async throws {
    struct Stopped: Error {}
    try await withClient { cluster, _ in
      try await insertPeople(20_000, cluster)
      try await cluster.execute("UPDATE person SET name = x'00' WHERE id = 15000")
      var last = 0
      let error = await failure {
        try await Person.read().orderBy(Person.id).forEach(cluster) { person in
          last = person.id ?? 0
          return .continue
        }
      }
      guard case .decoding = error?.kind else {
        Issue.record("\(String(describing: error))")
        return
      }
      #expect(1..<15_000 ~= last)
      await #expect(throws: Stopped.self) { try await Person.read().forEach(cluster) { _ in throw Stopped() } }
      #expect(try await Person.count().run(cluster) == 20_000)
    }
  }

  @Test func leaderLossDuringALoopIsThrown() async throws {
    try await withClient { cluster, nodes in
      let crowd = try await insertCrowd(cluster)
      var seen: Set<[Int?]> = []
      var rows = 0
      let leader = try await nodes.leader()
      let error = await failure {
        try await crowd.forEach(cluster) { person, bike in
          if rows == 0 { await nodes.node(leader).kill() }
          rows += 1
          seen.insert([person.id, bike.id])
          return .continue
        }
      }
      #expect(error?.kind == .unavailable)
      #expect(rows > 0)
      #expect(seen.count == rows)
      #expect(try await Person.count().run(cluster) == 200)
    }
  }

  @Test func loopInATransactionSeesItsChangesAndExcludesOthers() async throws {
    try await withClient { cluster, _ in
      try await insertPeople(20_000, cluster)
      let id = try await cluster.transaction { tx in
        let id = try await Person(id: nil, name: "Ann").insert().run(tx)
        var rows = 0
        try await Person.read().orderBy(Person.id).forEach(tx) { _ in
          rows += 1
          let inside = await failure { _ = try await Person.count().run(tx) }
          #expect(inside?.isMisuse == true)
          return rows == 2 ? .stop : .continue
        }
        #expect(rows == 2)
        var names: [String] = []
        try await Person.read().filter(Person.id >= id).forEach(cluster) { person in
          names.append(person.name)
          return .continue
        }
        #expect(names == ["Ann"])
        try await Person.update(Person.name.set(to: "Bob")).filter(Person.id == id).run(tx)
        return id
      }
      #expect(try await Person.byId(id).run(cluster)?.name == "Bob")
      let count = try await cluster.read { tx in
        try await Person.read().forEach(tx) { _ in .stop }
        return try await Person.count().run(tx)
      }
      #expect(count == 20_001)
    }
  }

  @Test func changeThatReturnsRowsCannotBeStreamed() async throws {
    try await withClient { cluster, _ in
      try await insertPeople(2, cluster)
      let change = Person.delete(Person.id == 1).returning()
      let error = await failure { try await change.forEach(cluster) { _ in .continue } }
      #expect(error?.isInvalidStatement == true)
      let inside = await failure {
        try await cluster.transaction { tx in try await change.forEach(tx) { _ in .continue } }
      }
      #expect(inside?.isInvalidStatement == true)
      #expect(try await Person.count().run(cluster) == 2)
    }
  }

  /// The resident memory of this process.
  private func residentBytes() throws -> Int {
    let fields = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
    return try #require(Int(fields[1])) * Int(sysconf(Int32(_SC_PAGESIZE)))
  }
}

extension SqlError {
  fileprivate var isInvalidStatement: Bool { if case .invalidStatement = kind { true } else { false } }
}
