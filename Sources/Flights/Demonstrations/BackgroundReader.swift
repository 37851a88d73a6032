import Foundation
import Sqlable
import Synchronization

/// Reads flights on a child handle, on a thread of its own, for as long as another handle writes them.
///
/// In write-ahead mode neither waits for the other, and a reader sees what is committed and nothing else: of a batch
/// all rows or none. That is checked here on the way.
final class BackgroundReader: Sendable {
  struct Findings: Sendable {
    /// How many flights were read by their id.
    var reads = 0
    /// The numbers of flights that the table was seen to hold.
    var rowCounts: Set<Int> = []
    var failure: (any Error)?
  }

  /// How many flights are read in one transaction.
  static let burst = 50

  private let child: SqliteDatabase
  private let isStopped = Atomic(false)
  private let findings = Mutex(Findings())
  private let thread = DispatchGroup()

  /// Starts to read. The child is made here, on the thread of the main handle, and used on the other one only.
  init(besides db: SqliteDatabase) throws {
    child = try db.createChild()
    DispatchQueue(label: "flights.background").async(group: thread) { [self] in
      do {
        try read()
        try child.close()
      } catch {
        findings.withLock { $0.failure = error }
      }
    }
  }

  /// Ends the reading, waits for it to end, and tells what was found.
  func stop() -> Findings {
    isStopped.store(true, ordering: .relaxed)
    thread.wait()
    return findings.withLock { $0 }
  }

  private func read() throws {
    // Statements are values: built once, run as often as wanted.
    let oldest = Flight.read().orderBy(Flight.id).first()
    let newest = Flight.read().orderBy(Flight.id, .desc).first()
    var next = 0
    while !isStopped.load(ordering: .relaxed) {
      // A transaction, so that all reads are of the same moment.
      let rows = try child.transaction(.deferred) { child -> Int in
        guard let first = try oldest.run(child)?.id, let last = try newest.run(child)?.id else { return 0 }
        let rows = last - first + 1
        for _ in 0..<BackgroundReader.burst {
          // Here and there in the table, without a random number, whose system call takes longer than the read.
          next = (next + 7_919) % rows
          _ = try Flight.byId(first + next).run(child)
        }
        return rows
      }
      if rows > 0 {
        findings.withLock {
          $0.reads += BackgroundReader.burst
          $0.rowCounts.insert(rows)
        }
      }
      // A pause, as between requests to a service: the import is what is to be quick here.
      usleep(2_000)
    }
  }
}

extension BackgroundReader.Findings {
  /// For people; `committed` are the numbers of rows that the writer left at its commits.
  func lines(committed: Set<Int>, in duration: Duration) -> [String] {
    if reads == 0, failure == nil { return [] }
    let rate = Rate(count: reads, duration: duration).perSecond
    let halves = rowCounts.subtracting(committed).count
    var lines = [
      "  \(reads.grouped) flights by their id, \(rate.grouped) a second",
      "  \(rowCounts.count.grouped) of \(committed.count.grouped) states of the table, "
        + (halves == 0 ? "never a batch in halves" : "\(halves.grouped) of them inside a batch"),
    ]
    if let failure { lines.append("  until this happened: \(failure)") }
    return lines
  }
}
