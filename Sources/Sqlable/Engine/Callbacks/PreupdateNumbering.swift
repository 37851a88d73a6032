import CSqlableSQLite

/// By which numbers the pre-update hook knows the columns of a table that has generated columns which are not stored.
///
/// SQLite says "the column's number", and has meant different ones: 3.40 passes over the columns that are not stored,
/// but in a table without rowid only for the new values of an update. So it is tried out, once a process.
enum PreupdateNumbering {
  /// Whether columns that are not stored are passed over: among the values before, of a new row, and after an update.
  struct Passes: Sendable, Equatable {
    var old = false
    var inserted = false
    var updated = false
  }

  // Tried out when such a table is observed, not before: an assertion of 3.40 built with SQLITE_DEBUG, which counts the
  // columns that are not stored too, ends the process there. 3.46 counts right.
  static let withRowid = passes(ofTable: "")
  static let withoutRowid = passes(ofTable: " WITHOUT ROWID")
  /// Whether a column that was added to a table has its default in the rows from before; 3.40 tells NULL.
  static let tellsDefaults = tried([
    "CREATE TABLE probe (a)", "INSERT INTO probe VALUES (1)", "ALTER TABLE probe ADD COLUMN b TEXT DEFAULT 'next'",
    "DELETE FROM probe",
  ]).old

  /// Notes whether the value numbered 1 is the column declared so, or the one after it.
  private final class Probe: ChangeSink {
    var passes = Passes()

    func willChange(_ row: HookedRow) {
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
    // An SQLite that knows no generated columns fails, and has nothing to pass over.
    for sql in work { _ = try? connection.pragma(sql) }
    return probe.passes
  }
}
