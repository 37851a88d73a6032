import Foundation
import SqlableCodable
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableTestSupport

private struct Tag: Codable, Equatable {
  var id: Int?
  var name: String
  var kind: String?
  var code: Int?
}

extension Tag: SqlCodable {
  static let id = column("id", Int.self, PrimaryKey())
  static let name = column("name", String.self, Collate.nocase, Unique())
  static let kind = column("kind", String?.self)
  static let code = column("code", Int?.self, Unique())
  static let tableLayout = [id.column, name.column, kind.column, code.column]
  static let tableIndexes = [Index(kind, unique: true, where: code.isNull)]
}

/// Inserts that return the row that is there.
@Suite struct InsertOrFindTests {
  private func withTags(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.createTable(Tag.self)
      try Tag(id: 7, name: "Red", kind: "color", code: 1).insert().run(db)
      try body(db)
    }
  }

  @Test func theRowIsFoundOrInserted() throws {
    try withTags { db in
      let find = Tag(id: nil, name: "red", kind: "new").insert().orFind(by: Tag.name)
      #expect(
        find.sql.hasPrefix(
          #"INSERT INTO "tag" ("name", "kind", "code") VALUES (?, ?, ?) ON CONFLICT ("name") DO NOTHING"#))
      #expect(try find.run(db) == Tag(id: 7, name: "Red", kind: "color", code: 1))
      let blue = Tag(id: nil, name: "Blue").insert().orFind(by: Tag.name)
      let rows = try [blue.run(db), blue.run(db)]
      #expect(rows == [Tag(id: 8, name: "Blue"), Tag(id: 8, name: "Blue")])
      #expect(try Tag.count().run(db) == 2)
    }
  }

  @Test func observersHearOnlyOfAnInsert() throws {
    try withTags { db in
      let changes = Mutex<[String]>([])
      db.observe(on: Tag.self) { (change: RowChange) in changes.withLock { $0.append("\(change.change) \(change.id)") }
      }
      for name in ["red", "Blue", "blue"] { _ = try Tag(id: nil, name: name).insert().orFind(by: Tag.name).run(db) }
      #expect(changes.withLock { $0 } == ["insert 8"])
    }
  }

  @Test func aFoundRowNeedsNoWriteLock() throws {
    try withTags { db in
      let other = try SqliteDatabase(filepath: db.filepath, configuration: .init(busyTimeout: 0))
      let row = try db.transaction { _ in try Tag(id: nil, name: "red").insert().orFind(by: Tag.name).run(other) }
      #expect(row.id == 7)
    }
  }

  @Test func theRowOfAPartialIndexIsFound() throws {
    try withTags { db in
      let find = Tag(id: nil, name: "a", kind: "color").insert().orFind(by: Tag.kind, where: Tag.code.isNull)
      let row = try find.run(db)
      #expect(row == Tag(id: 8, name: "a", kind: "color"))
      let other = Tag(id: nil, name: "b", kind: "color").insert().orFind(by: Tag.kind, where: Tag.code.isNull)
      #expect(try other.run(db) == row)
    }
  }

  @Test func anotherConflictThrows() throws {
    try withTags { db in
      let error = sqlError { _ = try Tag(id: nil, name: "Blue", code: 1).insert().orFind(by: Tag.name).run(db) }
      #expect(error?.kind == .constraint(.unique))
      let count = try Tag.count().run(db)
      #expect(count == 1)
    }
  }

  @Test func misuseThrowsBeforeAWrite() throws {
    try withTags { db in
      let red = Tag(id: nil, name: "red")
      let error = expectMisuse { _ = try red.insert().orFind(by: Tag.code).run(db) }
      #expect(error?.message == "orFind(by:) needs a value of tag.code, but the insert writes none")
      #expect(error?.column == "code")
      expectMisuse { _ = try red.insert(Tag.kind).orFind(by: Tag.name).run(db) }
      expectInvalidStatement { _ = try red.update().orFind(by: Tag.name).run(db) }
      expectInvalidStatement { _ = try red.save().orFind(by: Tag.name).run(db) }
      expectInvalidStatement { _ = try red.insert().ignoreOnConflict().orFind(by: Tag.name).run(db) }
      // No unique index has the column: two processes could both insert the row, and a row found is one of several.
      for kind in ["y", "color"] {
        let find = Tag(id: nil, name: "x", kind: kind).insert().orFind(by: Tag.kind)
        let error = sqlError { _ = try find.run(db) }
        #expect(error?.message.hasPrefix("table tag has no unique index for ON CONFLICT (kind); ") == true)
      }
      let count = try Tag.count().run(db)
      #expect(count == 1)
    }
  }

  @Test func aTriggerThatRemovesTheRowIsReported() throws {
    try withTags { db in
      try db.execute("CREATE TRIGGER t AFTER INSERT ON tag BEGIN DELETE FROM tag WHERE id = new.id; END")
      expectError(.notFound) { _ = try Tag(id: nil, name: "Blue").insert().orFind(by: Tag.name).run(db) }
    }
  }

  @Test func poolsAndTasksGetTheSameRow() async throws {
    try await withDirectoryAsync { directory in
      let configuration = PoolConfiguration(handles: .init(busyTimeout: 600), readers: 2, waitTimeout: nil)
      let pools = try (0..<2).map { _ in
        try SqlitePool(filepath: directory + "/tags.sqlite", configuration: configuration)
      }
      defer { for pool in pools { try? pool.close() } }
      try await pools[0].transaction { db in _ = try db.createTable(Tag.self) }
      let ids = try await withThrowingTaskGroup(of: Int?.self) { group in
        for index in 0..<40 {
          group.addTask {
            try await Tag(id: nil, name: "n\(index % 4)").insert().orFind(by: Tag.name).run(pools[index / 4 % 2]).id
          }
        }
        return try await group.reduce(into: Set<Int?>()) { $0.insert($1) }
      }
      #expect(ids.count == 4)
      let count = try await Tag.count().run(pools[0])
      #expect(count == 4)
    }
  }

  @Test func aTransportSendsTheInsertAndTheReadTogether() async throws {
    let db = try SqliteDatabase.inMemory()
    try db.createTable(Tag.self)
    let remote = RecordingTransport(db: db)
    let find = Tag(id: nil, name: "Blue").insert().orFind(by: Tag.name)
    let rows = try await [find.run(remote), find.run(remote)]
    #expect(rows == [Tag(id: 1, name: "Blue"), Tag(id: 1, name: "Blue")])
    #expect(remote.sizes.withLock { $0 } == [1, 2, 1])
  }
}

private struct RecordingTransport: SqlTransport {
  let db: SqliteDatabase
  let sizes = Mutex<[Int]>([])

  func answers(to requests: [SqlRequest]) async throws -> [SqlAnswer] {
    sizes.withLock { $0.append(requests.count) }
    return try db.answers(to: requests)
  }
}
