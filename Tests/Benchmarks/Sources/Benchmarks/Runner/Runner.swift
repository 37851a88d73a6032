import CBaseline

/// Runs workloads: all contenders once to warm up and to compare what they read and wrote, then in turn, in rounds.
struct Runner {
  let options: Options

  /// Contenders that do not read or write the same data measure different things.
  struct Disagreement: Error, CustomStringConvertible {
    let workload: String
    let what: String
    let digests: [(contender: String, digest: UInt64)]

    var description: String {
      let lines = digests.map { "  \($0.contender): \($0.digest)" }
      return "\(workload): the contenders do not \(what) the same data\n\(lines.joined(separator: "\n"))"
    }
  }

  /// Nothing when no contender is chosen.
  func run(_ workload: Workload) throws -> Result? {
    let all = try workload.contenders()
    let contenders = all.filter { options.includes(contender: $0.name) }
    guard let base = all.first, !contenders.isEmpty else { return nil }
    let expected = try warmUp(contenders, workload: workload.id)
    let rounds = min(options.rounds, workload.maximumRounds)
    var samples = contenders.map { Result.Samples(contender: $0.name) }
    for _ in 0..<rounds {
      for (index, contender) in contenders.enumerated() {
        let sample = try measure(contender, isCounted: true)
        if let expected, sample.digest != expected {
          throw Disagreement(
            workload: workload.id, what: "always read", digests: [("first", expected), (contender.name, sample.digest)])
        }
        samples[index].values.append(sample.value)
        if let writes = sample.writes { samples[index].writes.append(writes) }
      }
    }
    return Result(workload, rounds: rounds, samples: samples, base: base.name)
  }

  /// Gives the digest that every later round has to have; none for rates, which are never the same.
  private func warmUp(_ contenders: [Workload.Contender], workload: String) throws -> UInt64? {
    guard case .once = contenders[0].work else { return nil }
    var read: [(String, UInt64)] = []
    var written: [(String, UInt64)] = []
    baseline_set_thorough(1)
    for contender in contenders {
      read.append((contender.name, try measure(contender).digest))
      if let verify = contender.verify { written.append((contender.name, try verify())) }
    }
    baseline_set_thorough(0)
    for (what, digests) in [("read", read), ("write", written)] where Set(digests.map(\.1)).count > 1 {
      throw Disagreement(workload: workload, what: what, digests: digests)
    }
    // While time is taken the digests leave out the bytes of texts, so they are others.
    return try measure(contenders[0]).digest
  }

  private func measure(
    _ contender: Workload.Contender, isCounted: Bool = false
  ) throws -> (value: Double, digest: UInt64, writes: Double?) {
    try contender.setUp()
    defer { try? contender.tearDown() }
    switch contender.work {
    case .once(let run):
      guard isCounted else { return (0, try run(), nil) }
      let (digest, duration) = try measured(run)
      return (duration, digest, nil)
    case .rate(let run):
      let rate = try run()
      return (rate.reads, 0, rate.writes)
    }
  }

  /// The result of the work, and the milliseconds it took. It runs inside a function of the baseline, in which
  /// and nowhere else `instructions` counts.
  private func measured(_ run: () throws -> UInt64) throws -> (digest: UInt64, milliseconds: Double) {
    try withoutActuallyEscaping(run) { run in
      let work = Work(run)
      let clock = ContinuousClock()
      let start = clock.now
      let digest = baseline_measured(
        { context in
          guard let context else { return 0 }
          let work = Unmanaged<Work>.fromOpaque(context).takeUnretainedValue()
          do { return try work.run() } catch {
            work.error = error
            return 0
          }
        }, Unmanaged.passUnretained(work).toOpaque())
      let duration = (clock.now - start).components
      if let error = work.error { throw error }
      return (digest, Double(duration.seconds) * 1e3 + Double(duration.attoseconds) / 1e15)
    }
  }

  private final class Work {
    let run: () throws -> UInt64
    var error: (any Error)?

    init(_ run: @escaping () throws -> UInt64) { self.run = run }
  }
}
