import Foundation
import Sqlable
import Synchronization

/// Reads flights on a child handle, on a separate thread, while another handle writes them.
///
/// In WAL mode readers and the writer don't block each other, and a reader sees committed rows only: of a batch all
/// rows or none. This is checked on the way.
final class BackgroundReader: Sendable {
  struct Findings: Sendable {
    /// The number of flights read by id.
    var reads = 0
    /// The row counts of the table that were seen.
    var rowCounts: Set<Int> = []
    var failure: (any Error)?
  }

  /// The number of flights read per transaction.
  static let burst = 50

  private let child: SqliteDatabase
  private let isStopped = Atomic(false)
  private let findings = Mutex(Findings())
  private let thread = DispatchGroup()

  /// Starts reading. The child is made here, on the main handle's thread, and then used on its own thread only.
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

  /// Stops reading, waits for the end, and returns the findings.
  func stop() -> Findings {
    isStopped.store(true, ordering: .relaxed)
    thread.wait()
    return findings.withLock { $0 }
  }

  private func read() throws {
    // Statements are values: built once, run many times.
    let oldest = Flight.read().orderBy(Flight.id).first()
    let newest = Flight.read().orderBy(Flight.id, .desc).first()
    var next = 0
    while !isStopped.load(ordering: .relaxed) {
      // A transaction, so that all reads have the same snapshot.
      let rows = try child.transaction(.deferred) { child -> Int in
        guard let first = try oldest.run(child)?.id, let last = try newest.run(child)?.id else { return 0 }
        let rows = last - first + 1
        for _ in 0..<BackgroundReader.burst {
          // Spread over the table without random numbers, whose system call takes longer than the read.
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
      // A pause, as between requests to a service: reading must not slow the import.
      usleep(2_000)
    }
  }
}

extension BackgroundReader.Findings {
  /// The findings as lines to print; `committed` are the row counts after the writer's commits.
  func lines(committed: Set<Int>, in duration: Duration) -> [String] {
    if reads == 0, failure == nil { return [] }
    let rate = Rate(count: reads, duration: duration).perSecond
    let halves = rowCounts.subtracting(committed).count
    var lines = [
      "  \(reads.grouped) flights by id, \(rate.grouped) per second",
      "  \(rowCounts.count.grouped) of \(committed.count.grouped) states of the table, "
        + (halves == 0 ? "never a partial batch" : "\(halves.grouped) of them with a partial batch"),
    ]
    if let failure { lines.append("  stopped by an error: \(failure)") }
    return lines
  }
}
