import Foundation
import Sqlable
import SqlableRecovery

/// One database, its rows before the damage, and the damage.
struct SalvageTrial {
  private let path: String
  private var output: String { path + ".recovered" }
  private var rows: [String: [String: Int]] = [:]
  private(set) var description = ""
  /// True if the first page, with the names of the tables, is not overwritten.
  private(set) var hasFirstPage = true

  init(_ path: String, _ random: inout SeededGenerator) throws {
    self.path = path
    let db = try SqliteDatabase(
      filepath: path, configuration: Configuration(journalMode: .delete, synchronous: .off))
    let pageSize = random.pick([1_024, 4_096])
    try db.execute(SQL(verbatim: "PRAGMA page_size = \(pageSize); PRAGMA auto_vacuum = \(random.pick([0, 0, 0, 1]))"))
    try db.transaction { _ in
      for number in 0..<Int.random(in: 3...8, using: &random) { try SalvageTrial.fill(db, "t\(number)", &random) }
    }
    rows = try SalvageTrial.rows(of: db)
    try db.close()
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
    let pages = Int(try file.seekToEnd()) / pageSize
    var damaged: Set<Int> = []
    for _ in 0..<max(pages / 100, 1) { damaged.insert(Int.random(in: 0..<pages, using: &random)) }
    for page in damaged {
      try file.seek(toOffset: UInt64(page * pageSize))
      try file.write(contentsOf: Data(count: pageSize))
    }
    try file.close()
    hasFirstPage = !damaged.contains(0)
    description = "\(pages) pages\(hasFirstPage ? "" : ", the first is lost")"
  }

  private static func fill(_ db: SqliteDatabase, _ name: String, _ random: inout SeededGenerator) throws {
    let key = random.pick(["INTEGER PRIMARY KEY", "INTEGER PRIMARY KEY", "TEXT", "TEXT PRIMARY KEY"])
    let suffix = key == "TEXT PRIMARY KEY" ? " WITHOUT ROWID" : ""
    let types = (0..<Int.random(in: 1...6, using: &random)).map { _ in random.pick(["TEXT", "INTEGER", "REAL"]) }
    let columns = types.enumerated().map { "c\($0) \($1)" }.joined(separator: ", ")
    try db.execute(SQL(verbatim: "CREATE TABLE \(name)(id \(key), \(columns))\(suffix)"))
    let isSparse = random.pick([false, false, true])
    let count = Int(pow(10, Double.random(in: 1...4, using: &random)))
    let length = Int.random(in: 3...120, using: &random)
    for number in 1...count {
      let id = isSparse ? Int.random(in: 1...1_000_000_000, using: &random) : number
      var values: [DatabaseValue] = [key.hasPrefix("TEXT") ? .text("k\(id)") : .integer(Int64(id))]
      for type in types {
        switch type {
        case "TEXT":
          let isLong = Int.random(in: 0..<500, using: &random) == 0
          let size =
            isLong ? Int.random(in: 3_000...20_000, using: &random) : Int.random(in: 1...length, using: &random)
          values.append(.text("x" + String(random.next(), radix: 36) + String(repeating: "y", count: size)))
        case "REAL": values.append(.real(Double.random(in: 0...1, using: &random)))
        default: values.append(.integer(Int64.random(in: 0...1_000_000, using: &random)))
        }
      }
      try db.execute("INSERT OR IGNORE INTO \(table: name) VALUES (\(values))")
    }
    if random.pick([true, false]) { try db.execute(SQL(verbatim: "CREATE INDEX i_\(name) ON \(name)(c0)")) }
    if random.pick([true, false]) {
      let digit = Int.random(in: 0...9, using: &random)
      try db.execute("DELETE FROM \(table: name) WHERE id LIKE \("%\(digit)")")
    }
  }

  /// The rows of each table as texts, and how often each is there.
  private static func rows(of db: SqliteDatabase) throws -> [String: [String: Int]] {
    var rows: [String: [String: Int]] = [:]
    for table in try db.schema().tables where table.name.hasPrefix("t") {
      let values = table.columns.map { "quote(\"\($0.name)\")" }.joined(separator: " || ',' || ")
      var counts: [String: Int] = [:]
      for row in try db.query(SQL(verbatim: "SELECT \(values) FROM \"\(table.name)\""), as: String.self) {
        counts[row, default: 0] += 1
      }
      rows[table.name] = counts
    }
    return rows
  }

  /// Recovers the file, and calls `body` with the new file. Returns the reported share and the true figures.
  func salvage(_ body: (String) throws -> Void = { _ in }) throws -> (share: Double, figures: SalvageFigures) {
    let start = ContinuousClock.now
    let report = try Salvage(damaged: path).recover(into: output)
    let duration = ContinuousClock.now - start
    try body(output)
    return (report.share, try compare(duration))
  }

  /// Recovers the file with SQLite's shell.
  func recover(with shell: String) throws -> SalvageFigures {
    try? FileManager.default.removeItem(atPath: output)
    let start = ContinuousClock.now
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = [
      "-c", "\"$0\" \"$1\" .recover 2>/dev/null | \"$0\" \"$2\" >/dev/null 2>&1", shell, path, output,
    ]
    try process.run()
    process.waitUntilExit()
    return try compare(ContinuousClock.now - start)
  }

  private func compare(_ duration: Duration) throws -> SalvageFigures {
    var figures = SalvageFigures()
    figures.seconds = Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
    let db = try SqliteDatabase(filepath: output, configuration: Configuration(journalMode: .delete))
    defer { try? db.close() }
    let found = try SalvageTrial.rows(of: db)
    for (table, old) in rows {
      figures.rows += old.values.reduce(0, +)
      for (row, count) in found[table] ?? [:] {
        let known = min(old[row] ?? 0, count)
        figures.recovered += known
        figures.wrong += count - known
      }
    }
    return figures
  }

  func remove() throws {
    for file in [path, output] { try? FileManager.default.removeItem(atPath: file) }
  }
}

/// Rows before and after a salvage.
struct SalvageFigures {
  var rows = 0
  var recovered = 0
  var wrong = 0
  var outside = 0
  var seconds = 0.0
  var share: Double { rows == 0 ? 1 : Double(recovered) / Double(rows) }

  mutating func add(_ other: SalvageFigures) {
    rows += other.rows
    recovered += other.recovered
    wrong += other.wrong
    seconds += other.seconds
  }
}
