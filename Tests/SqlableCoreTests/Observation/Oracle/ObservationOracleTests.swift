import SqlableCore
import Testing

@testable import SqlableTestSupport

/// Random transactions. Each handle to notify must receive exactly the difference between two snapshots.
@Suite struct ObservationOracleTests {
  private static let fast = Configuration(busyTimeout: 600, synchronous: .off)

  @Test(.needsPreupdateHook, arguments: [1, 20, 300, 4_000] as [UInt64])
  func eventsAreTheDifferenceOfSnapshots(seed: UInt64) throws {
    try withDatabase(Self.fast) { root in
      try root.execute(ObservationOracle.schema)
      let child = try root.createChild()
      let handles = [root, child, try root.createChild(), try child.createChild()]
      let listeners = handles.map { ObservationOracle.Listener($0) }
      // The handles that receive the commits of each writer.
      let hearers: [Set<Int>] = [[0], [0, 1], [0, 2], [0, 1, 3]]
      var work = ObservationWork(seed: seed)
      var before = try ObservationOracle.snapshot(root)
      var changed = 0
      for round in 0..<300 {
        let writer = round % handles.count
        work.transact(on: handles[writer])
        #expect(work.surprises == [], "seed \(seed), round \(round): \(work.journal)")
        for handle in handles { handle.queue.sync {} }
        let after = try ObservationOracle.snapshot(root)
        for (index, listener) in listeners.enumerated() {
          let events = listener.take()
          if hearers[writer].contains(index) {
            let defect = ObservationOracle.defect(events, from: before, to: after)
            try #require(defect == nil, "seed \(seed), round \(round), handle \(index): \(work.journal)")
          } else {
            try #require(events == [], "seed \(seed), round \(round), handle \(index): \(work.journal)")
          }
        }
        if before != after { changed += 1 }
        before = after
      }
      // A seed with fewer changes tests too little.
      #expect(changed > 100)
    }
  }

  @Test(.needsPreupdateHook, arguments: [5, 60, 700] as [UInt64])
  func concurrentEventsAreTheDifferenceOfSnapshots(seed: UInt64) throws {
    try withDatabase(Self.fast) { root in
      try root.execute(ObservationOracle.schema)
      let child = try root.createChild()
      let sibling = try root.createChild()
      let grandchild = try child.createChild()
      let listeners = [root, child, sibling, grandchild].map { ObservationOracle.Listener($0) }
      var before = try ObservationOracle.snapshot(root)
      // The first round excludes the root: its queue then delivers all commits in order.
      for writers in [[child, sibling, grandchild], [root, child, sibling, grandchild]] {
        let errors = Observed.threads(writers.count) { index in
          var work = ObservationWork(seed: seed &* 1_000 &+ UInt64(index))
          for _ in 0..<40 { work.transact(on: writers[index]) }
          if let surprise = work.surprises.first { throw SqlError(.other, message: surprise) }
        }
        #expect(errors.isEmpty, "seed \(seed): \(errors)")
        for handle in [root, child, sibling, grandchild] { handle.queue.sync {} }
        let after = try ObservationOracle.snapshot(root)
        let heard = listeners.map { $0.take() }
        let isOrdered = writers.count == 3
        let defect = ObservationOracle.defect(heard[0], from: before, to: after, isOrdered: isOrdered)
        #expect(defect == nil, "seed \(seed)")
        #expect(heard.allSatisfy { !$0.isEmpty }, "seed \(seed)")
        // The child receives its own changes and the grandchild's. With the sibling's, these are all of the root's.
        if isOrdered { #expect(counts(heard[0]) == counts(heard[1] + heard[2]), "seed \(seed)") }
        let rest = counts(heard[1]).merging(counts(heard[3]).mapValues { -$0 }, uniquingKeysWith: +)
        #expect(rest.values.allSatisfy { $0 >= 0 }, "seed \(seed)")
        before = after
      }
    }
  }

  private func counts(_ rows: [RowChange]) -> [RowChange: Int] {
    rows.reduce(into: [:]) { $0[$1, default: 0] += 1 }
  }
}
