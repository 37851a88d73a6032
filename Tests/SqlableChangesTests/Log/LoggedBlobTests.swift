import Foundation
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableChanges
@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Parts of blobs of logged tables, which are written without a trigger.
@Suite(.needsPreupdateHook, .disabled(if: isInMemory))
struct LoggedBlobTests {
  private let photo = Portrait.byId("anna")

  /// Calls `body` with two pools on one file.
  private func withPhoto(
    keeping values: ChangeLog.Values? = .rows, _ body: (SqlitePool, SqlitePool) async throws -> Void
  ) async throws {
    try await withDirectoryAsync { directory in
      let pool = try newPool(in: directory)
      try await pool.transaction { db in
        try db.createTables(Portrait.self, Member.self)
        try ChangeLog(Member.self).create(db)
        if let values { try ChangeLog(Portrait.self, keeping: values).create(db) }
        try Portrait(name: "anna", image: Data([0, 1])).insert().run(db)
      }
      let other = try SqlitePool(filepath: pool.filepath)
      try await body(pool, other)
      try await other.close()
      try await pool.close()
    }
  }

  private func write(_ pool: SqlitePool, size: Int? = nil) async throws {
    try await pool.transaction { db in
      try db.writeBlob(Portrait.image, of: Portrait.byId("anna"), size: size) { blob in
        try blob.write([9] as [UInt8], at: 1)
      }
    }
  }

  private func images(_ rows: [LoggedRow<Portrait>]) -> [[Data?]] {
    rows.map { row in
      switch row {
      case .insert(let new): [new.image]
      case .update(let old, let new): [old.image, new.image]
      case .delete(let old): [old.image, nil]
      }
    }
  }

  @Test(arguments: [nil, 3]) func aConsumerGetsTheWrittenBlob(size: Int?) async throws {
    try await withPhoto { pool, other in
      var loop = pool.changes(on: Portrait.self, as: "copy", startingWith: .log).makeAsyncIterator()
      #expect(images(try await loop.next()?.all().map(\.row) ?? []) == [[Data([0, 1])]])
      try await write(other, size: size)
      let rows = try await loop.next()?.all().map(\.row) ?? []
      let (old, zeros) = (Data([0, 1]), Data([0, 0, 0]))
      #expect(
        images(rows) == (size == nil ? [[old, Data([0, 9])]] : [[old, zeros], [zeros, Data([0, 9, 0])]]))
      let stored = try await photo.run(pool)
      guard case .update(_, let new) = rows.last else {
        Issue.record("no update")
        return
      }
      #expect(new == stored)
    }
  }

  @Test func aBlobThatIsNotKeptIsLoggedAsAnUpdate() async throws {
    try await withPhoto(keeping: .columns(Portrait.hash)) { pool, other in
      let position = try await pool.changePosition()
      try await write(other)
      try await write(other, size: 3)
      let changes = try await pool.read { db in try db.changes(since: position).changes }
      let row: [DatabaseValue] = ["anna", .blob(Data([0]))]
      #expect(changes.map(\.old?.values) == [row, row, row])
      #expect(changes.map(\.new?.values) == [row, row, row])
      #expect(
        try await pool.read { try $0.query("SELECT count(*) FROM sqlable_change_candidates", as: Int.self) } == [0])
    }
  }

  @Test(arguments: [nil, 3], [ChangeLog.Values.rows, .keys, .columns(Portrait.hash), .columns(Portrait.image)])
  func aLiveResultFollowsAnotherPool(size: Int?, values: ChangeLog.Values) async throws {
    try await withPhoto(keeping: values) { pool, other in
      let live = Follower(Portrait.read().filter(Portrait.name == "anna").updates(in: pool))
      #expect(try await live.latest { !$0.isEmpty }?.first?.image == Data([0, 1]))
      try await write(other, size: size)
      let image = Data(size == nil ? [0, 9] : [0, 9, 0])
      #expect(try await live.latest { $0.first?.image == image }?.first?.image == image)
    }
  }

  @Test func aFailedWriteAndAnotherTableLogNothing() async throws {
    struct Failure: Error {}
    try await withPhoto { pool, _ in
      let position = try await pool.changePosition()
      await #expect(throws: Failure.self) {
        try await pool.transaction { db in
          try db.writeBlob(Portrait.image, of: Portrait.byId("anna")) { blob in
            try blob.write([9] as [UInt8], at: 1)
            throw Failure()
          }
        }
      }
      #expect(try await pool.changePosition() == position)
    }
    try await withPhoto(keeping: nil) { pool, _ in
      let position = try await pool.changePosition()
      try await write(pool)
      #expect(try await pool.changePosition() == position)
      try await ChangeLog(Portrait.self).create(pool)
      try await ChangeLog(Portrait.self).drop(pool)
      try await write(pool, size: 3)
      #expect(try await pool.changePosition() == position)
    }
  }

  @Test func aLogWithOtherColumnsRefusesTheWrite() async throws {
    try await withPhoto { pool, _ in
      try await pool.transaction { db in try db.execute("ALTER TABLE portrait RENAME COLUMN hash TO sum") }
      let error = await #expect(throws: SqlError.self) { try await write(pool) }
      #expect(error?.message.contains("run ChangeLog(…).create(db) again") == true)
      let stored = try await pool.read { db in
        try db.readBlob(Portrait.image, of: Portrait.byId("anna")) { try $0.read(2, at: 0) }
      }
      #expect(stored == [0, 1])
    }
  }
}
