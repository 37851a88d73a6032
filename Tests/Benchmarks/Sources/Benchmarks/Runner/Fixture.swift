import CBaseline
import Foundation
import Sqlable

/// The database files. All contenders read one; those of a family, who share a connection, write to one of their own.
/// Schema, page size, journal and pragmas are the same for all.
final class Fixture {
  enum Family: String {
    case c, swift, grdb, sqlable
  }

  /// Those that the library's handles are opened with.
  static let pragmas = """
    PRAGMA busy_timeout = 5000; PRAGMA foreign_keys = ON; PRAGMA secure_delete = fast; PRAGMA journal_mode = wal; \
    PRAGMA synchronous = normal; PRAGMA cache_size = -8192; PRAGMA wal_autocheckpoint = 1000
    """

  let directory: String
  /// What the sizes of the workloads are multiplied by.
  let scale: Double
  /// How many rows each reader of W9 reads; nil if it reads for a time.
  let reads: Int?

  /// How many rows the tables for reading have.
  var rows: Int { scaled(100_000, atLeast: 2_000) }
  var path: String { directory + "/reading.sqlite" }

  /// Connections to the file for reading: of raw C and raw Swift, and of the library.
  let raw: RawSwift
  let db: SqliteDatabase

  private var keepers: [Family: RawSwift] = [:]

  /// Opens the files in a directory, made first if they are not there.
  init(directory: String, scale: Double, reads: Int? = nil) throws {
    self.directory = directory
    self.scale = scale
    self.reads = reads
    let isNew = !FileManager.default.fileExists(atPath: directory + "/reading.sqlite")
    db = try SqliteDatabase(filepath: directory + "/reading.sqlite")
    if isNew { try db.createTables() }
    raw = try RawSwift(path: directory + "/reading.sqlite")
    if isNew { try fill() }
  }

  func scaled(_ count: Int, atLeast least: Int = 20) -> Int { max(least, Int(Double(count) * scale)) }

  /// Keys of rows in no order, the same in every round.
  func keys(_ count: Int) -> [Int] { (0..<count).map { ($0 &* 7919) % rows + 1 } }

  private func fill() throws {
    try TypedIntegers.insert((1...rows).lazy.map { TypedIntegers(Integers(number: $0)) }).run(db)
    try Typed.insert((1...rows).lazy.map { Typed(MixedRow(number: $0)) }).run(db)
    let number = "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n <"
    let documents = scaled(5_000)
    let loans = rows / 2
    try raw.execute(
      """
      CREATE INDEX mixed_name ON mixed (name);
      CREATE TABLE mixed_text (id INTEGER PRIMARY KEY, name TEXT NOT NULL, bio TEXT NOT NULL, price REAL NOT NULL, \
      active INTEGER NOT NULL, nick TEXT, at TEXT NOT NULL);
      INSERT INTO mixed_text SELECT id, name, bio, price, active, nick, strftime('%Y-%m-%d %H:%M:%f', at, 'unixepoch') \
      FROM mixed;
      \(number) \(documents)) INSERT INTO document SELECT n, json_object('city', 'city ' || n, 'visits', n * 3, \
      'rating', n * 0.25, 'tags', json_array('red ' || n, 'green', 'blue')) FROM numbers;
      CREATE TABLE author (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
      CREATE TABLE book (id INTEGER PRIMARY KEY, author_id INTEGER NOT NULL REFERENCES author (id), \
      title TEXT NOT NULL, pages INTEGER NOT NULL);
      CREATE TABLE loan (id INTEGER PRIMARY KEY, book_id INTEGER NOT NULL REFERENCES book (id), \
      member_id INTEGER NOT NULL);
      \(number) 500) INSERT INTO author SELECT n, 'author number ' || n FROM numbers;
      \(number) 5000) INSERT INTO book SELECT n, n % 500 + 1, 'the title of book ' || n, n % 700 + 50 FROM numbers;
      \(number) \(loans)) INSERT INTO loan SELECT n, n * 7919 % 5000 + 1, n * 31 % \(members) FROM numbers;
      CREATE INDEX loan_member ON loan (member_id);
      CREATE INDEX loan_book ON loan (book_id);
      ANALYZE; PRAGMA wal_checkpoint(TRUNCATE)
      """)
  }

  /// How many members have loans: each has 20.
  var members: Int { max(1, rows / 2 / 20) }

  // MARK: - Writing

  /// The path of the file that the contenders of a family write to.
  func path(of family: Family) -> String { directory + "/writing-\(family.rawValue).sqlite" }

  /// The connection that puts a family's file into the state that a workload begins with, and looks at the result.
  private func keeper(of family: Family) throws -> RawSwift {
    if let keeper = keepers[family] { return keeper }
    do {
      let db = try SqliteDatabase(filepath: path(of: family))
      try db.createTables()
      try db.close()
    }
    let keeper = try RawSwift(path: path(of: family))
    try keeper.execute("ATTACH '\(path)' AS source")
    keepers[family] = keeper
    return keeper
  }

  /// Empties a family's file but for the first rows of the mixed table.
  func reset(_ family: Family, rows: Int = 0) throws {
    try keeper(of: family).execute(
      """
      BEGIN; DELETE FROM main.mixed; DELETE FROM main.attachment;
      INSERT INTO main.mixed SELECT * FROM source.mixed WHERE id <= \(rows); COMMIT;
      PRAGMA main.wal_checkpoint(TRUNCATE)
      """)
  }

  /// A digest of all that a family's mixed table holds.
  func digest(of family: Family) throws -> UInt64 { baseline_scan_mixed(try keeper(of: family).db) }

  /// A connection of raw Swift, or of raw C, to its family's file.
  func rawWriter(_ family: Family) throws -> RawSwift {
    _ = try keeper(of: family)
    return try RawSwift(path: path(of: family))
  }

  /// The library's handle on its family's file.
  func writer() throws -> SqliteDatabase {
    _ = try keeper(of: .sqlable)
    return try SqliteDatabase(filepath: path(of: .sqlable))
  }
}

extension SqliteDatabase {
  fileprivate func createTables() throws {
    try createTable(TypedIntegers.self)
    try createTable(Typed.self)
    try createTable(TypedDocument.self)
    try createTable(TypedAttachment.self)
  }
}
