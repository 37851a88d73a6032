import Foundation
import Glibc
import Sqlable

extension Scenario {
  /// Processes that write are killed with SIGKILL.
  static let writers = Scenario(
    name: "writers",
    promise: "A killed process loses no acknowledged transaction, and stores every other transaction completely or not "
      + "at all.",
    unit: "kills", limit: 120, flaws: ["acknowledgesEarly", "keepsUndoneRows"],
    run: { round in
      let path = round.directory + "/writers.sqlite"
      let journal = round.random.chance(75) ? "wal" : "delete"
      let synchronous = round.random.pick(["off", "normal", "full"])
      let configuration = WriterWork.configuration(journal, synchronous)
      try BatchWriter.createTables(path, configuration)
      var oracle = BatchOracle()
      var writer = 1
      for _ in 0..<4 {
        let count = round.random.pick([1, 1, 2, 3])
        let tellers = try (0..<count).map { _ in
          // A pool needs a WAL.
          let styles = journal == "wal" ? BatchStyle.allCases : BatchStyle.allCases.filter { !$0.isOfPools }
          let style = round.random.pick(styles)
          defer { writer += style.threads }
          return try round.startTeller([path, style.rawValue, journal, synchronous, "\(writer)", round.flaw ?? "-"])
        }
        for teller in tellers {
          teller.read(seconds: 60) { $0.contains(UInt8(ascii: "+")) }
          // Some are stopped for a while first, perhaps with the lock that the others wait for.
          if count > 1, round.random.chance(20) {
            teller.process.signal(SIGSTOP)
            teller.read(seconds: Double.random(in: 0...0.2, using: &round.random))
            teller.process.signal(SIGCONT)
          }
          teller.read(seconds: Double.random(in: 0...0.04, using: &round.random))
          if teller.isAtEnd { round.report(.wrong, "a writer ended by itself: \(teller.lines.suffix(2))") }
          teller.kill()
          round.tried()
        }
        for teller in tellers { oracle.take(teller.lines, round) }
        for error in oracle.errors where !error.contains("locked") { round.report(.wrong, error) }
        try oracle.check(path, configuration, round)
      }
    },
    work: { words in try WriterWork(words).run() })
}

/// The process of a writer.
struct WriterWork {
  private let writer: BatchWriter
  private let firstWriter: Int

  init(_ words: [String]) throws {
    guard words.count == 6, let style = BatchStyle(rawValue: words[1]), let firstWriter = Int(words[4]) else {
      throw Failure("a writer needs six words")
    }
    self.firstWriter = firstWriter
    writer = BatchWriter(
      path: words[0], style: style, configuration: WriterWork.configuration(words[2], words[3]),
      flaw: BatchWriter.Flaw(rawValue: words[5]), count: nil)
  }

  static func configuration(_ journal: String, _ synchronous: String) -> Configuration {
    Configuration(
      busyTimeout: 60, journalMode: journal == "wal" ? .wal : .delete,
      synchronous: synchronous == "off" ? .off : synchronous == "normal" ? .normal : .full, walAutocheckpoint: 50)
  }

  func run() throws { try waiting { try await writer.run(firstWriter: firstWriter) } }
}
