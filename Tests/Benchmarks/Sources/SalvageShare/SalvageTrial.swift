import Foundation
import Sqlable
import SqlableRecovery

/// The kinds of damage.
enum SalvageDamage: String, CaseIterable {
  /// A hundredth of the pages is overwritten with zeros.
  case zeros
  /// A hundredth of the pages is overwritten with random bytes.
  case random
  /// The end of the file is missing.
  case truncated
  /// Some pages have changed places.
  case shuffled
  /// The first hundred bytes are zeros.
  case header
  /// The first page is overwritten with zeros.
  case firstPage
  /// Random bytes are in the WAL, which has the last tables.
  case wal
}

/// One database, its rows before the damage, and the damage.
struct SalvageTrial {
  private let path: String
  private var output: String { path + ".recovered" }
  private var rows: [String: [Data: Int]] = [:]
  /// The number of rows on each leaf page; empty without SQLite's `dbstat`.
  private var leaves: [Int: Int] = [:]
  /// The overflow pages of each long row of a leaf page.
  private var overflowPages: [Int: [Set<Int>]] = [:]
  /// The rows of each table that were deleted before the damage.
  private var deleted: [String: Set<Data>] = [:]
  /// The pages that list the free pages. If one is damaged, a salvage can mistake a free page for a lost page, and
  /// deleted rows come back.
  private var freelistPages: Set<Int> = []
  private var isFreelistDamaged = false
  /// The number of rows whose pages are not damaged, without the rows on interior pages; nil if unknown.
  private(set) var intactRows: Int?
  private(set) var description = ""
  /// True if no page with the names of the tables is damaged.
  private(set) var hasSchema = true
  /// True if keys of an index look like rows of a table without a rowid: the same number of values, of the same types.
  /// A salvage can then assign neither to a table.
  private(set) var hasAmbiguousKeys = false
  /// True if two tables have rows of the same form, and no pointer map tells their pages apart.
  private(set) var hasEqualTables = false
  /// The pages with the names of the tables.
  private var schemaPages: Set<Int> = [0]

  init(_ path: String, _ random: inout SeededGenerator, damage: SalvageDamage = .zeros) throws {
    self.path = path
    let journalMode: Configuration.JournalMode = damage == .wal ? .wal : .delete
    let db = try SqliteDatabase(
      filepath: path, configuration: Configuration(journalMode: journalMode, synchronous: .off, walAutocheckpoint: 0))
    let pageSize = random.pick([1_024, 4_096])
    if damage != .wal {
      try db.execute(SQL(verbatim: "PRAGMA page_size = \(pageSize); PRAGMA auto_vacuum = \(random.pick([0, 0, 0, 1]))"))
    }
    let tables = Int.random(in: 3...8, using: &random)
    var filled: [Filled] = []
    func fill(_ numbers: Range<Int>) throws {
      for number in numbers { filled.append(try SalvageTrial.fill(db, "t\(number)", &random)) }
    }
    if damage == .wal {
      try db.transaction { _ in try fill(0..<tables / 2) }
      try db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
      for number in tables / 2..<tables { try db.transaction { _ in try fill(number..<number + 1) } }
    } else {
      try db.transaction { _ in try fill(0..<tables) }
    }
    hasAmbiguousKeys = filled.contains { table in
      table.isWithoutRowid && table.types.count == 1
        && filled.contains { other in
          // An index on a text, then the text of the key, or the rowid.
          other.isIndexed && other.types[0] == "TEXT" && table.types[0] == (other.isWithoutRowid ? "TEXT" : "INTEGER")
        }
    }
    let forms = Set(filled.map { "\($0.isWithoutRowid) \($0.types)" })
    let hasMap = try db.query("PRAGMA auto_vacuum", as: Int.self) != [0]
    hasEqualTables = forms.count < filled.count && !hasMap
    rows = try SalvageTrial.rows(of: db)
    for table in filled { deleted[table.name] = table.deleted }
    readPages(of: db)
    let schema = try? db.query("SELECT pageno FROM dbstat WHERE name = 'sqlite_schema'", as: Int.self)
    for page in schema ?? [] { schemaPages.insert(page - 1) }
    // The last connection would delete the WAL.
    if damage == .wal {
      try Data(contentsOf: URL(fileURLWithPath: path + "-wal")).write(to: URL(fileURLWithPath: path + "-w"))
    }
    try db.close()
    if damage != .wal { freelistPages = try SalvageTrial.freelistPages(path, pageSize) }
    if damage == .wal { try FileManager.default.moveItem(atPath: path + "-w", toPath: path + "-wal") }
    try self.damage(damage, pageSize: damage == .wal ? 4_096 : pageSize, &random)
  }

  private mutating func readPages(of db: SqliteDatabase) {
    let pages = try? db.query(
      "SELECT pageno, ncell, name || path FROM dbstat WHERE pagetype = 'leaf' AND name GLOB 't[0-9]'", as: Int.self,
      Int.self, String.self)
    var paths: [Substring: Int] = [:]
    for (page, count, path) in pages ?? [] { (leaves[page - 1], paths[path[...]]) = (count, page - 1) }
    // The path of an overflow page is the path of its leaf, the number of the cell, `+`, and a number.
    let overflow = try? db.query(
      "SELECT pageno, name || path FROM dbstat WHERE pagetype = 'overflow' AND name GLOB 't[0-9]'", as: Int.self,
      String.self)
    var cells: [Substring: Set<Int>] = [:]
    for (page, path) in overflow ?? [] {
      guard let end = path.lastIndex(of: "+") else { continue }
      cells[path[..<end], default: []].insert(page - 1)
    }
    for (cell, pages) in cells {
      guard let end = cell.lastIndex(of: "/"), let leaf = paths[cell[...end]] else { continue }
      overflowPages[leaf, default: []].append(pages)
    }
  }

