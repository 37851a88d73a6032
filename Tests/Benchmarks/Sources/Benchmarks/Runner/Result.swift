/// What came out of a workload.
struct Result: Encodable {
  struct Entry: Encodable {
    let contender: String
    /// The median of the rounds, in the workload's unit; the lowest and the highest.
    let value: Double
    let lowest: Double
    let highest: Double
    /// For a workload with a writer beside: how much that did, per second.
    var writes: Double?
    /// How many times as long, or as much, as the first contender of the workload in the same round, the median of the
    /// rounds; for a rate the other way round.
    var ratio: Double?
    /// The same to the best of GRDB's forms.
    var ratioToGRDB: Double?
  }

  let workload: String
  let title: String
  let unit: Workload.Unit
  /// How many rows or operations a round had.
  let operations: Int
  let rounds: Int
  var entries: [Entry]

  /// What a contender did, round by round.
  struct Samples {
    let contender: String
    var values: [Double] = []
    var writes: [Double] = []
  }

  init(_ workload: Workload, rounds: Int, samples: [Samples], base: String) {
    self.workload = workload.id
    title = workload.title
    unit = workload.unit
    operations = workload.operations
    self.rounds = rounds
    // Round by round: a machine that gets slower in the middle of a run is slower for both.
    func ratio(_ samples: Samples, to other: Samples?) -> Double? {
      guard let other else { return nil }
      return Result.median(zip(samples.values, other.values).map { workload.unit.isRate ? $1 / $0 : $0 / $1 })
    }
    let peers = samples.filter { $0.contender.hasPrefix(Name.grdb) }
    let ordered = peers.sorted { Result.median($0.values) < Result.median($1.values) }
    let best = workload.unit.isRate ? ordered.last : ordered.first
    let first = samples.first { $0.contender == base }
    entries = samples.map { samples in
      Entry(
        contender: samples.contender, value: Result.median(samples.values), lowest: samples.values.min() ?? 0,
        highest: samples.values.max() ?? 0, writes: samples.writes.isEmpty ? nil : Result.median(samples.writes),
        ratio: ratio(samples, to: first), ratioToGRDB: ratio(samples, to: best))
    }
  }

  /// The lower one of two in the middle.
  private static func median(_ values: [Double]) -> Double {
    values.isEmpty ? 0 : values.sorted()[(values.count - 1) / 2]
  }
}
