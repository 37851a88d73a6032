import Foundation
import Glibc
import Sqlable
import SqlableBackup

extension Scenario {
  /// Open files reach the process's limit, which changes all the time.
  static let descriptors = Scenario(
    name: "descriptors",
    promise: "If file descriptors run out, calls throw and store nothing. Later calls work, and no descriptor leaks.",
    unit: "calls", limit: 240, flaws: ["leaksADescriptor", "ignoresErrors"],
    run: { round in
      let library = try FaultLibrary.compileThreads(in: round.libraries)
      let teller = try round.startTeller(
        ["\(round.seed)", round.directory, round.flaw ?? "-"], environment: ["LD_PRELOAD": library])
      teller.read(seconds: 200)
      if !teller.isAtEnd { round.report(.hung, "the process without descriptors") }
      teller.kill()
      if let signal = teller.process.endingSignal, signal != SIGKILL { round.report(.trapped, "signal \(signal)") }
      round.take(teller.lines)
    },
    work: { words in
      guard words.count == 3, let seed = UInt64(words[0]) else { throw Failure("the process needs three words") }
      let round = Round("descriptors", seed: seed, directory: words[1], flaw: words[2] == "-" ? nil : words[2])
      do { try DescriptorWork.turns(round) } catch { round.report(.wrong, "threw \(error)") }
      round.finish()
    })
}

/// The open files of the process.
private enum Descriptors {
  static var numbers: [Int32] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
    // The directory itself was open during the call.
    return names.compactMap { Int32($0) }.filter { fcntl($0, F_GETFD) >= 0 }
  }

  static var count: Int { numbers.count }

  static var names: [String] {
    numbers.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)") }.sorted()
  }

  /// Sets the number above every descriptor that can be opened.
  static func limit(_ number: rlim_t) {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    limit.rlim_cur = min(number, limit.rlim_max)
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }
}

/// Calls that open files, on several threads.
private struct DescriptorWork {
  private let directory: String
  private let pool: SqlitePool
  private let ledger: Ledger
  private let odd = Collected<String>()
  private static let handles = Configuration(busyTimeout: 60, synchronous: .off, walAutocheckpoint: 20)
  private static let pools = PoolConfiguration(
    handles: handles, readers: 2, waitTimeout: .seconds(60), pollInterval: .milliseconds(5))

  private var path: String { directory + "/descriptors.sqlite" }

  static func turns(_ round: Round) throws {
    let ledger = Ledger(ignoresErrors: round.flaw == "ignoresErrors")
    var flat: Int?
    for turn in 0..<6 {
      // The first turn has no limit. The runtime opens some files once, and so does the library: the first watch of a
      // file creates an inotify instance for the whole process.
      try DescriptorWork(round, ledger).run(isLimited: turn > 0, round)
      if round.flaw == "leaksADescriptor" { _ = open("/dev/null", O_RDONLY) }
      let end = ContinuousClock.now + .seconds(10)
      while let flat, Descriptors.count > flat, ContinuousClock.now < end { usleep(1_000) }
      let count = Descriptors.count
      if let flat, count > flat {
        round.report(.wrong, "turn \(turn): \(count) descriptors, \(flat) before: \(Descriptors.names)")
      }
      if flat == nil { flat = count }
      if round.hasFindings { return }
    }
    round.log("\(ledger.storedCount) stored, \(ledger.errors.count) refused: \(Array(Set(ledger.errors)).prefix(6))")
    let db = try SqliteDatabase(filepath: round.directory + "/descriptors.sqlite")
    try ledger.check(db, round)
    try db.close()
  }

  init(_ round: Round, _ ledger: Ledger) throws {
    (directory, self.ledger) = (round.directory, ledger)
    pool = try SqlitePool(filepath: directory + "/descriptors.sqlite", configuration: DescriptorWork.pools)
    try pool.transaction { db in if try !db.tableExists("member") { try db.createTable(Member.self) } }
  }

  func run(isLimited: Bool, _ round: Round) throws {
    let plans = (0..<5).map { _ in SeededGenerator(seed: round.random.next()) }
    if !isLimited { for kind in 0..<DescriptorWork.kinds { call(kind, 0) } }
    let used = Set(Descriptors.numbers)
    // The runtime has some with high numbers.
    let free = (Int32(0)...).first { !used.contains($0) } ?? 0
    let left = Mutex(4)
    onThreads(5) { thread in
      var random = plans[thread]
      if thread == 4 {
        while isLimited, left.withLock({ $0 > 0 }) {
          Descriptors.limit(rlim_t(free) + rlim_t(Int.random(in: 0...10, using: &random)))
          usleep(UInt32(Int.random(in: 0...3_000, using: &random)))
        }
      } else {
        for _ in 0..<12 { call(Int.random(in: 0..<DescriptorWork.kinds, using: &random), thread) }
        left.withLock { $0 -= 1 }
      }
    }
    Descriptors.limit(rlim_t.max)
    round.tried(48)
    for text in odd.take() { round.report(.wrong, text) }
    // All calls work again.
    for _ in 0..<2 {
      let isStored = ledger.write { id in
        try pool.transaction { db in _ = try Member(id: id, name: "later").insert().run(db) }
      }
      if !isStored { round.report(.wrong, "a later write threw \(ledger.errors.last ?? "")") }
    }
    do {
      _ = try pool.read { db in try Member.count().run(db) }
      let db = try SqliteDatabase(filepath: path, configuration: DescriptorWork.handles)
      _ = try Member.count().run(db)
      try db.close()
    } catch { round.report(.wrong, "a later read threw \(error)") }
    // SQLite keeps descriptors of closed handles while another handle of the process has the file open.
    try pool.close()
  }

  private static let kinds = 7

  private func call(_ kind: Int, _ thread: Int) {
    func insert(_ id: Int) -> (SqliteDatabase) throws -> Void {
      { db in _ = try Member(id: id, name: String(repeating: "x", count: id % 900)).insert().run(db) }
    }
    do {
      switch kind {
      case 0:
        ledger.write { id in
          let db = try SqliteDatabase(filepath: path, configuration: DescriptorWork.handles)
          defer { try? db.close() }
          try db.transaction(insert(id))
        }
      case 1:
        ledger.write { id in
          let other = try SqlitePool(filepath: path, configuration: DescriptorWork.pools)
          defer { try? other.close() }
          try other.transaction(insert(id))
        }
      case 2, 3: ledger.write { id in try pool.transaction(insert(id)) }
      case 4: _ = try pool.read { db in try Member.read().run(db).count }
      case 5: try pool.read { db in try db.backup(to: "\(directory)/backup\(thread).sqlite") }
      default:
        let pool = pool
        try waiting { for try await _ in Member.count().updates(in: pool) { break } }
      }
    } catch let error {
      if !(error is SqlError) { odd.append("kind \(kind) threw \(error)") }
    }
  }
}
