import CSQLite
import Glibc

/// What the SQLite that this process runs with can do, asked of it and not assumed.
enum Library {
  static let version = String(cString: sqlite3_libversion())

  /// The functions of the pre-update hook, or nil when this SQLite was built without it.
  static let preupdate: Preupdate? = {
    guard let hook = symbol("sqlite3_preupdate_hook"), let old = symbol("sqlite3_preupdate_old"),
      let new = symbol("sqlite3_preupdate_new")
    else { return nil }
    return Preupdate(
      hook: unsafeBitCast(hook, to: sqlable_preupdate_hook.self),
      old: unsafeBitCast(old, to: sqlable_preupdate_value.self),
      new: unsafeBitCast(new, to: sqlable_preupdate_value.self))
  }()

  struct Preupdate: Sendable {
    let hook: sqlable_preupdate_hook
    let old: sqlable_preupdate_value
    let new: sqlable_preupdate_value
  }

  /// Tells which table a column of a result comes from, or nil when this SQLite was built without it.
  static let columnTableName: sqlable_column_text? = symbol("sqlite3_column_table_name").map {
    unsafeBitCast($0, to: sqlable_column_text.self)
  }

  private static func symbol(_ name: String) -> UnsafeMutableRawPointer? {
    dlsym(nil, name)  // nil is RTLD_DEFAULT: wherever this process has SQLite from
  }
}
