import Foundation
import Glibc
import Sqlable
import SqlableChanges
import SqlableRecovery

extension Scenario {
  /// The wall clocks of the processes jump, independently of one another.
  static let clocks = Scenario(
    name: "clocks",
    promise: "Jumps of the wall clock lose no write, no change for a consumer and no archived commit, and delay "
      + "nothing.",
    unit: "jumps and kills", limit: 240, flaws: ["waitsForTheWallClock", "missesAChange", "losesACommit"],
    run: { round in
      let works: [(ClockedProcesses) throws -> Void] = [
        { try $0.write() }, { try $0.deliver() }, { try $0.archive() },
      ]
      let planted = ["waitsForTheWallClock": 0, "missesAChange": 1, "losesACommit": 2]
      let index = round.flaw.flatMap { planted[$0] } ?? Int(round.seed % 3)
      try works[index](ClockedProcesses(round, library: FaultLibrary.compileClock(in: round.libraries)))
    },
    work: { words in try ClockedWork(words).run() })
}

/// The processes of a round whose clocks jump, and what they have to leave behind.
private struct ClockedProcesses {
  private let round: Round
  private let library: String
  private static let limit = 60.0

  init(_ round: Round, library: String) { (self.round, self.library) = (round, library) }

  private func start(_ work: String, jumps: Bool = true) throws -> Teller {
    try round.startTeller(
      [work, round.directory, jumps ? "\(round.random.next())" : "0", round.flaw ?? "-"],
      environment: ["LD_PRELOAD": library])
  }

  /// Reads to the end, and counts the jumps.
  private func finish(_ teller: Teller, _ name: String) {
    teller.read(seconds: ClockedProcesses.limit)
    if !teller.isAtEnd { round.report(.hung, "\(name): \(teller.lines.suffix(2))") }
    teller.kill()
    if let signal = teller.process.endingSignal, signal != SIGKILL {
      round.report(.trapped, "\(name), signal \(signal)")
    }
    for line in teller.lines where line.hasPrefix("threw ") { round.report(.wrong, "\(name) \(line)") }
    for line in teller.lines where line.hasPrefix("jumps ") { round.tried(Int(line.dropFirst(6)) ?? 0) }
  }

  /// Writes of pools with group commits and deadlines.
  func write() throws {
    let path = round.directory + "/clocks.sqlite"
    try BatchWriter.createTables(path, ClockedWork.handles)
    var oracle = BatchOracle()
    for style in BatchStyle.allCases {
      let teller = try start(style.rawValue)
      finish(teller, style.rawValue)
      oracle.take(teller.lines, round)
      if round.hasFindings { return }
    }
    for error in oracle.errors { round.report(.wrong, error) }
    try oracle.check(path, ClockedWork.handles, round)
  }

  /// Consumers with leases in two processes, which are killed. Each change arrives at least once.
  func deliver() throws {
    let db = try SqliteDatabase(filepath: round.directory + "/log.sqlite", configuration: ClockedWork.handles)
    try db.createTable(Member.self)
    try ChangeLog(Member.self).create(db)
    let copy = try ClockedWork.openCopy(round.directory)
    var consumers = [try start("deliver"), try start("deliver")]
    for number in 0..<200 {
      let id = Int.random(in: 0..<40, using: &round.random)
      if round.random.chance(70) {
        try Member(id: id, name: "\(number)").save().run(db)
      } else {
        try Member.delete(Member.id == id).run(db)
      }
      usleep(UInt32(Int.random(in: 0...10_000, using: &round.random)))
      guard number % 40 == 39 else { continue }
      try kill(consumers, round.random.pick([1, 2]), db)
      for index in 0..<2 where consumers[index].isAtEnd { consumers[index] = try start("deliver") }
    }
    // The last consumers have the machine's clock.
    usleep(500_000)
    try kill(consumers, 2, db)
    consumers = try (0..<2).map { _ in try start("deliver", jumps: false) }
    try Member(id: 40, name: "last").save().run(db)
    let end = ContinuousClock.now + .seconds(ClockedProcesses.limit)
    func rows(_ db: SqliteDatabase) throws -> [Member] { try Member.read().orderBy(Member.id).run(db) }
    while try rows(copy) != rows(db), ContinuousClock.now < end { usleep(5_000) }
    if try rows(copy) != rows(db) {
      let consumer = try db.query("SELECT seq, owner, claimed FROM sqlable_change_consumers", as: DynamicRow.self)
      round.report(.hung, "changes did not arrive: \(consumer.map(\.values))")
    }
    for consumer in consumers { consumer.kill() }
    for line in consumers.flatMap(\.lines) { round.report(.wrong, "a consumer \(line)") }
    for db in [db, copy] { try db.close() }
  }

