import Foundation
import Glibc
import Testing

extension Trait where Self == ConditionTrait {
  /// Skips the test if the `sqlite3` program is not installed, or has no key for the files.
  static var needsSQLiteProgram: Self {
    .enabled(if: SQLiteProcess.isAvailable, "the sqlite3 program is not installed, or has no key")
  }
}

/// A second process on a database: the `sqlite3` command line, fed line by line.
final class SQLiteProcess {
  /// The path of the program; nil if it is not installed.
  static let program: String? = ["/usr/bin/sqlite3", "/usr/local/bin/sqlite3", "/bin/sqlite3"]
    .first { FileManager.default.isExecutableFile(atPath: $0) }

  /// True if the program is installed and can read the files: it has no key.
  static var isAvailable: Bool { program != nil && !isEncrypted }

  private let process: ChildProcess

  /// Starts the process on a file. Needs `isAvailable`.
  init(_ path: String) throws {
    process = try ChildProcess(
      SQLiteProcess.program ?? "/usr/bin/sqlite3",
      // Waits for locks: the program ends at an error.
      ["-batch", "-bail", "-cmd", ".timeout 600000", path],
      // The program uses its own library, not the one of the tests.
      environment: ProcessInfo.processInfo.environment.filter { $0.key != "LD_LIBRARY_PATH" }, errors: .withOutput)
  }

  /// The program has ended at an error, which is its last output.
  struct Ended: Error {
    let output: String
  }

  /// Runs SQL, waits for its end, and returns the output. Throws `Ended` after an error.
  @discardableResult
  func run(_ sql: String) throws -> String {
    let end = "<done>"
    try process.input.write(contentsOf: Data("\(sql)\n.print \(end)\n".utf8))
    var text = ""
    while !text.hasSuffix(end + "\n") {
      let data = process.output.availableData
      if data.isEmpty { throw Ended(output: text) }
      text += String(decoding: data, as: UTF8.self)
    }
    return text.replacingOccurrences(of: end + "\n", with: "").trimmingCharacters(in: .newlines)
  }

  /// Ends the process by closing its input.
  func quit() { process.end() }

  /// Kills the process with SIGKILL, so that it can't clean up.
  func kill() {
    process.signal(SIGKILL)
    process.waitUntilExit()
  }
}