  private static func freelistPages(_ path: String, _ pageSize: Int) throws -> Set<Int> {
    let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    func word(_ offset: Int) -> Int { bytes[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) } }
    var (pages, next): (Set<Int>, Int) = ([], word(32))
    while next > 0, pages.insert(next - 1).inserted { next = word((next - 1) * pageSize) }
    return pages
  }

  private mutating func damage(_ damage: SalvageDamage, pageSize: Int, _ random: inout SeededGenerator) throws {
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: path + (damage == .wal ? "-wal" : "")))
    defer { try? file.close() }
    let size = Int(try file.seekToEnd())
    let pages = size / pageSize
    func write(_ data: Data, at offset: Int) throws {
      try file.seek(toOffset: UInt64(offset))
      try file.write(contentsOf: data)
    }
    func read(_ page: Int) throws -> Data {
      try file.seek(toOffset: UInt64(page * pageSize))
      return try file.read(upToCount: pageSize) ?? Data()
    }
    func noise(_ count: Int) -> Data { Data((0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }) }
    var damaged: Set<Int> = []
    for _ in 0..<max(pages / 100, 1) { damaged.insert(Int.random(in: 0..<max(pages, 1), using: &random)) }
    // The order of a set differs from process to process.
    let chosen = damaged.sorted()
    switch damage {
    case .zeros: for page in chosen { try write(Data(count: pageSize), at: page * pageSize) }
    case .random: for page in chosen { try write(noise(pageSize), at: page * pageSize) }
    case .truncated:
      let end = Int.random(in: size / 4..<size, using: &random)
      damaged = Set(end / pageSize..<max(pages, end / pageSize))
      try file.truncate(atOffset: UInt64(end))
    case .shuffled:
      for page in chosen where page > 0 && pages > 2 {
        let other = Int.random(in: 1..<pages, using: &random)
        let (first, second) = (try read(page), try read(other))
        try write(second, at: page * pageSize)
        try write(first, at: other * pageSize)
        damaged.insert(other)
      }
      damaged.remove(0)
    case .header:
      damaged = []
      try write(Data(count: 100), at: 0)
    case .firstPage:
      damaged = [0]
      try write(Data(count: pageSize), at: 0)
    case .wal:
      damaged = []
      if size > 64 { try write(noise(64), at: Int.random(in: 0..<size - 64, using: &random)) }
    }
    isFreelistDamaged = !damaged.isDisjoint(with: freelistPages)
    hasSchema = damaged.isDisjoint(with: schemaPages)
    if damage != .wal, !leaves.isEmpty {
      intactRows = leaves.reduce(0) { rows, leaf in
        let broken = overflowPages[leaf.key]?.count { !damaged.isDisjoint(with: $0) } ?? 0
        return rows + (damaged.contains(leaf.key) ? 0 : leaf.value - broken)
      }
    }
    description = "\(damage), \(pages) pages\(hasSchema ? "" : ", names of tables are lost")"
  }

  /// The definition of a table.
  private struct Filled {
    let name: String
    let isWithoutRowid: Bool
    let types: [String]
    let isIndexed: Bool
    let deleted: Set<Data>
  }

  private static func fill(_ db: SqliteDatabase, _ name: String, _ random: inout SeededGenerator) throws -> Filled {
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
    let isIndexed = random.pick([true, false])
    if isIndexed { try db.execute(SQL(verbatim: "CREATE INDEX i_\(name) ON \(name)(c0)")) }
    var deleted: Set<Data> = []
    if random.pick([true, false]) {
      let condition: SQL = "WHERE id LIKE \("%\(Int.random(in: 0...9, using: &random))")"
      let values = literals(["id"] + types.indices.map { "c\($0)" })
      deleted = Set(try db.query("SELECT \(sql: values) FROM \(table: name) \(sql: condition)", as: Data.self))
      try db.execute("DELETE FROM \(table: name) \(sql: condition)")
    }
    return Filled(
      name: name, isWithoutRowid: !suffix.isEmpty, types: types, isIndexed: isIndexed, deleted: deleted)
  }

  /// The columns of a row as one text. Damaged texts need not be valid UTF-8.
  private static func literals(_ columns: [String]) -> SQL {
    SQL(verbatim: "CAST(\(columns.map { "quote(\"\($0)\")" }.joined(separator: " || ',' || ")) AS BLOB)")
  }

  /// The rows of each table as texts, and how often each is there.
  private static func rows(of db: SqliteDatabase) throws -> [String: [Data: Int]] {
    var rows: [String: [Data: Int]] = [:]
    for table in try db.schema().tables where table.name.hasPrefix("t") {
      var counts: [Data: Int] = [:]
      let values = literals(table.columns.map(\.name))
      for row in try db.query("SELECT \(sql: values) FROM \(table: table.name)", as: Data.self) {
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
    if try db.tableExists("lost_and_found") {
      figures.unassigned = try db.query("SELECT count(*) FROM lost_and_found", as: Int.self)[0]
    }
    for (table, old) in rows {
      figures.rows += old.values.reduce(0, +)
      for (row, count) in found[table] ?? [:] {
        let known = min(old[row] ?? 0, count)
        figures.recovered += known
        let isDeleted = isFreelistDamaged && deleted[table]?.contains(row) == true
        if !isDeleted { figures.wrong += count - known }
      }
    }
    return figures
  }

  func remove() throws {
    for file in [path, path + "-wal", path + "-shm", output] { try? FileManager.default.removeItem(atPath: file) }
  }
}

/// Rows before and after a salvage.
struct SalvageFigures {
  var rows = 0
  var recovered = 0
  var wrong = 0
  /// The number of rows in `lost_and_found`.
  var unassigned = 0
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
