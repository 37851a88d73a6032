import Foundation
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableChanges
@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Random commits of one pool, whose log keeps all columns or random columns. A second pool on the file, which learns
/// the commits from the log, delivers the same events as the first pool, which records them by hooks.
@Suite(.needsPreupdateHook, .disabled(if: isInMemory)) struct ForeignOracleTests {
  @Test func logsAndHooksDeliverTheSameEvents() async throws {
    for round in 0..<8 {
      var random = SeededGenerator(seed: SeededGenerator.seed &+ UInt64(round))
      try await withDirectoryAsync { directory in
        let own = try newPool(in: directory)
        let other = try newPool(in: directory)
        let log = OracleLog(&random).log
        try await own.transaction { db in
          for definition in OracleTable.definitions + OracleTable.lateIndexes {
            try db.execute(SQL(verbatim: definition))
          }
          try log.create(db)
        }
        // Events of table a can differ in order: a foreign key to itself changes a row before its cause is logged.
        let loops = [
          EventLoop(Entry<TableB>.self, own, other), EventLoop(Entry<TableC>.self, own, other),
          EventLoop(Entry<TableD>.self, own, other), EventLoop(Entry<TableE>.self, own, other),
        ]
        for _ in 0..<60 {
          let statements = (0..<Int.random(in: 1...6, using: &random)).map { _ in random.statement() }
            .filter { ["INSERT", "UPDATE", "DELETE"].contains($0.prefix(6)) }
          try await own.transaction { db in
            for statement in statements { try? db.execute(SQL(verbatim: statement)) }
          }
        }
        // These rows end the loops.
        try await own.transaction { db in
          try db.execute("DELETE FROM b; DELETE FROM c; DELETE FROM d; DELETE FROM e;")
          try db.execute("INSERT INTO b VALUES ('end', 1, 99, 1); INSERT INTO c (k) VALUES ('end');")
          try db.execute("INSERT INTO d (id) VALUES (99); INSERT INTO e (id) VALUES (99999);")
        }
        for loop in loops {
          let (recorded, logged) = await loop.events()
          #expect(recorded.count > 5)
          if let position = zip(recorded, logged).enumerated().first(where: { $1.0 != $1.1 })?.offset {
            Issue.record("round \(round), event \(position): \(recorded[position]), logged \(logged[position])")
          }
          #expect(recorded.count == logged.count)
        }
        try await own.close()
        try await other.close()
      }
    }
  }
}

/// Loops of two pools over the changes of a table.
private final class EventLoop: Sendable {
  private let tasks: [Task<[ChangeEvent<RowChange>], Never>]

  init<Model: Sqlable>(_ model: Model.Type, _ own: SqlitePool, _ other: SqlitePool) {
    tasks = [own, other].map { pool in
      let changes = pool.changes(on: model, buffering: 100_000)
      return Task {
        var events: [ChangeEvent<RowChange>] = []
        for await event in changes {
          events.append(event)
          guard case .row(let row) = event, row.change == .insert else { continue }
          if [99, 99_999].contains(row.id) || row.key.first == .text("end") { break }
        }
        return events
      }
    }
  }

  func events() async -> (recorded: [ChangeEvent<RowChange>], logged: [ChangeEvent<RowChange>]) {
    (await tasks[0].value, await tasks[1].value)
  }
}
