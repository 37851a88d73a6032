import Foundation
import Glibc
import SqlableCore
import Testing

@testable import SqlableTestSupport

/// Writers of other programs: a script in Python, and the `sqlite3` shell.
enum ProofScript {
  static let isAvailable = FileManager.default.isExecutableFile(atPath: "/usr/bin/python3") && !isEncrypted

  static func start(_ directory: String, seed: UInt64) throws -> ChildProcess {
    let program = """
      import os, random, sqlite3, sys, time
      directory, seed = sys.argv[1], int(sys.argv[2])
      random.seed(seed)
      db = sqlite3.connect(directory + "/log.sqlite", isolation_level=None, timeout=600)
      db.execute("PRAGMA foreign_keys = ON")
      pause, paused = directory + "/pause", directory + "/paused-python"
      parent = os.getppid()
      while os.getppid() == parent:
          if os.path.exists(pause):
              open(paused, "w").close()
              while os.path.exists(pause): time.sleep(0.002)
              os.unlink(paused)
          try:
              db.execute("BEGIN IMMEDIATE")
              for _ in range(random.randint(1, 4)):
                  number, kind = random.randint(1, 60), random.randint(0, 4)
                  name = "p" * random.randint(0, 9)
                  if kind < 2: db.execute("INSERT OR REPLACE INTO member VALUES (?, ?)", (number, name))
                  elif kind == 2: db.execute("UPDATE member SET name = name || 'y' WHERE id % 7 = ?", (number % 7,))
                  elif kind == 3: db.execute("DELETE FROM member WHERE id = ?", (number,))
                  else: db.execute("UPDATE proof_bike SET price = price - 1 WHERE id % 13 = ?", (number % 13,))
              db.execute("ROLLBACK" if random.random() < 0.1 else "COMMIT")
          except sqlite3.OperationalError:
              if db.in_transaction: db.execute("ROLLBACK")
          time.sleep(random.random() / 300)
      """
    return try ChildProcess("/usr/bin/python3", ["-c", program, directory, "\(seed)"], errors: .dropped)
  }
}

/// The `sqlite3` shell, which a thread feeds with random transactions.
final class ShellLoop: Sendable {
  private enum State { case running, pausing, paused, ended }
  private let state = LockedValue(State.running)

  init(_ directory: String, seed: UInt64) throws {
    let path = directory + "/log.sqlite"
    let thread = Thread { [self] in
      do { try feed(path, seed) } catch {
        try? "shell: \(error)".write(toFile: directory + "/problem-shell", atomically: true, encoding: .utf8)
      }
    }
    thread.start()
  }

  private func feed(_ path: String, _ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let shell = try SQLiteProcess(path)
    try shell.run(".bail off\n.timeout 600000\nPRAGMA foreign_keys = ON;")
    while true {
      switch state.withLock({ $0 }) {
      case .running: break
      case .pausing, .paused:
        state.withLock { if $0 == .pausing { $0 = .paused } }
        usleep(2_000)
        continue
      case .ended: return shell.quit()
      }
      let (id, name) = (Int.random(in: 1...60, using: &random), String(repeating: "s", count: Int.random(in: 0...9)))
      let steps = [
        "INSERT OR REPLACE INTO member VALUES (\(id), '\(name)');", "DELETE FROM member WHERE id = \(id);",
        "UPDATE member SET name = '\(name)' WHERE id < \(id / 4);",
        "INSERT OR IGNORE INTO proof_bike (id, member, price) SELECT id + 400, id, \(id) FROM member WHERE id > \(id);",
      ]
      let statements = (0..<Int.random(in: 1...3, using: &random)).map { _ in random.pick(steps) }
      try shell.run("BEGIN IMMEDIATE; \(statements.joined(separator: " ")) COMMIT;")
      usleep(UInt32.random(in: 0..<4_000, using: &random))
    }
  }

  func pause() {
    state.withLock { $0 = .pausing }
    waitUntil(within: .seconds(900)) { state.withLock { $0 == .paused } }
  }

  func resume() { state.withLock { $0 = .running } }

  func end() { state.withLock { $0 = .ended } }
}
