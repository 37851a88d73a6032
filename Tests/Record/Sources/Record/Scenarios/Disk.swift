import Foundation
import Glibc
import Sqlable

extension Scenario {
  /// Calls on the database's files fail.
  static let disk = Scenario(
    name: "disk",
    promise: "If calls on the files fail, acknowledged transactions are stored and refused ones are not.",
    unit: "failed calls", limit: 180, flaws: ["ignoresErrors", "keepsUndoneRows"],
    run: { round in
      let library = try FaultLibrary.compile(in: round.libraries)
      let files = round.directory + "/files"
      try FileManager.default.createDirectory(atPath: files, withIntermediateDirectories: true)
      let path = files + "/disk.sqlite"
      let journal = round.random.chance(70) ? "wal" : "delete"
      let configuration = DiskWork.configuration(journal, "full")
      try BatchWriter.createTables(path, configuration)
      var oracle = BatchOracle()
      for turn in 0..<12 {
        // A pool needs a WAL.
        let styles = journal == "wal" ? BatchStyle.allCases : BatchStyle.allCases.filter { !$0.isOfPools }
        let style = round.random.pick(styles)
        let fault = DiskFault(&round.random)
        round.log("\(turn): \(style), \(journal), \(fault.words.joined(separator: " "))")
        let teller = try round.startTeller(
          [path, style.rawValue, journal, "full", "\(1 + turn * 10)", round.flaw ?? "-"] + fault.words,
          environment: FaultLibrary.environment(library, files: files + "/"))
        teller.read(seconds: 60)
        if !teller.isAtEnd { round.report(.hung, "\(style) with \(fault.words)") }
        teller.kill()
        if let signal = teller.process.endingSignal, signal != SIGKILL {
          round.report(.trapped, "\(style) with \(fault.words), signal \(signal)")
        }
        oracle.take(teller.lines, round)
        for line in teller.lines {
          if line.hasPrefix("failed ") { round.tried(Int(line.dropFirst(7)) ?? 0) }
          if line.hasPrefix("wrong ") { round.report(.wrong, "\(style) with \(fault.words): \(line.dropFirst(6))") }
        }
        if teller.lines.last != "done" { round.report(.wrong, "\(style) with \(fault.words) ended early") }
        try oracle.check(path, configuration, round)
      }
    },
    work: { words in try DiskWork(words).run() })
}

/// Calls that fail, and how.
struct DiskFault {
  let words: [String]

  init(_ random: inout SeededGenerator) {
    let kind = random.pick(
      [.opens, .reads, .writes, .writes, .syncs, .syncs, .truncates, .locks, .unlinks, .shortens]
        as [FaultLibrary.Calls])
    let number = Int(pow(2, Double.random(in: 0...7.5, using: &random)))
    // While every lock fails, SQLite itself waits for ten seconds at each transaction.
    let length = random.pick(kind == .locks ? [1, 1, 3] : [1, 1, 3, Int.max / 2])
    let error = random.pick(kind == .opens ? [EIO, EMFILE, ENOSPC] : [EIO, EIO, ENOSPC])
    words = ["\(kind.rawValue)", "\(number)", "\(length)", "\(error)"]
  }
}

/// The process whose calls fail.
struct DiskWork {
  private let writer: BatchWriter
  private let firstWriter: Int
  private let numbers: [Int]

  init(_ words: [String]) throws {
    numbers = words.dropFirst(6).compactMap { Int($0) }
    guard words.count == 10, numbers.count == 4, let style = BatchStyle(rawValue: words[1]),
      let firstWriter = Int(words[4])
    else { throw Failure("a process of the disk needs ten words") }
    self.firstWriter = firstWriter
    writer = BatchWriter(
      path: words[0], style: style, configuration: DiskWork.configuration(words[2], words[3]),
      flaw: BatchWriter.Flaw(rawValue: words[5]), count: 15)
  }

  /// A short busy timeout, because a failing lock looks like another process.
  static func configuration(_ journal: String, _ synchronous: String) -> Configuration {
    Configuration(
      busyTimeout: 1, journalMode: journal == "wal" ? .wal : .delete,
      synchronous: Configuration.Synchronous(rawValue: synchronous) ?? .full, cacheSize: 16, walAutocheckpoint: 12)
  }

  func run() throws {
    let calls = FaultLibrary.Calls(rawValue: numbers[0]) ?? .writes
    try FaultLibrary.arm([calls], numbers[1], length: numbers[2], error: Int32(numbers[3]))
    do { try waiting { try await writer.run(firstWriter: firstWriter) } } catch { Teller.tell("error \(error)") }
    Teller.tell("failed \(try FaultLibrary.disarm())")
    // The files are usable again, in the same process.
    do {
      let other = BatchWriter(
        path: writer.path, style: .handle, configuration: writer.configuration, flaw: nil, count: 3)
      try waiting { try await other.run(firstWriter: firstWriter + 9) }
    } catch { Teller.tell("wrong a new handle afterwards: \(error)") }
    Teller.tell("done")
  }
}
