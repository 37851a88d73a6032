import Foundation

/// The benchmark's command; `--help` tells what it takes.
@main
struct Benchmarks {
  static func main() {
    do {
      let options = try Options(Array(CommandLine.arguments.dropFirst()))
      if options.help { return print(Options.usage) }
      guard try Benchmarks(options).run() else { exit(1) }
    } catch {
      FileHandle.standardError.write(Data("Benchmarks: \(error)\n".utf8))
      exit(2)
    }
  }

  let options: Options

  init(_ options: Options) { self.options = options }

  /// Gives whether nothing is over its limit.
  private func run() throws -> Bool {
    let temporary = FileManager.default.temporaryDirectory.path + "/sqlable-benchmarks-\(UUID().uuidString)"
    let directory = options.directory ?? temporary
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    // A directory that was given belongs to the process that gave it.
    defer { if options.directory == nil { try? FileManager.default.removeItem(atPath: directory) } }
    let processes = Processes(directory: directory, options: options)
    let latency = Latency(directory: directory, options: options)
    if let writer = options.writer {
      if writer == "latency" { try latency.write() } else { try processes.write(writer) }
      return true
    }
    let special = [Processes.id, Latency.id, Responsiveness.id, Subscribers.id]
    if options.only.contains(where: special.contains) {
      print(Machine().description, terminator: "\n\n")
      if options.only.contains(Processes.id) { try processes.run() }
      if options.only.contains(Latency.id) { try latency.run() }
      if options.only.contains(Responsiveness.id) {
        try Responsiveness(directory: directory, options: options).run()
      }
      if options.only.contains(Subscribers.id) { try Subscribers(directory: directory, options: options).run() }
      if options.only.allSatisfy(special.contains) { return true }
    }
    return try run(in: Fixture(directory: directory, scale: options.scale, reads: options.reads))
  }

  private func run(in fixture: Fixture) throws -> Bool {
    let workloads = Suite(fixture: fixture).workloads
    let ids =
      workloads.map(\.id) + Memory.workloads.map(\.0)
      + [Processes.id, Latency.id, Responsiveness.id, Subscribers.id]
    if let unknown = (options.only + options.except).first(where: { !ids.contains($0) }) {
      throw Options.Problem(
        description: "there is no workload “\(unknown)”; there are \(ids.joined(separator: " "))")
    }
    if options.list {
      for workload in workloads { print(workload.id, workload.title, separator: "\t") }
      return true
    }
    if let id = options.peak, let workload = workloads.first(where: { $0.id == id }) {
      print(
        try Memory.measurePeak(of: options.contenders.joined(separator: ","), in: workload, fixture: fixture),
        terminator: "")
      return true
    }
    return try measure(workloads, fixture: fixture)
  }

  private func measure(_ workloads: [Workload], fixture: Fixture) throws -> Bool {
    let limits = try options.gate.map { try Limits(path: $0) }
    var report = Report(machine: Machine(), scale: options.scale)
    let runner = Runner(options: options)
    let memory = Memory(options: options, fixture: fixture)
    var jobs: [() throws -> Result?] = workloads.filter { options.includes(workload: $0.id) }.map { workload in
      { try runner.run(workload) }
    }
    for (id, of) in Memory.workloads where options.memory && options.includes(workload: id) {
      guard let workload = workloads.first(where: { $0.id == of }) else { continue }
      jobs.append { try memory.run(id, of: workload) }
    }
    if !options.json { print(report.machine.description, Report.heading, separator: "\n\n") }
    var breaches: [Limits.Breach] = []
    for job in jobs {
      guard var result = try job() else { continue }
      var over = try limits?.breaches(in: result) ?? []
      // A machine that is busy with something else makes anything slow: what is slow three times is slow.
      for _ in 0..<2 where over.contains(where: { $0.limit != nil }) {
        guard let again = try job() else { break }
        result = again
        over =
          try limits?.breaches(in: again).filter { breach in over.contains { $0.contender == breach.contender } } ?? []
      }
      breaches += over
      report.results.append(result)
      if !options.json { print(Report.table(result)) }
      // A run takes minutes, and a pipe would keep the lines until its end.
      fflush(nil)
    }
    guard !report.results.isEmpty else { throw Options.Problem(description: "no contender is called so") }
    if options.json { print(try report.json) }
    if let path = options.record { try Limits(adding: report.results, toFileAt: path).write(to: path) }
    guard limits != nil else { return true }
    let verdict = breaches.isEmpty ? "Nothing is over its limit." : Report.table(breaches)
    // What is printed beside JSON would spoil it.
    if options.json {
      FileHandle.standardError.write(Data("\(verdict)\n".utf8))
    } else {
      print("\n\(verdict)")
    }
    return breaches.isEmpty
  }
}
