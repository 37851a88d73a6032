import Foundation
import Sqlable
import SqlableBackup
import SqlableTenants

/// The costs of a database for each tenant:
///
///     swift run -c release --package-path Tests/Benchmarks --disable-default-traits TenantCost --tenants 2000
///
/// Makes the tenants, of 1 MB each, in a temporary directory, and removes them. `--tenants 10000` needs 11 GB.
/// `--memory` only measures the memory of tenants, `--storm` only a read on each of 5,000 tenants at once,
/// `--migrations` only an added column, and `--hand-over` the move of a tenant to another machine. `--soak 20` only
/// makes random calls, for 20 minutes; with `--rounds 3`, three times, each with new keepers of the same tenants.
@main struct Program {
  struct Note: Sqlable {
    static let id = column("id", Int?.self, PrimaryKey(autoincrement: true))
    static let text = column("text", String.self)
    static let tableLayout = [id.column, text.column]

    var id: Int?
    var text: String

    init(_ text: String) { self.text = text }

    init(row: ReadRow) throws {
      id = try row.get(Note.id)
      text = try row.get(Note.text)
    }

    func write(to row: inout RowWriter) throws {
      row.set(Note.id, id)
      row.set(Note.text, text)
    }
  }

  static let first = Migration("first") { db in
    try db.execute("CREATE TABLE note (id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT NOT NULL)")
  }
  /// A column for each number of tenants that are migrated at once.
  static let columns = [
    (4, Migration("second") { db in try db.execute("ALTER TABLE note ADD COLUMN second TEXT") }),
    (8, Migration("third") { db in try db.execute("ALTER TABLE note ADD COLUMN third TEXT") }),
    (16, Migration("fourth") { db in try db.execute("ALTER TABLE note ADD COLUMN fourth TEXT") }),
  ]

  let directory: String
  let count: Int
  let open: Int

