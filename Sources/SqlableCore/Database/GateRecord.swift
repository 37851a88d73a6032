import Glibc

/// A record in the pools' lock file (`-gate`). A pool with a long write identifies itself there for other processes.
package struct GateRecord {
  static let maximumLength = 2_048

  let process: Int
  let label: String?
  let callSite: String
  /// The start of the write, in nanoseconds of CLOCK_BOOTTIME. This clock also advances while the machine sleeps.
  let since: Int64
  let sql: String?

  package static func path(besideFileAt path: String) -> String { path + "-gate" }

  package init(label: String?, callSite: String, age: Duration, sql: String?) {
    process = Int(getpid())
    since = GateRecord.now - Int64(age / .nanoseconds(1))
    (self.label, self.callSite, self.sql) = (label, callSite, sql)
  }

  init?(besideFileAt path: String) {
    guard let text = KernelLocks.text(ofFileAt: GateRecord.path(besideFileAt: path), upTo: GateRecord.maximumLength)
    else { return nil }
    // Any user who may write the database can write anything into this file. The text appears in errors and logs, so
    // `line(_:)` removes control characters.
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { GateRecord.line(String($0)) }
    guard lines.count >= 6, lines[0] == GateRecord.title, let process = Int(lines[1]), let since = Int64(lines[2])
    else { return nil }
    (self.process, self.since, callSite) = (process, since, lines[4])
    label = lines[3].isEmpty ? nil : lines[3]
    sql = lines[5].isEmpty ? nil : lines[5]
  }

  private static let title = "sqlable 1"

  private static var now: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_BOOTTIME, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }

  package var bytes: [UInt8] {
    let texts = [GateRecord.title, "\(process)", "\(since)", label ?? "", callSite, sql ?? ""]
    return Array(texts.map { GateRecord.line($0) + "\n" }.joined().utf8)
  }

  private static func line(_ text: String) -> String {
    String(decoding: text.utf8.map { $0 < 32 || $0 == 127 ? 32 : $0 }.prefix(maximumLength / 4), as: UTF8.self)
  }

  /// Returns the lock's holder. Nil if `process` did not write the record, for example if the writer was an earlier
  /// process with the same id.
  func holder(in process: Int) -> WriteLockHolder? {
    guard self.process == process, ProcessStart.time(of: process).map({ $0 <= since }) ?? true else { return nil }
    // The time in the file can have any value: if the start time of the process is unknown, the check above passes.
    let age = max(0, GateRecord.now - max(0, since))
    return WriteLockHolder(
      process: process, label: label, handle: nil, callSite: callSite, age: .nanoseconds(age), sql: sql)
  }
}
