import Foundation
import SqlableCore
import SqlableRecovery
import Testing

@testable import SqlableTestSupport

@Suite("Salvage: random damage", .needsPlainFiles("it damages pages by their contents"))
struct SalvagePropertyTests {
  /// Creates tables of several forms and returns the rows that were deleted from each.
  private func database(
    _ path: String, _ random: inout SeededGenerator
  ) throws -> (file: DamagedDatabase, deleted: [String: Set<String>]) {
    var deleted: [String: Set<String>] = [:]
    let sizes = (0..<6).map { _ in Int.random(in: 1...1_500, using: &random) }
    let isDense = random.chance(50)
    var ids = sizes.map { size in
      (1...size).map { isDense ? Int64($0) : Int64.random(in: -1_000_000...1_000_000, using: &random) }
    }
    let length = Int.random(in: 5...200, using: &random)
    ids = ids.map { Array(Set($0)).sorted() }
    let vacuum = random.pick(["auto_vacuum = 0", "auto_vacuum = 2"])
    let pageSize = random.pick([512, 1_024, 4_096])
    let encoding = random.pick(["UTF-8", "UTF-16le"])
    let file = try DamagedDatabase(path, pageSize: pageSize, encoding: encoding, pragmas: [vacuum]) { db in
      for (number, ids) in ids.enumerated() {
        let columns = (0..<number).map { "c\($0) \($0 % 2 == 0 ? "TEXT" : "INTEGER")" }
        try db.execute(
          SQL(
            verbatim:
              "CREATE TABLE t\(number)(\((["id INTEGER PRIMARY KEY"] + columns + ["z TEXT"]).joined(separator: ", ")))")
        )
        let values = (0..<number).map { $0 % 2 == 0 ? "hex(randomblob(\(length / 5)))" : "random()" }
        try db.transaction { _ in
          for id in ids {
            let row = ["\(id)"] + values + ["hex(randomblob(\(length)))"]
            try db.execute(SQL(verbatim: "INSERT INTO t\(number) VALUES (\(row.joined(separator: ", ")))"))
          }
          let rows = try db.query(
            SQL(verbatim: "DELETE FROM t\(number) WHERE random() % 20 = 0 RETURNING quote(id) || ', ' || quote(z)"),
            as: String.self)
          deleted["t\(number)"] = Set(rows)
        }
        if number % 2 == 0 { try db.execute(SQL(verbatim: "CREATE INDEX i\(number) ON t\(number)(z)")) }
      }
      try db.execute("CREATE TABLE w(a TEXT PRIMARY KEY, b INTEGER) WITHOUT ROWID")
      try db.transaction { _ in for id in 1...400 { try db.execute("INSERT INTO w VALUES (\("key \(id)"), \(id))") } }
    }
    return (file, deleted)
  }

  private static let tables = (0..<6).map { ("t\($0)", ["id", "z"]) } + [("w", ["a", "b"])]

