import Foundation
import Glibc
import SqlableCore
import SqlablePool
import Testing

@testable import SqlableTestSupport

/// Eight writers, sixteen readers, observers and live results in three processes on one file. The test kills one
/// process.
///
/// `SQLABLE_SOAK_SECONDS=120 swift test --filter SoakTests` extends the default of three seconds.
@Suite(.enabled(if: TestProgram.isAvailable, "the tests are no program of their own"))
struct SoakTests {
  private static let seconds = ProcessInfo.processInfo.environment["SQLABLE_SOAK_SECONDS"].flatMap(Double.init) ?? 3

  @Test func processesLoseDuplicateOrReorderNoRow() async throws {
    try await withDirectoryAsync { directory in
      let path = directory + "/soak.sqlite"
      // On a busy machine, a read can wait for long.
      let pool = try SqlitePool(
        filepath: path, configuration: .init(handles: .init(busyTimeout: 600), waitTimeout: nil))
      try Soak.createTables(pool)
      let reports = Collected<(process: Int, report: Soak.Report)>()
      let children = try await onThread {
        let children = try [1, 2].map { try PoolProcess(.soaking, path, id: $0 * 10, seconds: SoakTests.seconds) }
        for child in children { #expect(child.answer() == "ready") }
        return children
      }
      let threads = DispatchGroup()
      for (number, child) in children.enumerated() {
        DispatchQueue(label: "child \(number)").async(group: threads) {
          while true {
            let line = child.answer()
            if line.isEmpty || line == "done" { return }
            if let report = Soak.Report(line: line) { reports.append((number + 1, report)) }
          }
        }
      }
      for child in children { try child.goOn() }
      let killing = Task {
        try await Task.sleep(for: .seconds(SoakTests.seconds / 2))
        try await onThread { children[0].kill() }
      }
      let soak = Soak(pool, writers: 0..<3, readers: 6, seconds: SoakTests.seconds) { reports.append((0, $0)) }
      await soak.run()
      try await killing.value
      let isEnded = try await onThread {
        threads.wait()
        return children[1].end()
      }
      #expect(isEnded)
      let entries = try await Soak.Entry.read().orderBy(Soak.Entry.id).run(pool)
      let counters = try await Sample.read().orderBy(Sample.id).run(pool).map(\.number)
      try check(reports.values, entries, counters)
      let ok = try await pool.read { db in try db.query("PRAGMA integrity_check", as: String.self) }
      #expect(ok == ["ok"])
      try await pool.close()
    }
  }

  private struct Call: Hashable {
    let writer: Int
    let sequence: Int
  }

  private func check(
    _ reports: [(process: Int, report: Soak.Report)], _ entries: [Soak.Entry], _ counters: [Int]
  ) throws {
    var waits: [UInt64] = []
    var raises: [Int: [(value: Int, begin: UInt64, end: UInt64)]] = [:]
    var heard: [Int: [Int]] = [:]
    let stored = Dictionary(grouping: entries) { Call(writer: $0.writer, sequence: $0.sequence) }
    var (acknowledged, refused, wrong) = (0, 0, [String]())
    for (process, report) in reports {
      switch report {
      case .wrote(let writer, let sequence, let counter, let value, let begin, let end):
        acknowledged += 1
        waits.append(end - begin)
        raises[counter, default: []].append((value, begin, end))
        let rows = stored[Call(writer: writer, sequence: sequence)] ?? []
        if rows.count != 1 || rows[0].value != value || rows[0].counter != counter {
          wrong.append("acknowledged, and stored \(rows.count) times: \(writer) \(sequence)")
        }
      case .refused(let writer, let sequence):
        refused += 1
        if stored[Call(writer: writer, sequence: sequence)] != nil {
          wrong.append("refused and stored: \(writer) \(sequence)")
        }
      case .heard(let id): heard[process, default: []].append(id)
      case .wrong(let text): wrong.append(text)
      }
    }
    // Every increment of a counter read the value of the previous one.
    for (counter, value) in counters.enumerated() {
      let values = entries.filter { $0.counter == counter }.map(\.value)
      if values != Array(1...max(value, 1)).prefix(value).map({ $0 }) {
        wrong.append("counter \(counter) lost a raise")
      }
    }
    // The increments are linearizable: none ended before an increment with a lower value began.
    for (counter, raises) in raises {
      var latestBegin: UInt64 = 0
      for raise in raises.sorted(by: { $0.value < $1.value }) {
        if raise.end < latestBegin { wrong.append("counter \(counter): \(raise.value) was over too early") }
        latestBegin = max(latestBegin, raise.begin)
      }
    }
    // Each writer's rows are in its order.
    for (writer, rows) in Dictionary(grouping: entries, by: \.writer)
    where rows.map(\.sequence) != rows.map(\.sequence).sorted() {
      wrong.append("writer \(writer) out of order")
    }
    // Observers received each row of their process once and in order. The killed process received a prefix.
    for process in 0...2 {
      let own = entries.filter { $0.writer / 10 == process }.compactMap(\.id)
      let heard = heard[process] ?? []
      if process == 1 ? heard != Array(own.prefix(heard.count)) : heard != own {
        wrong.append("process \(process) heard of \(heard.count) rows of \(own.count)")
      }
    }
    #expect(wrong.prefix(5) == [])
    // A busy machine acknowledges few.
    #expect(acknowledged > 0)
    waits.sort()
    func percentile(_ part: Double) -> String {
      waits.isEmpty ? "-" : String(format: "%.2f", Double(waits[Int(Double(waits.count - 1) * part)]) / 1e6)
    }
    print(
      """
      soak: \(acknowledged) writes acknowledged, \(refused) refused, in \(SoakTests.seconds) s; \
      wait p50 \(percentile(0.5)) ms, p99 \(percentile(0.99)) ms, p99.9 \(percentile(0.999)) ms, \
      longest \(percentile(1)) ms
      """)
  }
}
