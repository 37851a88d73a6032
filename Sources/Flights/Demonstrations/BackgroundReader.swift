import Dispatch
import Sqlable
import Synchronization

/// Reads flights on a child handle, on a thread of its own, for as long as another handle writes them.
///
/// In write-ahead mode neither waits for the other, and a reader sees what is committed and nothing else: of a batch all rows or
/// none. That is checked here on the way.
final class BackgroundReader: Sendable {
  struct Findings: Sendable {
    /// How many flights were read by their id.
    var reads = 0
    /// The numbers of flights that the table was seen to hold.
    var rowCounts: Set<Int> = []
    var failure: (any Error)?
  }

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
    while !isStopped.load(ordering: .relaxed) {
      // A transaction, so that both reads are of the same moment.
      let ids = try child.transaction(.deferred) { child -> ClosedRange<Int>? in
        guard let first = try oldest.run(child)?.id, let last = try newest.run(child)?.id else { return nil }
        return first...last
      }
      guard let ids else { continue }
      for _ in 0..<100 { _ = try Flight.byId(Int.random(in: ids)).run(child) }
      findings.withLock {
        $0.reads += 100
        $0.rowCounts.insert(ids.count)
      }
    }
  }
}

extension BackgroundReader.Findings {
  /// For people; `committed` are the numbers of rows that the writer left at its commits.
  func lines(committed: Set<Int>, in duration: Duration) throws -> [String] {
    if let failure { throw failure }
    let rate = Rate(count: reads, duration: duration).perSecond
    let halves = rowCounts.subtracting(committed).count
    return [
      "  \(reads.grouped) flights by their id, \(rate.grouped) a second",
      "  \(rowCounts.count.grouped) of \(committed.count.grouped) states of the table, "
        + (halves == 0 ? "never a batch in halves" : "\(halves.grouped) of them inside a batch"),
    ]
  }
}
