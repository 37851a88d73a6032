import Foundation
import Sqlable

/// M1 and M2: by how much W1 and W2 make the process grow at its peak, per row. Each contender runs in a process of its
/// own, since memory that one has given back to the allocator would not count for the next.
struct Memory {
  let options: Options
  let fixture: Fixture

  struct Problem: Error, CustomStringConvertible {
    let description: String
  }

  /// Statements that read whole tables and give one row.
  static let fillingPageCache = [
    "SELECT max(a + b + c + d + e + f + g + h + i + j) FROM ints", "SELECT max(length(bio) + at) FROM mixed",
  ]

  static let workloads = [("M1", "W1"), ("M2", "W2")]

  func run(_ id: String, of workload: Workload) throws -> Result? {
    let memory = Workload(
      id, "memory at the peak of \(workload.id), whole process", operations: workload.operations, unit: .bytes,
      contenders: { [] })
    let all = try workload.contenders()
    let contenders = all.filter { options.includes(contender: $0.name) }
    guard let base = all.first, !contenders.isEmpty else { return nil }
    let samples = try contenders.map { contender in
      let bytes = try peak(of: contender.name, in: workload.id) / Double(workload.operations)
      return Result.Samples(contender: contender.name, values: [bytes])
    }
    return Result(memory, rounds: 1, samples: samples, base: base.name)
  }

  /// Starts this program again, for one contender.
  private func peak(of contender: String, in workload: String) throws -> Double {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    process.arguments = [
      "--peak", workload, "--contender", contender, "--directory", fixture.directory, "--scale", "\(fixture.scale)",
    ]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    guard process.terminationStatus == 0, let bytes = Double(String(decoding: data, as: UTF8.self)) else {
      throw Problem(description: "the process that measures the memory of \(contender) failed")
    }
    return bytes
  }

  /// What the child process does: the bytes by which the contender made it grow.
  static func measurePeak(of name: String, in workload: Workload, fixture: Fixture) throws -> Int {
    guard let contender = try workload.contenders().first(where: { $0.name == name }),
      case .once(let run) = contender.work
    else { throw Problem(description: "\(workload.id) has no contender \(name)") }
    // The page caches are full before: they are the same for all, and no growth per row.
    for sql in Memory.fillingPageCache {
      try fixture.raw.execute(sql)
      try fixture.db.query(SQL(verbatim: sql)) { _ in 0 }
    }
    try contender.setUp()
    // 5 sets the peak back to what is resident now.
    guard let file = FileHandle(forWritingAtPath: "/proc/self/clear_refs") else {
      throw Problem(description: "/proc/self/clear_refs can't be written")
    }
    try file.write(contentsOf: Data("5".utf8))
    let before = try resident("VmRSS")
    _ = try run()
    return try resident("VmHWM") - before
  }

  private static func resident(_ key: String) throws -> Int {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = status.split(separator: "\n").first { $0.hasPrefix(key + ":") }
    guard let kibibytes = line?.split(separator: " ").dropFirst().first(where: { Int($0) != nil }).flatMap({ Int($0) })
    else { throw Problem(description: "/proc/self/status has no \(key)") }
    return kibibytes * 1024
  }
}
