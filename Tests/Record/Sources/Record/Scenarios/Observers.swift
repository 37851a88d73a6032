import SqlableCore

extension Scenario {
  /// Random transactions with savepoints, triggers, foreign keys and conflicts on four handles of one file.
  static let observers = Scenario(
    name: "observers",
    promise: "Each observer is notified of exactly the rows that a commit changed, on every handle that reports the "
      + "commit.",
    unit: "transactions", limit: 120, flaws: ["missesAnEvent", "repeatsAnEvent"],
    run: { round in
      let configuration = Configuration(busyTimeout: 60, synchronous: .off)
      let root = try SqliteDatabase(filepath: round.directory + "/observers.sqlite", configuration: configuration)
      try root.execute(ObservationOracle.schema)
      let child = try root.createChild()
      let handles = [root, child, try root.createChild(), try child.createChild()]
      let listeners = handles.map { ObservationOracle.Listener($0) }
      // The handles that receive the commits of each writer.
      let hearers: [Set<Int>] = [[0], [0, 1], [0, 2], [0, 1, 3]]
      var work = ObservationWork(seed: round.random.next())
      var before = try ObservationOracle.snapshot(root)
      for step in 0..<400 {
        let writer = Int.random(in: 0..<handles.count, using: &round.random)
        work.transact(on: handles[writer])
        round.tried()
        for surprise in work.surprises { round.report(.wrong, "step \(step): \(surprise), \(work.journal)") }
        for handle in handles { handle.queue.sync {} }
        let after = try ObservationOracle.snapshot(root)
        for (index, listener) in listeners.enumerated() {
          var events = listener.take()
          if round.flaw == "missesAnEvent", !events.isEmpty { events.removeLast() }
          if round.flaw == "repeatsAnEvent", let last = events.last { events.append(last) }
          if !hearers[writer].contains(index) {
            if !events.isEmpty { round.report(.invented, "step \(step), handle \(index): \(work.journal)") }
          } else if let defect = ObservationOracle.defect(events, from: before, to: after) {
            round.report(.wrong, "step \(step), handle \(index): \(defect), \(work.journal)")
          }
        }
        before = after
        // Later steps would only repeat the finding.
        if round.hasFindings { return }
      }
    })
}
