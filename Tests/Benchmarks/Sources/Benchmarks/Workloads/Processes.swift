import Foundation
import Sqlable

/// W12: processes that all write to one file, all the time; how long the unluckiest of their transactions took. It is
/// no ratio to C: what is compared is SQLite's way of waiting with the turns that pools take.
struct Processes {
  static let id = "W12"
  static let title = "8 processes that write to one file, small transactions, each with a busy timeout of 5 s"
  static let count = 8

  /// What each of the processes writes with.
  struct Writer: CustomStringConvertible {
    let isPool: Bool
    let isFull: Bool

    var description: String { "Sqlable \(isPool ? "pools" : "handles")" }
    var synchronous: Configuration.Synchronous { isFull ? .full : .normal }
    /// As an argument of the command line.
    var argument: String { "\(isPool ? "pool" : "handle"),\(isFull ? "full" : "normal")" }

    init(isPool: Bool, isFull: Bool) {
      self.isPool = isPool
      self.isFull = isFull
    }

    init?(argument: String) {
      let parts = argument.split(separator: ",")
      guard parts.count == 2, ["pool", "handle"].contains(parts[0]), ["full", "normal"].contains(parts[1]) else {
        return nil
      }
      self.init(isPool: parts[0] == "pool", isFull: parts[1] == "full")
    }
  }

  struct Problem: Error, CustomStringConvertible {
    let description: String
  }

  let directory: String
  let options: Options

  var seconds: Double { max(0.5, 4 * options.scale) }

  /// Prints what the processes did, contender after contender.
  func run() throws {
    print("\(Processes.id)  \(Processes.title), \(seconds) s a round")
    print("     contender         synchronous   round  transactions/s   per process   median      p99  longest  failed")
    let rounds = min(options.rounds, 3)
    for isFull in [false, true] {
      for writer in [Writer(isPool: false, isFull: isFull), Writer(isPool: true, isFull: isFull)]
      where options.includes(contender: writer.description) {
        for round in 1...rounds {
          print(line(of: writer, round, try processes(writer)))
          fflush(nil)
        }
      }
    }
  }

  private func line(of writer: Writer, _ round: Int, _ results: [Result]) -> String {
    let durations = results.flatMap(\.microseconds).sorted()
    func milliseconds(_ share: Double) -> String {
      guard !durations.isEmpty else { return "–" }
      return String(format: "%.2f ms", Double(durations[Int(Double(durations.count - 1) * share)]) / 1_000)
    }
    func padded(_ text: String, _ width: Int) -> String {
      String(repeating: " ", count: max(1, width - text.count)) + text
    }
    let counts = results.map(\.microseconds.count)
    let name = writer.description.padding(toLength: 18, withPad: " ", startingAt: 0)
    return "     \(name)" + padded(writer.isFull ? "FULL" : "NORMAL", 11) + padded("\(round)", 8)
      + padded("\(Int(Double(durations.count) / seconds))", 16)
      + padded("\(counts.min() ?? 0)–\(counts.max() ?? 0)", 14) + padded(milliseconds(0.5), 9)
      + padded(milliseconds(0.99), 9) + padded(milliseconds(1), 12) + padded("\(results.map(\.failed).reduce(0, +))", 4)
  }

  /// What one process did: how long each transaction took that was committed, and how many were not.
  private struct Result {
    var microseconds: [Int]
    var failed: Int
  }

  private func processes(_ writer: Writer) throws -> [Result] {
    let path = directory + "/processes.sqlite"
    let db = try SqliteDatabase(filepath: path)
    try db.execute("CREATE TABLE note (id INTEGER PRIMARY KEY, writer INTEGER NOT NULL, body TEXT NOT NULL)")
    var children: [(process: Process, input: Pipe, output: Pipe)] = []
    for number in 0..<Processes.count {
      let (process, input, output) = (Process(), Pipe(), Pipe())
      process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
      process.arguments = [
        "--writer", "\(writer.argument),\(number)", "--directory", directory, "--scale", "\(options.scale)",
      ]
      (process.standardInput, process.standardOutput) = (input, output)
      try process.run()
      children.append((process, input, output))
    }
    // All begin when the last has opened the file.
    for child in children { _ = try child.output.fileHandleForReading.read(upToCount: 1) }
    for child in children { try child.input.fileHandleForWriting.write(contentsOf: Data("\n".utf8)) }
    let results = try children.map { child in
      let text = String(decoding: child.output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      child.process.waitUntilExit()
      let numbers = text.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
      guard child.process.terminationStatus == 0, let failed = numbers.first else {
        throw Problem(description: "a process that writes has failed")
      }
      return Result(microseconds: Array(numbers.dropFirst()), failed: failed)
    }
    let stored = try db.query("SELECT count(*) FROM note", as: Int.self)
    guard stored == [results.map(\.microseconds.count).reduce(0, +)] else {
      throw Problem(description: "the file does not hold what the processes have committed")
    }
    try db.close()
    try SqliteDatabase.deleteDatabase(at: path)
    return results
  }

  // MARK: The child process

  /// What a child process does: opens the file, waits for a line, writes for a while, prints the result.
  func write(_ argument: String) throws {
    let parts = argument.split(separator: ",").map(String.init)
    guard parts.count == 3, let number = Int(parts[2]),
      let writer = Writer(argument: parts[0] + "," + parts[1])
    else { throw Problem(description: "there is no writer “\(argument)”") }
    let path = directory + "/processes.sqlite"
    let handles = Configuration(busyTimeout: 5, synchronous: writer.synchronous)
    let body = String(repeating: "x", count: 100)
    func insert(_ db: SqliteDatabase) throws {
      try db.execute("INSERT INTO note (writer, body) VALUES (\(number), \(body))")
    }
    if writer.isPool {
      let pool = try SqlitePool(filepath: path, configuration: .init(handles: handles))
      try repeatedly { try pool.transaction { db in try insert(db) } }
      try pool.close()
    } else {
      let db = try SqliteDatabase(filepath: path, configuration: handles)
      try repeatedly { try db.transaction { db in try insert(db) } }
      try db.close()
    }
  }

  private func repeatedly(_ transaction: () throws -> Void) throws {
    print("!", terminator: " ")
    fflush(nil)
    _ = readLine()
    let clock = ContinuousClock()
    let end = clock.now + .seconds(seconds)
    var (durations, failed) = ([Int](), 0)
    var begin = clock.now
    while begin < end {
      let isDone = (try? transaction()) != nil
      let now = clock.now
      let (seconds, attoseconds) = begin.duration(to: now).components
      if isDone {
        durations.append(Int(seconds) * 1_000_000 + Int(attoseconds / 1_000_000_000_000))
      } else {
        failed += 1
      }
      begin = now
    }
    print(failed, durations.map(String.init).joined(separator: " "))
  }
}
