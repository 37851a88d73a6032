import Foundation
import Sqlable
import Synchronization

/// W14: whether slow queries keep other tasks waiting: ten thousand tasks read a row each, and a task that has nothing
/// to do with the database asks for its turn again and again. It is no ratio to C.
struct Responsiveness {
  static let id = "W14"
  static let title = "10,000 tasks that read a row, and one that only asks for its turn, beside slow queries"

  let directory: String
  let options: Options

  private static let slow: SQL = """
    WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 1000000000) SELECT count(*) FROM c
    """

  func run() throws {
    let path = directory + "/responsiveness.sqlite"
    let pool = try SqlitePool(filepath: path, readers: 4)
    try pool.transaction { db in
      try db.createTable(Latency.Note.self)
      for id in 1...1_000 { try Latency.Note(id: id, time: 0).insert().run(db) }
    }
    print("\(Responsiveness.id)  \(Responsiveness.title)")
    print("     slow queries  round   all ended in   a turn: median      p99  longest")
    for slow in [0, 1] {
      for round in 1...min(options.rounds, 3) { try measure(pool, slow: slow, round) }
    }
    try pool.close()
    try SqliteDatabase.deleteDatabase(at: path)
  }

  private func measure(_ pool: SqlitePool, slow: Int, _ round: Int) throws {
    let done = DispatchSemaphore(value: 0)
    let result = Mutex((turns: [Int](), duration: Duration.zero))
    Task {
      let queries = (0..<slow).map { _ in
        Task { try await pool.read { db in try db.query(Responsiveness.slow, as: Int.self) } }
      }
      while pool.statistics.openReaders - pool.statistics.idleReaders < slow {
        try await Task.sleep(for: .milliseconds(1))
      }
      let isOver = Mutex(false)
      let turns = Task {
        var turns: [Int] = []
        while !isOver.withLock({ $0 }) {
          let begin = DispatchTime.now().uptimeNanoseconds
          await Task.yield()
          turns.append(Int(DispatchTime.now().uptimeNanoseconds - begin))
        }
        return turns
      }
      let begin = ContinuousClock.now
      await withTaskGroup(of: Void.self) { group in
        for number in 0..<10_000 {
          group.addTask { _ = try? await Latency.Note.byId(number % 1_000 + 1).run(pool) }
        }
      }
      let duration = begin.duration(to: .now)
      isOver.withLock { $0 = true }
      let sorted = await turns.value.sorted()
      result.withLock { $0 = (sorted, duration) }
      for query in queries { query.cancel() }
      for query in queries { _ = await query.result }
      done.signal()
    }
    done.wait()
    let (sorted, duration) = result.withLock { $0 }
    func milliseconds(_ share: Double) -> String {
      String(format: "%6.3f ms", Double(sorted[Int(Double(sorted.count - 1) * share)]) / 1e6)
    }
    let seconds = Double(duration.components.attoseconds) / 1e15 + Double(duration.components.seconds) * 1e3
    print(
      String(format: "     %12d  %5d %11.0f ms    ", slow, round, seconds), milliseconds(0.5), milliseconds(0.99),
      milliseconds(1))
    fflush(nil)
  }
}
