import Foundation
import Sqlable
import Testing

@testable import SqlableCluster
@testable import SqlableCore

/// Tests of statements that would crash a node or block it for others.
@Suite(.serialized, .timeLimit(.minutes(5))) struct RefusalTests {
  /// The test sends the pragmas without the library, whose client refuses them.
  @Test func aNodeRefusesPragmasThatChangeHowADatabaseIsStored() async throws {
    try await withClient { cluster, nodes in
      try await cluster.execute("CREATE TABLE t (a INTEGER)")
      for pragma in [
        "journal_mode = DELETE", "journal_mode(off)", "JOURNAL_MODE = 'memory'", "main.journal_mode = truncate",
        "page_size = 512", "locking_mode = EXCLUSIVE", "wal_checkpoint(TRUNCATE)", "wal_checkpoint = RESTART",
        "wal_checkpoint", "Main.WAL_checkpoint", "wal_autocheckpoint = 1", "hard_heap_limit = 1000",
        "soft_heap_limit = 1000", "temp_store_directory = '/tmp'",
      ] {
        let error = await failure { try await executeElsewhere("PRAGMA " + pragma, on: nodes) }
        #expect(error?.message == "not authorized", "\(pragma): \(String(describing: error))")
        #expect(error?.code == 23, "\(pragma): \(String(describing: error))")
        try await cluster.execute("INSERT INTO t VALUES (1)")
      }
      // Pragmas with dqlite's own values have no effect.
      for pragma in ["journal_mode = WAL", "locking_mode = NORMAL", "page_size", "quick_check"] {
        let request = SqlRequest(sql: "PRAGMA " + pragma, values: [], isReadOnly: true)
        _ = try await withSession(to: nodes.addresses) { try await $0.answer(to: request, before: .now + .seconds(30)) }
        try await cluster.execute("INSERT INTO t VALUES (1)")
      }
      for node in nodes.nodes { #expect(await node.isRunning) }
      #expect(try await cluster.query("SELECT count(*) FROM t", as: Int.self) == [18])
    }
  }

  @Test func nodeReportsRefusedAndInterruptedStatements() async throws {
    try await withDirectory { path in
      let node = try SqliteClusterNode(
        id: 1, address: freeAddress(), directory: path + "/node",
        configuration: .init(maximumStatementTime: .milliseconds(300)))
      let refusals = Locked<[SqlError]>([])
      let loop = Task { for await refusal in node.refusals() { refusals.with { $0.append(refusal) } } }
      try await node.start()
      let client = try SqliteCluster(nodes: [node.address])
      defer { client.close() }
      try await client.execute("CREATE TABLE t (a TEXT)")
      let value = "secret"
      let write = await failure {
        try await client.execute(
          """
          INSERT INTO t WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)
          SELECT x || \(value) FROM c WHERE x < 0
          """)
      }
      #expect(write?.kind == .interrupted)
      let pragma = await failure {
        try await withSession(to: [node.address]) { session in
          try await session.execute("PRAGMA journal_mode = DELETE", before: .now + .seconds(30))
        }
      }
      #expect(pragma?.code == 23)
      try await until("both are reported") { refusals.with { $0.count } >= 2 }
      let all = refusals.with { $0 }
      // The report may include statements of other nodes in this process.
      #expect(all.contains { $0.kind == .interrupted && $0.sql?.contains("WHERE x < 0") == true }, "\(all)")
      #expect(all.contains { $0.isMisuse && $0.sql == "PRAGMA journal_mode = DELETE" }, "\(all)")
      #expect(!"\(all)".contains("secret"))
      loop.cancel()
      await loop.value
      try await node.stop()
    }
  }

  /// The leader is stopped while it runs a statement. The next leader must not run the statement again: an endless
  /// statement would block one node after the other.
  @Test(arguments: ["read", "write", "transaction with an id", "transaction", "snapshot"])
  func statementIsNotRepeatedIfItsNodeFallsSilent(_ kind: String) async throws {
    try await withClient { cluster, nodes in
      try await cluster.execute("CREATE TABLE t (a INTEGER)")
      _ = try await cluster.query("SELECT a FROM t", as: Int.self)
      let leader = try await nodes.leader()
      // Without an interruption, the statement takes one or two seconds of processor time.
      let numbers = "WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 5000000)"
      let (read, write) = (numbers + " SELECT max(x) FROM c", "INSERT INTO t " + numbers + " SELECT max(x) FROM c")
      let before = await nodes.node(leader).processorTime
      let attempts = Locked(0)
      let call = Task { () throws -> Void in
        switch kind {
        case "read": _ = try await cluster.query(SQL(verbatim: read), as: Int.self)
        case "write": try await cluster.execute(SQL(verbatim: write))
        case "transaction with an id":
          try await cluster.transaction(id: UUID()) { tx in
            attempts.with { $0 += 1 }
            try await tx.execute(SQL(verbatim: write))
          }
        case "transaction":
          try await cluster.transaction { tx in
            attempts.with { $0 += 1 }
            try await tx.execute(SQL(verbatim: write))
          }
        default:
          try await cluster.read { tx in
            attempts.with { $0 += 1 }
            _ = try await tx.query(SQL(verbatim: read), as: Int.self)
          }
        }
      }
      try await until("the leader runs the statement") {
        await nodes.node(leader).processorTime > before + 0.2
      }
      await nodes.node(leader).pause()
      let error = await failure { try await call.value }
      #expect(error?.kind == .unavailable, "\(String(describing: error))")
      #expect(error?.message.contains("the node does not answer, and another node is the leader") == true)
      #expect(attempts.with { $0 } <= 1)
      // The other nodes continue, and no node stores the change.
      #expect(try await cluster.query("SELECT count(*) FROM t", as: Int.self) == [0])
      await nodes.node(leader).resume()
      try await cluster.execute("INSERT INTO t VALUES (1)")
      #expect(try await cluster.query("SELECT a FROM t", as: Int.self) == [1])
    }
  }

  /// A request for the write lock is not a statement of the caller.
  @Test func callWithAnUnsentStatementFollowsTheNextLeader() async throws {
    try await withClient { cluster, nodes in
      try await cluster.execute("CREATE TABLE t (a INTEGER)")
      let leader = try await nodes.leader()
      await nodes.node(leader).pause()
      try await cluster.execute("INSERT INTO t VALUES (1)")
      try await cluster.transaction { tx in try await tx.execute("INSERT INTO t VALUES (2)") }
      await nodes.node(leader).resume()
      #expect(try await cluster.query("SELECT a FROM t ORDER BY a", as: Int.self) == [1, 2])
    }
  }
}