  static func main() async throws {
    let arguments = CommandLine.arguments
    func number(_ name: String, _ ordinary: Int) -> Int {
      arguments.firstIndex(of: name).flatMap { arguments.dropFirst($0 + 1).first.flatMap(Int.init) } ?? ordinary
    }
    let directory = NSTemporaryDirectory() + "sqlable-tenants-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let program = Program(
      directory: directory, count: number("--tenants", 2_000), open: number("--open", 500))
    if arguments.contains("--hand-over") { return try await program.measureHandOver() }
    if arguments.contains("--soak") {
      for _ in 0..<number("--rounds", 1) { try await program.soak(.seconds(60 * number("--soak", 1))) }
      return
    }
    try await program.prepare()
    let parts = ["--memory", "--storm", "--migrations"].filter(arguments.contains)
    if parts.contains("--memory") { try await program.measureMemory() }
    if parts.contains("--storm") { try await program.measureStorm() }
    if parts.contains("--migrations") { try await program.measureMigrations() }
    guard parts.isEmpty else { return }
    try await program.measureReads()
    try await program.measureMemory()
    try await program.measurePools()
    try await program.measureStorm()
    try await program.measureMigrations()
    try await program.measureHandOver()
  }

  func tenants(
    _ migrations: [Migration] = [first], in directory: String? = nil, open: Int? = nil, threads: Int = 4,
    wait: Duration = .seconds(600)
  ) throws -> SqliteTenants {
    try SqliteTenants(
      directory: directory ?? self.directory, schema: Schema(Note.self), migrations: Migrations(migrations),
      configuration: TenantsConfiguration(maximumOpen: open ?? self.open, threads: threads, waitTimeout: wait))
  }

  private func name(_ index: Int) -> String { "tenant-\(index)" }

  /// Makes the tenants from a backup of 1 MB, and opens each once, which turns on its WAL mode.
  private func prepare() async throws {
    let tenants = try tenants(open: 8)
    let backup = directory + "/template.backup"
    let text = String(repeating: "x", count: 1_000)
    _ = try await Note.insert((0..<960).map { _ in Note(text) }).run(tenants["template"])
    try await tenants["template"].withPool { pool in try await pool.backup(to: backup) }
    try await tenants.delete("template")
    let time = try await timed {
      try await concurrently(count, 4) { index in
        try await tenants.create(name(index), from: backup)
        _ = try await Note.byId(1).run(tenants[name(index)])
      }
    }
    print("\(count) tenants created from a backup, and opened: \(text: time / count) each, 4 at once")
    try await tenants.close()
  }

  private func measureReads() async throws {
    let tenants = try tenants()
    func read(_ range: some Sequence<Int>) async throws -> [Duration] {
      var times: [Duration] = []
      for index in range {
        times.append(try await timed { _ = try await Note.byId(5).run(tenants[name(index)]) })
      }
      return times
    }
    report("first read of a tenant, with free places", try await read(0..<open))
    report("first read of a tenant, which replaces another", try await read(open..<count))
    report("first read of a tenant that was open before", try await read(0..<count))
    _ = try await read(0..<open)
    report("read of an open tenant", try await read((0..<50_000).lazy.map { $0 % open }))
    let last = name(0)
    try await tenants[last].withPool { pool in
      var times: [Duration] = []
      for _ in 0..<50_000 { times.append(try await timed { _ = try await Note.byId(5).run(pool) }) }
      report("read on a pool", times)
    }
    try await tenants.close()
  }

  private func measureMemory() async throws {
    try await measureKnown()
    let tenants = try tenants()
    let warm = open / 10
    for index in 0..<warm { _ = try await Note.byId(5).run(tenants[name(index)]) }
    let before = ProcessUse.now()
    for index in warm..<open { _ = try await Note.byId(5).run(tenants[name(index)]) }
    let read = ProcessUse.now(releasing: false)
    for index in warm..<open { try await Note("a").insert().run(tenants[name(index)]) }
    let written = ProcessUse.now(releasing: false)
    print("an open tenant that was read: \(read.each(since: before, open - warm))")
    print("an open tenant that was written to, too: \(written.each(since: before, open - warm))")
    print("threads of the process: \(written.threads)")
    try await tenants.close()
  }

  /// The memory of a tenant that was used before and is closed.
  private func measureKnown() async throws {
    let tenants = try tenants(open: 8)
    func read(_ range: Range<Int>) async throws {
      for index in range { _ = try await Note.byId(5).run(tenants[name(index)]) }
    }
    /// Returns the allocated bytes once the timers of the last calls have ended.
    func allocated() async throws -> Int {
      try await Task.sleep(for: tenants.configuration.pool.waitTimeout.map { $0 + .seconds(2) } ?? .zero)
      return ProcessUse.allocated
    }
    let warm = count / 10
    try await read(0..<warm)
    let before = try await allocated()
    try await read(warm..<count)
    let after = try await allocated()
    print("a known tenant: \((after - before) / (count - warm)) bytes, of \(count) tenants")
    try await read(0..<count)
    print("each tenant that was opened once more: \((try await allocated() - after) / count) bytes")
    try await tenants.close()
  }

  /// The usual way without a keeper: a pool for each file, and all of them open.
  private func measurePools() async throws {
    let tenants = try tenants()
    var paths: [String] = []
    for index in 0..<open { paths.append(try await tenants[name(index)].withPool { $0.filepath }) }
    try await tenants.close()
    let before = ProcessUse.now()
    var pools: [SqlitePool] = []
    for path in paths { pools.append(try SqlitePool(filepath: path, readers: 2)) }
    try await concurrently(open, open) { [pools] index in
      _ = try await pools[index].read { db in try Note.byId(5).run(db) }
    }
    let after = ProcessUse.now(releasing: false)
    print("a pool for each of \(open) files, that was read: \(after.each(since: before, open))")
    print("threads of the process: \(after.threads)")
    for pool in pools { try await pool.close() }
  }

  private func measureStorm() async throws {
    let tenants = try tenants(open: 200)
    let (times, count) = (Times(), min(count, 5_000))
    let whole = try await timed {
      try await concurrently(count, count) { index in
        times.add(try await timed { _ = try await Note.byId(5).run(tenants[name(index)]) })
      }
    }
    report("a read on each of \(count) tenants at once, 200 open, \(text: whole) in total", times.all)
    print("threads of the process: \(ProcessUse.now(releasing: false).threads)")
    try await tenants.close()
  }

  private func measureMigrations() async throws {
    var migrations = [Program.first]
    for (width, column) in Program.columns {
      migrations.append(column)
      let tenants = try tenants(migrations, threads: width)
      let time = try await timed {
        let report = try await tenants.migrate(concurrency: width)
        print("migrated: \(report.migrated), failed: \(report.failures.count)")
        if let failure = report.failures.first { throw failure.error }
      }
      print("one added column, \(width) tenants at once: \(text: time / count) each, \(text: time) for all")
      try await tenants.close()
    }
  }

  /// The pause of the writes of one task while a tenant of 100 MB moves to another directory and back.
  private func measureHandOver() async throws {
    var here = try tenants()
    var there = try SqliteTenants(
      directory: directory + "/there", schema: Schema(Note.self), migrations: Migrations([Program.first]))
    let text = String(repeating: "x", count: 1_000)
    for _ in 0..<10 { _ = try await Note.insert((0..<9_600).map { _ in Note(text) }).run(here["large"]) }
    var (wholes, pauses): ([Duration], [Duration]) = ([], [])
    for _ in 0..<10 {
      let writer = Task { [here, there] in
        var last = ContinuousClock.now
        do {
          while true {
            _ = try await Note.update(Note.text.set(to: "y")).filter(Note.id == Int.random(in: 1...96_000)).run(
              here["large"])
            last = .now
          }
        } catch let error as SqlError where error.kind == .tenant(.handedOver) {
          _ = try await Note("there").insert().run(there["large"])
          return last.duration(to: .now)
        }
      }
      try await Task.sleep(for: .milliseconds(200))
      wholes.append(try await timed { try await here.handOver("large") { [there] in try await there.receive($0) } })
      pauses.append(try await writer.value)
      swap(&here, &there)
    }
    report("a tenant of 100 MB handed over", wholes)
    report("pause of its writes", pauses)
    try await here.close()
    try await there.close()
  }

  /// Calls `body` with each index, at most `width` at once.
  private func concurrently(
    _ count: Int, _ width: Int, _ body: @escaping @Sendable (Int) async throws -> Void
  ) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for index in 0..<count {
        if index >= width { try await group.next() }
        group.addTask { try await body(index) }
      }
      try await group.waitForAll()
    }
  }
}
