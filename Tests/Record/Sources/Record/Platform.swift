import Foundation
import Glibc
import Sqlable

/// The versions and the machine of a record.
struct Platform: Codable, Equatable {
  /// The commit of the library, with a plus if the working tree differs from it; "unknown" outside a repository.
  let commit: String
  let sqlite: String
  let kernel: String
  let processors: Int
  let isOptimized: Bool

  static func current() throws -> Platform {
    let db = try SqliteDatabase.inMemory()
    let sqlite = try db.query("SELECT sqlite_version()", as: String.self).first ?? "unknown"
    var name = utsname()
    uname(&name)
    let release = withUnsafeBytes(of: &name.release) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    var isOptimized = true
    assert(
      {
        isOptimized = false
        return true
      }())
    return Platform(
      commit: commit(), sqlite: sqlite, kernel: release, processors: sysconf(Int32(_SC_NPROCESSORS_ONLN)),
      isOptimized: isOptimized)
  }

  private static func commit() -> String {
    guard
      let process = try? ChildProcess("git", ["describe", "--always", "--abbrev=10", "--dirty=+"], errors: .dropped)
    else { return "unknown" }
    let text = String(decoding: process.output.readDataToEndOfFile(), as: UTF8.self)
    return process.end() ? text.trimmingCharacters(in: .whitespacesAndNewlines) : "unknown"
  }

  var description: String {
    "commit \(commit), SQLite \(sqlite), Linux \(kernel), \(processors) processors, "
      + (isOptimized ? "release build" : "debug build")
  }
}
