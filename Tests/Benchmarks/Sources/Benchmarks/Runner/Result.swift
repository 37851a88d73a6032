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
    /// How many times as long, or as much, as the first contender of the workload; for a rate the other way round.
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

  init(_ workload: Workload, rounds: Int, entries: [Entry], base: String) {
    self.workload = workload.id
    title = workload.title
    unit = workload.unit
    operations = workload.operations
    self.rounds = rounds
    func ratio(_ value: Double, to other: Double?) -> Double? {
      other.map { workload.unit.isRate ? $0 / value : value / $0 }
    }
    let peers = entries.filter { $0.contender.hasPrefix(Name.grdb) }.map(\.value)
    let best = workload.unit.isRate ? peers.max() : peers.min()
    let first = entries.first { $0.contender == base }?.value
    self.entries = entries.map { entry in
      var entry = entry
      entry.ratio = ratio(entry.value, to: first)
      entry.ratioToGRDB = ratio(entry.value, to: best)
      return entry
    }
  }
}
