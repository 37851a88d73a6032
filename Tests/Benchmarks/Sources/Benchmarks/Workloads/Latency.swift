import Dispatch
import Foundation
import Sqlable
import Synchronization

/// W13: how long until a live result of one process has what another process has committed. It is no ratio to C.
struct Latency {
  static let id = "W13"
  static let title = "a commit of another process, until a live result has it"
  private static let fileName = "/latency.sqlite"

  struct Note: Sqlable {
    let id: Int
    /// When its transaction was about to commit, by the clock that all processes share.
    let time: Int

    static let id = column("id", Int.self, PrimaryKey())
    static let time = column("time", Int.self)
    static let tableLayout = [id.column, time.column]

    init(id: Int, time: Int) { (self.id, self.time) = (id, time) }

    init(row: ReadRow) throws {
      id = try row.get(Note.id)
      time = try row.get(Note.time)
    }

    func write(to row: inout RowWriter) throws {
      row.set(Note.id, id)
      row.set(Note.time, time)
    }
  }

  private final class Seen: Sendable {
    /// In nanoseconds.
    let durations = Mutex([Int]())
    let isOver = Atomic(false)
  }

  let directory: String
  let options: Options

  private var commits: Int { max(50, Int(1_000 * options.scale)) }

  private static var now: Int { Int(DispatchTime.now().uptimeNanoseconds) }

  /// Prints how long commits took to arrive, beside a pool that is idle and one that writes itself.
  func run() throws {
    print("\(Latency.id)  \(Latency.title): \(commits) commits, one every two milliseconds or so")
    print("     the pool that looks   round  arrived   median      p99  longest")
    for isWriting in [false, true] {
      for round in 1...min(options.rounds, 3) { try measure(isWriting: isWriting, round) }
    }
  }

  private func measure(isWriting: Bool, _ round: Int) throws {
    let path = directory + Latency.fileName
    let pool = try SqlitePool(filepath: path)
    try pool.transaction { db in
      try db.createTable(Note.self)
      try db.execute("CREATE TABLE own (id INTEGER PRIMARY KEY, text TEXT)")
    }
    let (process, input, output) = (Process(), Pipe(), Pipe())
    process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    process.arguments = ["--writer", "latency", "--directory", directory, "--scale", "\(options.scale)"]
    (process.standardInput, process.standardOutput) = (input, output)
    try process.run()
    _ = try output.fileHandleForReading.read(upToCount: 1)
    let (done, seen) = (DispatchSemaphore(value: 0), Seen())
    let count = commits
    let last = Note.read().orderBy(Note.id, .desc).first()
    let loop = Task {
      var latest = 0
      for try await note in last.updates(in: pool) {
        guard let note, note.id > latest else { continue }
        latest = note.id
        let duration = Latency.now - note.time
        seen.durations.withLock { $0.append(duration) }
        if latest == count { break }
      }
      done.signal()
    }
    let writer = Task {
      while isWriting, !seen.isOver.load(ordering: .acquiring) {
        try await pool.transaction { db in try db.execute("INSERT INTO own (text) VALUES ('x')") }
      }
    }
    try input.fileHandleForWriting.write(contentsOf: Data("\n".utf8))
    done.wait()
    seen.isOver.store(true, ordering: .releasing)
    loop.cancel()
    process.waitUntilExit()
    writer.cancel()
    let sorted = seen.durations.withLock { $0.sorted() }
    func milliseconds(_ share: Double) -> String {
      String(format: "%6.2f ms", Double(sorted[Int(Double(sorted.count - 1) * share)]) / 1e6)
    }
    let name = (isWriting ? "writes all the time" : "is idle").padding(toLength: 21, withPad: " ", startingAt: 0)
    print(
      "     \(name) \(round)      \(sorted.count)  \(milliseconds(0.5)) \(milliseconds(0.99)) \(milliseconds(1))")
    fflush(nil)
    try pool.close()
    try SqliteDatabase.deleteDatabase(at: path)
  }

  // MARK: The child process

  /// Opens the file, waits for a line, and commits.
  func write() throws {
    let db = try SqliteDatabase(filepath: directory + Latency.fileName)
    print("!", terminator: "")
    fflush(nil)
    _ = readLine()
    for id in 1...commits {
      try db.transaction { db in try Note(id: id, time: Latency.now).insert().run(db) }
      usleep(UInt32.random(in: 1_000...3_000))
    }
    try db.close()
  }
}
