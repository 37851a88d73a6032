import Foundation
import Glibc

/// A real second process on a database: the `sqlite3` command line, fed line by line.
final class SQLiteProcess {
  /// The path of the program, or nil where it is not installed.
  static let program: String? = ["/usr/bin/sqlite3", "/usr/local/bin/sqlite3", "/bin/sqlite3"]
    .first { FileManager.default.isExecutableFile(atPath: $0) }

  /// Whether it is there and can read the files: it has no key.
  static var isAvailable: Bool { program != nil && !isEncrypted }

  private let process: ChildProcess

  /// Starts the process on a file. Needs `isAvailable`.
  init(_ path: String) throws {
    process = try ChildProcess(
      SQLiteProcess.program ?? "/usr/bin/sqlite3", ["-batch", "-bail", path],
      // With its own library, whichever the tests run with.
      environment: ProcessInfo.processInfo.environment.filter { $0.key != "LD_LIBRARY_PATH" }, errors: .withOutput)
  }

  /// Runs SQL and gives what it printed, once all of it has been done.
  @discardableResult
  func run(_ sql: String) throws -> String {
    let end = "<done>"
    try process.input.write(contentsOf: Data("\(sql)\n.print \(end)\n".utf8))
    var text = ""
    while !text.hasSuffix(end + "\n") {
      let data = process.output.availableData
      if data.isEmpty { break }
      text += String(decoding: data, as: UTF8.self)
    }
    return text.replacingOccurrences(of: end + "\n", with: "").trimmingCharacters(in: .newlines)
  }

  /// Ends the process in an orderly way.
  func quit() { process.end() }

  /// `kill -9`: the process gets no chance to clean up.
  func kill() {
    process.signal(SIGKILL)
    process.waitUntilExit()
  }
}
