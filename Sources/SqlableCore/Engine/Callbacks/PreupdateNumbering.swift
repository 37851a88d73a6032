import CSqlableSQLite

/// The column numbers that the pre-update hook uses for a table with virtual generated columns.
///
/// SQLite documents "the column's number", but the meaning varies by version. 3.40 skips virtual columns, but in a
/// WITHOUT ROWID table only for the new values of an update. So the numbering is probed, once per process.
enum PreupdateNumbering {
  /// True if virtual columns are skipped: in old values, in the new values of an insert, and in those of an update.
  struct Passes: Sendable, Equatable {
    var old = false
    var inserted = false
    var updated = false
  }

  // Probed only when such a table is observed: in a 3.40 built with SQLITE_DEBUG an assertion, which counts virtual
  // columns too, ends the process. 3.46 counts right.
  static let withRowid = passes(ofTable: "")
  static let withoutRowid = passes(ofTable: " WITHOUT ROWID")
  /// True if rows from before an ADD COLUMN report the column's default; 3.40 reports NULL.
  static let reportsDefaults = tried([
    "CREATE TABLE probe (a)", "INSERT INTO probe VALUES (1)", "ALTER TABLE probe ADD COLUMN b TEXT DEFAULT 'next'",
    "DELETE FROM probe",
  ]).old

  /// Records whether value number 1 is the column declared as number 1, or the one after it.
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
    // An SQLite without generated columns fails here, and has nothing to skip.
    for sql in work { _ = try? connection.pragma(sql) }
    return probe.passes
  }
}
