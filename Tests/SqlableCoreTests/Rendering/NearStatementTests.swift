import Foundation
import SqlableCore
import Testing

@testable import SqlableTestSupport

/// Statements that differ in one part. `Tests/Record` runs more of them.
@Suite struct NearStatementTests {
  @Test func statementsThatDifferInOnePartGiveTheirOwnResults() throws {
    let pairs = 500
    try withDirectory { directory in
      var trial = try NearStatementTrial(directory)
      var random = SeededGenerator(seed: SeededGenerator.seed)
      for number in 0..<pairs {
        let first = NearStatement(&random)
        let defect = try trial.defect(first, first.changed(&random))
        try #require(defect == nil, "pair \(number)")
      }
      let use = try trial.warm.statementCacheUse
      #expect(use.hits > pairs)
      #expect(use.evictions > 0)
      #expect(trial.nested > pairs / 10)
      #expect(trial.changed > pairs / 3)
      #expect(trial.failed < pairs / 3)
      #expect(try trial.cold.statementCacheUse.statements == 0)
    }
  }
}