  @Test func lostPagesYieldOnlyTrueRowsAndAnAccurateReport() throws {
    var random = SeededGenerator(seed: SeededGenerator.seed)
    for _ in 0..<12 {
      try withDirectory { directory in
        let (damaged, deleted) = try database(directory + "/a.sqlite", &random)
        let all = try SalvagePropertyTests.tables.map { try literals(damaged.path, $0.1, from: $0.0) }
        let count = try damaged.pageCount
        // Page 1 stays intact: without page 1 or a backup, tables have no names.
        let listPages = try damaged.freeListPages
        var zeroed: Set<Int> = []
        for _ in 0..<max(count / 50, 1) {
          let page = Int.random(in: 2...count, using: &random)
          zeroed.insert(page)
          try damaged.zero(page: page)
        }
        let report = try Salvage(damaged: damaged.path).recover(into: directory + "/b.sqlite")
        // Tables also lose their names if another page of the schema is lost.
        if report.problems.contains("the schema of the file is damaged") { return }
        var (recovered, rows) = (0, 0)
        for (place, (table, columns)) in SalvagePropertyTests.tables.enumerated() {
          let found = try literals(directory + "/b.sqlite", columns, from: table)
          // Deleted rows lie in free pages. Salvage mistakes them for lost pages only if a free-list page is lost.
          let wrong = Set(found).subtracting(all[place])
          let isListWhole = zeroed.isDisjoint(with: listPages)
          #expect(wrong.isSubset(of: isListWhole ? [] : deleted[table] ?? []), "\(table)")
          #expect(found.count == report[table: table]?.rowsFromPages)
          (recovered, rows) = (recovered + found.count, rows + all[place].count)
        }
        // If a WITHOUT ROWID table loses its root, the file does not show its size.
        let (last, found) = (all[all.count - 1].count, report[table: "w"]?.rowsFromPages ?? 0)
        let share = Double(recovered - found) / Double(rows - last)
        let lost = report.tables.filter { $0.name != "w" }.reduce(0) { $0 + $1.estimatedRowsLost + $1.rowsSetAside }
        let reported = Double(recovered - found) / Double(recovered - found + lost)
        #expect(abs(share - reported) < 0.08, "\(share) \(report)")
        #expect(try integrity(directory + "/b.sqlite") == ["ok"])
      }
    }
  }

  @Test(.timeLimit(.minutes(60))) func randomBytesNeverMakeSalvageTrapHangOrWrite() throws {
    let seeds = ProcessInfo.processInfo.environment["SQLABLE_FUZZ"].flatMap(Int.init) ?? 400
    var random = SeededGenerator(seed: SeededGenerator.seed)
    try withDirectory { directory in
      let originals = try (0..<4).map { number in
        try Data(contentsOf: URL(fileURLWithPath: database(directory + "/\(number).sqlite", &random).file.path)).prefix(
          60_000)
      }
      let path = directory + "/a.sqlite"
      for _ in 0..<seeds {
        var bytes = [UInt8](random.pick(originals))
        mutate(&bytes, &random)
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        if random.chance(20) {
          var log = [UInt8](originals[0].prefix(20_000))
          mutate(&log, &random)
          try Data(log).write(to: URL(fileURLWithPath: path + random.pick(["-wal", "-journal"])))
        }
        let output = directory + "/b.sqlite"
        do {
          let report = try Salvage(damaged: path, backup: random.chance(20) ? directory + "/1.sqlite" : nil)
            .recover(into: output)
          #expect(report.share >= 0)
          #expect(report.share <= 1)
          #expect(try integrity(output) == ["ok"])
        } catch let error as SqlError {
          #expect(error.kind == .notADatabase, "\(error)")
        }
        #expect(try [UInt8](Data(contentsOf: URL(fileURLWithPath: path))) == bytes)
        for file in [output, path + "-wal", path + "-journal"] { try? FileManager.default.removeItem(atPath: file) }
      }
    }
  }

  private func mutate(_ bytes: inout [UInt8], _ random: inout SeededGenerator) {
    for _ in 0..<Int.random(in: 1...20, using: &random) where bytes.count > 600 {
      // Half of the changes hit page headers.
      let page = Int.random(in: 0..<(bytes.count / 512), using: &random) * 512
      let place =
        random.chance(50)
        ? page + Int.random(in: 0..<20, using: &random) : Int.random(in: 0..<bytes.count, using: &random)
      switch Int.random(in: 0..<6, using: &random) {
      case 0: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      case 1: bytes[place] = random.pick([0, 1, 0x7F, 0x80, 0xFF])
      case 2:
        for offset in place..<min(place + Int.random(in: 1...40, using: &random), bytes.count) {
          bytes[offset] = UInt8.random(in: 0...255, using: &random)
        }
      case 3: for offset in page..<min(page + 512, bytes.count) { bytes[offset] = 0 }
      case 4:
        let other = Int.random(in: 0..<(bytes.count / 512), using: &random) * 512
        for offset in 0..<512 { bytes[page + offset] = bytes[other + offset] }
      default: if random.chance(10) { bytes.removeLast(Int.random(in: 0..<500, using: &random)) }
      }
    }
  }
}
