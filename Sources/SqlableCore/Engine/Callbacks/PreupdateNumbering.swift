import CSqlableSQLite

/// The column numbers that the pre-update hook uses for a table with virtual generated columns.
///
/// SQLite documents "the column's number", but the meaning varies by version. SQLite 3.40 skips virtual columns, but in
/// a WITHOUT ROWID table only for the new values of an update. So the numbering is tested once per process.
enum PreupdateNumbering {
  /// The kinds of values whose column numbers skip the virtual columns: the old values, an insert's new values, and an
  /// update's new values.
  struct Passes: Sendable, Equatable {
    var old = false
    var inserted = false
    var updated = false
  }

  // These probes run only when a table with virtual columns is observed: in an SQLite 3.40 that was built with
  // SQLITE_DEBUG, they fail an assertion that wrongly counts virtual columns. SQLite 3.46 has the correct assertion.
  static let withRowid = passes(ofTable: "")
  static let withoutRowid = passes(ofTable: " WITHOUT ROWID")
  /// True if SQLite reports an added column's default for rows older than ADD COLUMN. SQLite 3.40 reports NULL.
  static let reportsDefaults = tried([
    "CREATE TABLE probe (a)", "INSERT INTO probe VALUES (1)", "ALTER TABLE probe ADD COLUMN b TEXT DEFAULT 'next'",
    "DELETE FROM probe",
  ]).old

  /// Records whether the hook's value number 1 is the text `next`. In the table of `passes(ofTable:)`, only column 2
  /// contains this text. If the text is value number 1, the hook does not count the virtual column 0.
  private final class Probe: ChangeSink {
    var passes = Passes()

    func willChange(_ row: PreupdateRow) {
      func isNext(_ value: DatabaseValue?) -> Bool { value == .text("next") }
      switch row.operation {
      case .insert: passes.inserted = isNext(row.newValue(1))
      case .update: passes.updated = isNext(row.newValue(1))
      case .delete: passes.old = isNext(row.oldValue(1))
      }
    }
  }

  private static func passes(ofTable option: String) -> Passes {
    tried([
      "CREATE TABLE probe (computed AS ('computed') VIRTUAL, key TEXT PRIMARY KEY, next TEXT)\(option)",
      "INSERT INTO probe VALUES ('key', 'next')", "UPDATE probe SET key = 'other'", "DELETE FROM probe",
    ])
  }

  private static func tried(_ work: [String]) -> Passes {
    let probe = Probe()
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
    guard let connection = try? Connection(path: ":memory:", flags: flags, label: nil, cacheCapacity: 0)
    else { return probe.passes }
    let hook = ChangeHook(handle: connection.handle, sink: probe, usesPreupdate: true)
    hook.install()
    defer { hook.remove() }
    // Ignore errors: an SQLite without generated columns fails here, and has no virtual columns to skip.
    for sql in work { _ = try? connection.pragma(sql) }
    return probe.passes
  }
}
