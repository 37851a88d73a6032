import Foundation
import SqlableCore
import SqlablePool
import SqlableTracing
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

@Suite(.timeLimit(.minutes(60))) struct PoolTotalsTests {
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
}
