import Foundation
import SqlableCore
import SqlableDocuments
import Testing

@testable import SqlableTestSupport

/// Random filters on random rows, compared with an evaluation of SQL's rules in plain Swift.
@Suite struct FilterPropertyTests {
  @Test func randomFiltersMatchAnIndependentEvaluation() throws {
    let seed = SeededGenerator.seed
    var generator = OracleGenerator(seed: seed)
    var (checked, skipped, matched, refused) = (0, 0, 0, 0)
    let encoder = JSONEncoder()
    let decoder = JSONDecoder()
    for _ in 0..<times(11) {
      let rows = (1...24).map { generator.row(id: $0) }
      try withDatabase { db in
        try OraclePlain.fill(rows, in: db)
        for index in 0..<450 {
          let term = generator.condition(1 + index % 4)
          guard !term.isRefused else {
            refused += 1
            let filter = term.expression(OraclePlain.oracleColumns)
            expectInvalidStatement { _ = try OraclePlain.read().filter(filter).run(db) }
            continue
          }
          guard let expected = try? expectedIds(of: term, in: rows) else {
            skipped += 1
            continue
          }
          checked += 1
          matched += expected.isEmpty || expected.count == rows.count ? 0 : 1
          let filter = term.expression(OraclePlain.oracleColumns)
          let read = OraclePlain.read().filter(filter)
          let note: Comment = "seed \(seed): \(term): \(read.sql) \(read.bindings)"
          let decoded = try decoder.decode(
            Statement<OraclePlain, [OraclePlain]>.self, from: encoder.encode(read))
          #expect(try read.run(db).map(\.oracleId).sorted() == expected, note)
          #expect(try OraclePlain.count().filter(filter).run(db) == expected.count, note)
          #expect(try OraclePlain.exists().filter(filter).run(db) == !expected.isEmpty, note)
          #expect(decoded == read, note)
          #expect(decoded.sql == read.sql, note)
          #expect(decoded.bindings == read.bindings, note)
          #expect(try decoded.run(db).map(\.oracleId).sorted() == expected, note)
        }
      }
    }
    #expect(checked > times(2500), "checked \(checked), skipped \(skipped)")
    #expect(skipped < checked / 5, "checked \(checked), skipped \(skipped)")
    #expect(refused > 50, "refused \(refused)")
    #expect(refused < checked / 2, "refused \(refused)")
    #expect(matched > checked / 3, "only \(matched) filters tell rows apart")
  }

  private func expectedIds(of term: OracleTerm, in rows: [[OracleValue]]) throws -> [Int] {
    try rows.indices.filter { try term.value(rows[$0], OracleGenerator.columns).truth == true }.map { $0 + 1 }
  }
}
