import Foundation
import SqlableCore
import Testing

/// A database file that tests can damage.
struct DamagedDatabase {
  let path: String
  let pageSize: Int
  private var file: FileHandle { get throws { try FileHandle(forUpdating: URL(fileURLWithPath: path)) } }

  /// Creates a database and leaves no WAL file.
  init(
    _ path: String, pageSize: Int = 1_024, encoding: String = "UTF-8", pragmas: [String] = [],
    _ body: (SqliteDatabase) throws -> Void
  ) throws {
    (self.path, self.pageSize) = (path, pageSize)
    let db = try SqliteDatabase(filepath: path, configuration: Configuration(journalMode: .delete, synchronous: .off))
    try db.execute(SQL(verbatim: "PRAGMA page_size = \(pageSize); PRAGMA encoding = '\(encoding)'"))
    for pragma in pragmas { try db.execute(SQL(verbatim: "PRAGMA \(pragma)")) }
    try body(db)
    try db.close()
  }

  var size: Int { get throws { try Data(contentsOf: URL(fileURLWithPath: path)).count } }
  var pageCount: Int { get throws { try size / pageSize } }

  func overwrite(page number: Int, at offset: Int = 0, with bytes: [UInt8]) throws {
    let file = try file
    try file.seek(toOffset: UInt64((number - 1) * pageSize + offset))
    try file.write(contentsOf: Data(bytes))
    try file.close()
  }

  func swap(_ one: Int, _ other: Int) throws {
    let bytes = try bytes(ofPage: one)
    try overwrite(page: one, with: self.bytes(ofPage: other))
    try overwrite(page: other, with: bytes)
  }

  func zero(page number: Int) throws {
    try overwrite(page: number, with: [UInt8](repeating: 0, count: pageSize))
  }

  func bytes(ofPage number: Int) throws -> [UInt8] {
    let data = try Data(contentsOf: URL(fileURLWithPath: path))
    return [UInt8](data[((number - 1) * pageSize)..<(number * pageSize)])
  }

  /// The trunk pages of the free-list.
  var freeListPages: Set<Int> {
    get throws {
      func word(_ page: Int, _ offset: Int) throws -> Int {
        try bytes(ofPage: page)[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
      }
      var (pages, next): (Set<Int>, Int) = try ([], word(1, 32))
      while next != 0, pages.insert(next).inserted { next = try word(next, 0) }
      return pages
    }
  }

  /// The b-tree pages of a type: 2 and 5 are interior pages, 10 and 13 are leaves.
  func pages(ofType type: UInt8) throws -> [Int] {
    try (1...pageCount).filter { try bytes(ofPage: $0)[$0 == 1 ? 100 : 0] == type }
  }

  /// The root of a table or index, read before the damage.
  func root(of name: String) throws -> Int {
    let db = try SqliteDatabase(filepath: path, configuration: Configuration(journalMode: .delete))
    defer { try? db.close() }
    return try #require(
      try db.query("SELECT rootpage FROM sqlite_schema WHERE name = \(name)", as: Int.self).first)
  }
}

/// The rows of a query as texts, each value as its SQL literal.
func literals(_ path: String, _ columns: [String], from table: String) throws -> [String] {
  let db = try SqliteDatabase(filepath: path, configuration: Configuration(isReadOnly: true))
  defer { try? db.close() }
  let values = columns.map { "quote(\"\($0)\")" }.joined(separator: " || ', ' || ")
  return try db.query(SQL(verbatim: "SELECT \(values) FROM \"\(table)\" ORDER BY 1"), as: String.self)
}

/// The messages of `PRAGMA integrity_check` for a file.
func integrity(_ path: String) throws -> [String] {
  let db = try SqliteDatabase(filepath: path, configuration: Configuration(journalMode: .delete))
  defer { try? db.close() }
  return try db.query("PRAGMA integrity_check", as: String.self)
}

extension DamagedDatabase {
  /// Fills an indexed table of bicycles whose b-tree has three levels.
  static func bicycles(_ db: SqliteDatabase, _ count: Int) throws {
    try db.execute("CREATE TABLE bicycle(id INTEGER PRIMARY KEY, name TEXT NOT NULL, color TEXT, price REAL)")
    try db.transaction { _ in
      for id in 1...count {
        let color = id % 3 == 0 ? nil as String? : "red"
        try db.execute("INSERT INTO bicycle VALUES (\(id), \("bicycle \(id)"), \(color), \(Double(id) / 2))")
      }
    }
    try db.execute("CREATE INDEX by_color ON bicycle(color)")
  }
}
