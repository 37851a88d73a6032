/// A state machine of the library with the threads that use it, and a model of its promises.
struct Machine: Sendable {
  let name: String
  /// Planted faults of the threads. Each must be found, or the model proves nothing.
  let flaws: [String]
  /// The largest number of calls in a history.
  let size: Int
  /// Runs one history.
  let run: @Sendable (_ simulation: Simulation, _ size: Int, _ flaw: String?) -> Void

  static let all = [pools, commits, tenants, leases]

  static let commits = Machine(name: "commits", flaws: ["ignoresCommits"], size: 6) {
    DetectorDecisions.run($0, size: $1, flaw: $2)
  }

  static let pools = Machine(name: "pools", flaws: ["forgetsAWakeUp", "ignoresFailedCommits"], size: 8) {
    PoolDecisions.run($0, size: $1, flaw: $2)
  }

  static let tenants = Machine(name: "tenants", flaws: ["keepsItsClaim"], size: 8) {
    TenantDecisions.run($0, size: $1, flaw: $2)
  }

  static let leases = Machine(name: "leases", flaws: ["storesWithoutLease"], size: 5) {
    LeaseDecisions.run($0, size: $1, flaw: $2)
  }

  /// Runs the history of a seed.
  func history(seed: UInt64, size: Int? = nil, isRecorded: Bool = false, flaw: String?) -> Simulation {
    let simulation = Simulation(seed: seed, isRecorded: isRecorded)
    let most = 1 + Int(simulation.random.next() % UInt64(self.size))
    run(simulation, min(size ?? most, most), flaw)
    return simulation
  }

  /// Returns a recorded history with a finding and as few calls as possible, of this seed or of the next ones.
  func shrunk(seed: UInt64, flaw: String?) -> Simulation {
    for size in 1..<size {
      for offset in 0..<50 as Range<UInt64>
      where !history(seed: seed &+ offset, size: size, flaw: flaw).findings.isEmpty {
        return history(seed: seed &+ offset, size: size, isRecorded: true, flaw: flaw)
      }
    }
    return history(seed: seed, isRecorded: true, flaw: flaw)
  }
}
