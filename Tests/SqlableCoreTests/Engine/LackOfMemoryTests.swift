import CSqlableSQLite
import Foundation
import Testing

@testable import SqlableCore
@testable import SqlableTestSupport

/// Results without memory: no value is invented, and an unanswered question is asked again.
///
/// The test runs in a separate process, because SQLite takes an allocator only once.
@Suite struct LackOfMemoryTests {
  @Test(.enabled(if: TestProgram.isAvailable && !isSanitized, "the tests are no program of their own here"))
  func noValueIsInventedWithoutMemory() throws {
    let report = try FaultProcess.run("memory", filter: "LackOfMemoryProcess")
    #expect(report.violations == [])
    #expect(report.isDone)
  }
}

/// The tests of the separate process.
@Suite(.enabled(if: FaultProcess.order == "memory", "a process of its own"))
struct LackOfMemoryProcess {
  @Test func outOfMemoryInventsNoValue() throws {
    guard FailingAllocator.install() else { return FaultProcess.say("VIOLATION SQLite does not take the allocator") }
    try expectQuestionsAskedAgain()
    try expectNoTextInvented()
    FaultProcess.say("DONE")
  }

  /// Calls `body` without memory.
  private func starved<Result>(_ body: () -> Result) -> Result {
    FailingAllocator.arm(1, length: .max)
    defer { FailingAllocator.disarm() }
    return body()
  }

  private func expectQuestionsAskedAgain() throws {
    // Differs from 0.3 only where SQLite writes 17 digits.
    let real = 0.1 + 0.2
    let limit = "DELETE FROM t LIMIT 1"
    func reason() -> String? { LackingFeature.reason(of: "near \"LIMIT\": syntax error", sql: limit) }
    _ = starved { real.sqliteText }
    if starved(reason) != nil { FaultProcess.say("VIOLATION a lack is known without memory to find it out") }
    try withDatabase { db in
      let text = try db.query("SELECT CAST(\(real) AS TEXT)", as: String.self)
      if [real.sqliteText] != text { FaultProcess.say("VIOLATION the text of a REAL is not SQLite's") }
      try db.execute("CREATE TABLE t (x)")
      let takesLimit = sqlError { try db.execute(SQL(verbatim: limit)) } == nil
      if takesLimit == (reason() != nil) { FaultProcess.say("VIOLATION what SQLite takes is not known") }
    }
  }

  /// SQLite converts a UTF-16 text when the text is requested.
  private func expectNoTextInvented() throws {
    try withDirectory { directory in
      var (handle, statement): (OpaquePointer?, OpaquePointer?)
      defer {
        sqlite3_finalize(statement)
        sqlite3_close(handle)
      }
      let sql = "PRAGMA encoding = 'UTF-16le'; CREATE TABLE t (x); INSERT INTO t VALUES ('a text')"
      let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
      guard sqlite3_open_v2(directory + "/a.sqlite", &handle, flags, nil) == SQLITE_OK,
        sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK,
        sqlite3_prepare_v2(handle, "SELECT x FROM t", -1, &statement, nil) == SQLITE_OK,
        sqlite3_step(statement) == SQLITE_ROW, let value = sqlite3_column_value(statement, 0)
      else { return FaultProcess.say("VIOLATION there is no text of UTF-16") }
      if let made = starved({ try? SqliteValue(value).storage() }) {
        FaultProcess.say("VIOLATION a copy of a text without memory: \(made)")
      }
    }
  }
}
