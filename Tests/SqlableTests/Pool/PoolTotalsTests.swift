import Foundation
import Sqlable
import Testing

@Suite(.timeLimit(.minutes(10))) struct PoolTotalsTests {
  private let counting = PoolConfiguration(keepsTotals: true)

  @Test func topStatementsRankByCountAndTime() throws {
    try withMembers(counting) { pool in
      pool.resetStatistics()
      for id in 1...20 { try Member(id: id, name: "secret \(id)").insert().run(pool) }
      for id in 1...50 { _ = try Member.byId(id).run(pool) }
      let byCount = pool.topStatements(1, by: .count)
      #expect(byCount.map(\.count) == [50])
      #expect(byCount.first?.table == "member")
      let insert = try #require(pool.topStatements().first { $0.sql.hasPrefix("INSERT") })
      #expect(insert.count == 20)
      #expect(insert.rowsChanged == 20)
      #expect(insert.total > .zero)
      #expect(insert.p50 <= insert.p99)
      #expect(insert.p99 <= insert.longest)
      #expect(!"\(pool.topStatements())".contains("secret"))
      #expect(pool.topStatements().contains { "\($0)".contains(": transactions, committed: BEGIN") })
      #expect(pool.statistics.writes == 20)
      #expect(pool.statistics.reads == 50)
      pool.resetStatistics()
      #expect(pool.topStatements() == [])
      let statistics = pool.statistics
      #expect(statistics.writes == 0)
      #expect(statistics.reads == 0)
      #expect(statistics.commits == 0)
      #expect(statistics.used == .zero)
    }
  }

  @Test func poolWithoutTotalsHasNoTopStatements() throws {
    try withMembers { pool in
      _ = try Member.count().run(pool)
      #expect(pool.topStatements() == [])
    }
  }

  /// `SQLABLE_TEXTS=10000000 swift test --filter newSQLTextsDoNotGrowTheMemory` takes hours.
  @Test func newSQLTextsDoNotGrowTheMemory() throws {
    let wanted = ProcessInfo.processInfo.environment["SQLABLE_TEXTS"].flatMap { Int($0) } ?? times(20_000)
    try withMembers(counting) { pool in
      pool.trace(.slow(.zero, advises: true)) { _ in }
      pool.trace(.init(values: [.of(Member.self, Member.name)])) { _ in }
      try pool.read { db in
        func run(_ numbers: Range<Int>) throws {
          for number in numbers {
            _ = try db.query(SQL(verbatim: "SELECT id AS c\(number) FROM member WHERE id < 0"), as: Int.self)
          }
        }
        try run(0..<min(5_000, wanted))
        // Other tests of the process allocate memory, too. A leak would grow in each of the three rounds.
        let growths = try (1...3).map { round in
          let before = residentBytes()
          try run(wanted * round..<wanted * round + max(5_000, wanted - 5_000))
          return residentBytes() - before
        }
        #expect(growths.contains { $0 < 48 << 20 }, "\(growths)")
      }
      #expect(pool.topStatements(.max).count <= 1_000)
    }
  }

  private func residentBytes() -> Int {
    let words = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ") ?? []
    return (words.count > 1 ? Int(words[1]) ?? 0 : 0) * 4_096
  }
}
