import Foundation
import SqlableCodable
import SqlableCore
import SqlablePool
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Commits that change a live result indirectly.
struct BlindSpotTests {
  struct Note: SqlCodable, Equatable {
    var name: String
    var state: String?
    static let name = column("name", String.self, PrimaryKey())
    static let state = column("state", String?.self)
    static let tableLayout = [name.column, state.column]
  }

  private func withSQL(_ sql: String, _ body: (SqlitePool) async throws -> Void) async throws {
    try await withDirectoryAsync { directory in
      let pool = try SqlitePool(
        filepath: directory + "/pool.sqlite", configuration: .init(waitTimeout: nil, pollInterval: nil))
      try await pool.withWriter { db in try db.execute(SQL(verbatim: sql)) }
      try await body(pool)
      try await pool.close()
    }
  }

  private func follows<Model, Output>(
    _ statement: Statement<Model, Output>, _ updates: LiveQuery<Output>, _ pool: SqlitePool, _ write: String,
    _ read: @escaping @Sendable (SqliteDatabase) throws -> Output, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws where Output: Equatable & Sendable {
    let follower = Follower(updates)
    let before = try await pool.read(read)
    #expect(try await follower.latest { $0 == before } == before, sourceLocation: sourceLocation)
    try await Task.sleep(for: .milliseconds(5))
    try await pool.withWriter { db in try db.execute(SQL(verbatim: write)) }
    let right = try await pool.read(read)
    let latest = try await follower.latest { $0 == right }
    #expect(latest == right, "\(write)", sourceLocation: sourceLocation)
  }

  private func rows<Model: Sqlable & Equatable>(
    _ statement: Statement<Model, [Model]>, _ pool: SqlitePool, _ write: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    try await follows(
      statement, statement.updates(in: pool), pool, write, { try statement.run($0) }, sourceLocation: sourceLocation)
  }

  @Test func liveFilterUsesTheDefaultOfAnAddedColumn() async throws {
    try await withSQL(
      """
      CREATE TABLE note (name TEXT PRIMARY KEY NOT NULL); INSERT INTO note VALUES ('a'), ('b'), ('c');
      ALTER TABLE note ADD COLUMN state TEXT DEFAULT 'open';
      """
    ) { pool in
      try await rows(
        Note.read().filter(Note.state == "open").orderBy(Note.name), pool, "DELETE FROM note WHERE name = 'a'")
      try await rows(
        Note.read().filter(Note.state == "open").orderBy(Note.name), pool,
        "UPDATE note SET state = 'x' WHERE name = 'b'")
      try await rows(Note.read().orderBy(Note.name), pool, "UPDATE note SET state = NULL WHERE name = 'c'")
    }
  }

  @Test(.needsPreupdateHook) func changeNeverReportsAnAddedDefaultAsNull() async throws {
    try await withSQL(
      """
      CREATE TABLE note (name TEXT PRIMARY KEY NOT NULL); INSERT INTO note VALUES ('a'), ('b'), ('c');
      ALTER TABLE note ADD COLUMN state TEXT DEFAULT 'open';
      """
    ) { pool in
      var changes = pool.modelChanges(on: Note.self).makeAsyncIterator()
      try await pool.withWriter { db in try db.execute("DELETE FROM note WHERE name = 'a'") }
      guard case .row(let row) = await changes.next() else {
        Issue.record("no row")
        return
      }
      // The old value is the default, or an error if SQLite does not provide it, but never NULL.
      let old = try? row.old()
      #expect(old.map { $0.state == "open" } ?? true)
    }
  }

  @Test func rowidFilterFollowsItsRows() async throws {
    enum Numbered: TableDeclaration {
      static let name = "numbered"
      static let rowid = Column("rowid", .integer, PrimaryKey())
      static let columns = [rowid, Column("name", .text)]
    }
    try await withSQL(
      "CREATE TABLE numbered (name TEXT); INSERT INTO numbered VALUES ('a'), ('b'), ('c'), ('d'), ('e')"
    ) { pool in
      try await rows(
        Entry<Numbered>.read().filter(Numbered.rowid == 5), pool, "UPDATE numbered SET name = 'x' WHERE rowid = 5")
      try await rows(
        Entry<Numbered>.read().filter(Numbered.rowid == 7), pool, "INSERT INTO numbered VALUES ('f'), ('g')")
      try await rows(
        Entry<Numbered>.read().filter(Numbered.rowid > 3), pool, "DELETE FROM numbered WHERE rowid = 4")
    }
  }

  @Test func aViewIsFollowed() async throws {
    try await withSQL(
      """
      CREATE TABLE base (name TEXT, state TEXT); INSERT INTO base VALUES ('a', 'open');
      CREATE VIEW note AS SELECT name, state FROM base WHERE state <> 'gone';
      """
    ) { pool in
      try await rows(Note.read().orderBy(Note.name), pool, "INSERT INTO base VALUES ('b', 'open')")
      try await rows(
        Note.read().filter(Note.state == "open").orderBy(Note.name), pool, "INSERT INTO base VALUES ('c', 'open')")
      let count = Note.count()
      try await follows(
        count, count.updates(in: pool), pool, "INSERT INTO base VALUES ('d', 'open')", { try count.run($0) })
      let any = Note.exists().filter(Note.state == "x")
      try await follows(any, any.updates(in: pool), pool, "INSERT INTO base VALUES ('d', 'x')", { try any.run($0) })
    }
  }

  @Test func aViewThatWasRedefinedIsFollowed() async throws {
    try await withSQL(
      """
      CREATE TABLE one (name TEXT, state TEXT); CREATE TABLE two (name TEXT, state TEXT);
      INSERT INTO one VALUES ('a', '1'); INSERT INTO two VALUES ('b', '2');
      CREATE VIEW note AS SELECT name, state FROM one;
      """
    ) { pool in
      let updates = Follower(Note.read().orderBy(Note.name).updates(in: pool))
      #expect(try await updates.latest { $0.map(\.name) == ["a"] }?.map(\.name) == ["a"])
      try await pool.withWriter { db in
        try db.transaction { db in
          try db.execute("DROP VIEW note; CREATE VIEW note AS SELECT name, state FROM two")
        }
      }
      #expect(try await updates.latest { $0.map(\.name) == ["b"] }?.map(\.name) == ["b"])
      try await pool.withWriter { db in try db.execute("INSERT INTO two VALUES ('c', '3')") }
      #expect(try await updates.latest { $0.map(\.name) == ["b", "c"] }?.map(\.name) == ["b", "c"])
    }
  }

  @Test func aTableThatBecameAViewIsFollowed() async throws {
    try await withSQL("CREATE TABLE note (name TEXT, state TEXT); INSERT INTO note VALUES ('a', 'open')") { pool in
      let updates = Follower(Note.read().filter(Note.state == "open").orderBy(Note.name).updates(in: pool))
      #expect(try await updates.latest { $0.map(\.name) == ["a"] }?.map(\.name) == ["a"])
      try await pool.transaction { db in
        try db.execute("ALTER TABLE note RENAME TO old; CREATE VIEW note AS SELECT name, state FROM old")
      }
      #expect(try await updates.latest { $0.map(\.name) == ["a"] }?.map(\.name) == ["a"])
      try await pool.transaction { db in try db.execute("INSERT INTO old VALUES ('c', 'open')") }
      #expect(try await updates.latest { $0.map(\.name) == ["a", "c"] }?.map(\.name) == ["a", "c"])
    }
  }

  @Test func fullTextShadowTablesAreFollowed() async throws {
    enum Content: TableDeclaration {
      static let name = "docs_content"
      static let id = Column("id", .integer, PrimaryKey())
      static let columns = [id, Column("c0", .text)]
    }
    try await withSQL("CREATE VIRTUAL TABLE docs USING fts5(body);") { pool in
      try await rows(Entry<Content>.read().orderBy(Content.id), pool, "INSERT INTO docs VALUES ('x')")
    }
  }

  @Test func sqliteSequenceTableIsFollowed() async throws {
    enum Sequence: TableDeclaration {
      static let name = "sqlite_sequence"
      static let columns = [Column("name", .text, PrimaryKey()), Column("seq", .integer)]
    }
    try await withSQL("CREATE TABLE auto (id INTEGER PRIMARY KEY AUTOINCREMENT, x); INSERT INTO auto (x) VALUES (1)") {
      pool in
      try await rows(Entry<Sequence>.read(), pool, "INSERT INTO auto (x) VALUES (1)")
    }
  }

  /// Commits to a full-text table record no rows, so each of them may have changed the result.
  @Test func fullTextTableIsFollowedThroughManyCommits() async throws {
    enum Document: TableDeclaration {
      static let name = "docs"
      static let columns = [Column("body", .text)]
    }
    try await withSQL("CREATE VIRTUAL TABLE docs USING fts5(body);") { pool in
      let follower = Follower(Entry<Document>.count().updates(in: pool))
      for count in 0...4 {
        #expect(try await follower.latest { $0 == count } == count)
        try await pool.withWriter { db in try db.execute("INSERT INTO docs VALUES ('x')") }
      }
    }
  }

  @Test func filterOnUTF16TextsIsFollowed() async throws {
    try await withSQL("PRAGMA encoding = 'UTF-16le'; CREATE TABLE note (name TEXT, state TEXT)") { pool in
      try await rows(
        Note.read().filter(Note.name > "Ā").orderBy(Note.name), pool, "INSERT INTO note VALUES ('b', 'open')")
    }
  }

  @Test func orderByASubqueryIsFollowed() async throws {
    try await withSQL(
      "CREATE TABLE note (name TEXT, state TEXT); INSERT INTO note VALUES ('a', 'open'), ('b', 'open'), ('c', 'gone')"
    ) { pool in
      let gone = Note.select(Note.name).filter(Note.state == "gone")
      let statement = Note.read().filter(Note.state == "open").orderBy(Note.name.in(gone), .desc).orderBy(Note.name)
      _ = statement
      // The 'gone' rows determine the order of the open rows.
      try await rows(statement, pool, "INSERT INTO note VALUES ('b', 'gone')")
    }
  }

  @Test(.observesGeneratedColumns) func triggersCascadesUpsertsAndComputedColumnsAreFollowed() async throws {
    try await withSQL(
      """
      CREATE TABLE NOTE (NAME TEXT PRIMARY KEY, "State" TEXT COLLATE NOCASE) WITHOUT ROWID; \
      INSERT INTO note VALUES ('a', 'open'), ('b', 'OPEN');
      CREATE TABLE other (name TEXT, state TEXT GENERATED ALWAYS AS (name || '!') VIRTUAL);
      CREATE TABLE stored (state TEXT GENERATED ALWAYS AS (name || '!') STORED, name TEXT);
      CREATE TABLE trig (a); \
      CREATE TRIGGER tr AFTER INSERT ON trig BEGIN INSERT OR REPLACE INTO note VALUES ('t', 'open'); END;
      CREATE TABLE parent (id TEXT PRIMARY KEY); INSERT INTO parent VALUES ('1'), ('2');
      CREATE TABLE child (name TEXT, state TEXT REFERENCES parent ON DELETE CASCADE ON UPDATE CASCADE); \
      INSERT INTO child VALUES ('k', '1'), ('l', '2');
      """
    ) { pool in
      let open = Note.read().filter(Note.state == "open").orderBy(Note.name)
      try await rows(open, pool, "UPDATE note SET state = 'OpEn' WHERE name = 'a'")
      try await rows(open, pool, "UPDATE note SET state = 'gone' WHERE name = 'b'")
      try await rows(open, pool, "UPDATE note SET name = 'z' WHERE name = 'a'")
      try await rows(open, pool, "INSERT INTO trig VALUES (1)")
      try await rows(
        open, pool,
        """
        INSERT INTO note VALUES ('u', 'x') ON CONFLICT DO NOTHING; \
        INSERT INTO note VALUES ('u', 'x') ON CONFLICT (name) DO UPDATE SET state = 'open'
        """)
      try await rows(open, pool, "DELETE FROM note")
      let other = Note.read().filter(Note.state == "a!").in("other")
      try await rows(other, pool, "INSERT INTO other VALUES ('a')")
      try await rows(other, pool, "UPDATE other SET name = 'b'")
      let others = Note.select(Note.state).in("other")
      let follower = Follower(others.updates(in: pool))
      _ = try await follower.latest { _ in true }
      try await pool.withWriter { try $0.execute("UPDATE other SET name = 'c'") }
      #expect(try await follower.latest { $0.first == "c!" }?.first == "c!")
      let stored = Note.read().filter(Note.state == "a!").in("stored")
      try await rows(stored, pool, "INSERT INTO stored VALUES ('a')")
      try await rows(stored, pool, "UPDATE stored SET name = 'b'")
      let child = Note.read().in("child").filter(Note.state == "1")
      try await rows(child, pool, "DELETE FROM parent WHERE id = '1'")
      let child2 = Note.read().in("child").filter(Note.state == "3")
      try await rows(child2, pool, "UPDATE parent SET id = '3' WHERE id = '2'")
      try await rows(open, pool, "INSERT OR REPLACE INTO note VALUES ('w', 'gone')")
    }
  }
}