  /// Kills the consumer that owns the lease, and then perhaps the one that has claimed it.
  private func kill(_ consumers: [Teller], _ count: Int, _ db: SqliteDatabase) throws {
    let owner = try db.query("SELECT owner FROM sqlable_change_consumers", as: String?.self).first ?? nil
    let sorted = consumers.sorted { first, _ in owner?.hasPrefix("\(first.process.processIdentifier)-") ?? false }
    for consumer in sorted.prefix(count) {
      consumer.kill()
      round.tried()
      usleep(UInt32(Int.random(in: 0...250_000, using: &round.random)))
    }
  }

  /// An archive, which also stores times. A restore has the last commit.
  func archive() throws {
    let directory = round.directory + "/archived"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    for _ in 0..<2 { finish(try start("archive"), "archive") }
    let restored = directory + "/restored.sqlite"
    try DatabaseArchive(at: directory + "/archive").restore(to: restored)
    if round.flaw != nil {
      let db = try VersionedTable.open(restored)
      try VersionedTable.write(59, db)
      try db.close()
    }
    let version = VersionedTable.version(restored, "the restored file", round, isReadOnly: false)
    if let version, version != 60 { round.report(.lost, "the restored file has version \(version), not 60") }
  }
}

/// A process whose clock jumps.
struct ClockedWork {
  static let handles = Configuration(busyTimeout: 60, synchronous: .off, walAutocheckpoint: 50)

  private let name: String
  private let directory: String
  private let seed: UInt64
  private let flaw: String

  init(_ words: [String]) throws {
    guard words.count == 4, let seed = UInt64(words[2]) else {
      throw Failure("a process with a clock needs four words")
    }
    (name, directory, self.seed, flaw) = (words[0], words[1], seed, words[3])
  }

  /// The state that a consumer keeps elsewhere.
  static func openCopy(_ directory: String) throws -> SqliteDatabase {
    let copy = try SqliteDatabase(filepath: directory + "/copy.sqlite", configuration: handles)
    try copy.createTable(Member.self)
    return copy
  }

  func run() throws {
    let jumps = jump()
    do {
      switch name {
      case "deliver": try deliver()
      case "archive": try ArchiveSteps(directory + "/archived").work()
      default: try write()
      }
    } catch { Teller.tell("threw \(error)") }
    Teller.tell("jumps \(jumps.withLock { $0 })")
  }

  /// Sets the clock again and again, or once: by a second up to a year, forwards and backwards.
  private func jump() -> Mutex<Int> {
    let count = Mutex(0)
    let seed = seed
    guard seed != 0 else { return count }
    Thread {
      var random = SeededGenerator(seed: seed)
      let isOnce = random.chance(50)
      repeat {
        if isOnce { usleep(UInt32(Int.random(in: 0...300_000, using: &random))) }
        let seconds = random.pick([1, 60, 3_600, 86_400, 31_536_000]) * random.pick(isOnce ? [-1, 1, 1] : [-1, 0, 1])
        try? FaultLibrary.jump(to: seconds)
        count.withLock { $0 += 1 }
        if !isOnce { usleep(UInt32(random.pick([200, 2_000, 20_000, 200_000]))) }
      } while !isOnce
    }.start()
    return count
  }

  private func write() throws {
    guard let style = BatchStyle(rawValue: name) else { throw Failure("no style is named \(name)") }
    let number = (BatchStyle.allCases.firstIndex(of: style) ?? 0) * 10 + 1
    if flaw == "waitsForTheWallClock" {
      for _ in 0..<1_000 {
        let end = Date().addingTimeInterval(0.01)
        while Date() < end { usleep(1_000) }
      }
    }
    let writer = BatchWriter(
      path: directory + "/clocks.sqlite", style: style, configuration: ClockedWork.handles, flaw: nil, count: 150)
    try waiting { try await writer.run(firstWriter: number) }
  }

  private func deliver() throws {
    let (copy, flaw) = (try ClockedWork.openCopy(directory), flaw)
    let pool = try SqlitePool(
      filepath: directory + "/log.sqlite",
      configuration: PoolConfiguration(handles: ClockedWork.handles, readers: 1, pollInterval: .milliseconds(20)))
    try waiting {
      while true {
        do {
          try await pool.deliver("copy", on: Member.self, startingWith: .log, lease: .milliseconds(200)) { change in
            switch change.row {
            case .insert(let new), .update(_, let new): try new.save().run(copy)
            case .delete where flaw == "missesAChange": break
            case .delete(let old): try Member.delete(Member.id == old.id).run(copy)
            }
          }
        } catch let error as SqlError where error.kind == .changeLog(.ownerChanged) {}
      }
    }
  }
}
