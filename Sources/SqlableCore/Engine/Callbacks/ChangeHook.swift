import CSqlableSQLite
import FoundationEssentials
import Glibc

/// A row that a statement is about to change, as SQLite reports it; valid only during the callback.
struct PreupdateRow {
  enum Operation {
    case insert, update, delete
  }

  let operation: Operation
  let table: UnsafePointer<CChar>
  let oldId: Int64
  let newId: Int64
  fileprivate let handle: OpaquePointer?

  var hasValues: Bool { handle != nil }

  /// The value of a column before the change; nil for an insert, or if SQLite can't provide the value.
  func oldValue(_ column: Int) -> DatabaseValue? {
    operation == .insert ? nil : value(column, Library.preupdate?.old).map(\.repaired)
  }

  /// The value of a column after the change; nil for a delete, or if SQLite can't provide the value.
  func newValue(_ column: Int) -> DatabaseValue? {
    operation == .delete ? nil : value(column, Library.preupdate?.new).map(\.repaired)
  }

  /// Like `oldValue(_:)`, but nil for invalid UTF-8, which a `String` can't contain.
  func exactOldValue(_ column: Int) -> DatabaseValue? {
    operation == .insert ? nil : value(column, Library.preupdate?.old).flatMap { try? $0.storage() }
  }

  /// Returns the same value as `newValue(_:)`, but nil for invalid UTF-8.
  func exactNewValue(_ column: Int) -> DatabaseValue? {
    operation == .delete ? nil : value(column, Library.preupdate?.new).flatMap { try? $0.storage() }
  }

  /// True if an update changes the value of a column, or if SQLite can't provide the values. `old` and `new` are the
  /// column's positions among the old and the new values.
  func changes(old: Int, new: Int) -> Bool {
    guard let preupdate = Library.preupdate else { return true }
    guard let before = value(old, preupdate.old), let after = value(new, preupdate.new) else { return true }
    // Compares bytes without copying. If SQLite reports only one of two equal REAL values as an integer, the value
    // seems changed. This is harmless.
    return !before.isSame(as: after)
  }

  private func value(_ column: Int, _ read: sqlable_preupdate_value?) -> SqliteValue? {
    var value: OpaquePointer?
    guard let handle, let read, read(handle, Int32(column), &value) == SQLITE_OK, let value else { return nil }
    return SqliteValue(value)
  }
}

protocol ChangeSink: AnyObject {
  func willChange(_ row: PreupdateRow)
}

/// The hook through which SQLite reports each changed row of the `main` database.
///
/// The pre-update hook also reports rows that REPLACE deletes, rows of WITHOUT ROWID tables, and rows that
/// `DELETE FROM t` deletes. Without the pre-update hook, the update hook is used, which does not report these rows.
final class ChangeHook {
  private let handle: OpaquePointer
  private let sink: any ChangeSink
  private let usesPreupdate: Bool
  private(set) var isInstalled = false
  var isPaused = false

  init(handle: OpaquePointer, sink: any ChangeSink, usesPreupdate: Bool) {
    self.handle = handle
    self.sink = sink
    self.usesPreupdate = usesPreupdate && Library.preupdate != nil
  }

  /// True for the pre-update hook, which reports all changed rows.
  var reportsAll: Bool { usesPreupdate }

  func install() {
    guard !isInstalled else { return }
    isInstalled = true
    // Unretained, because the hook is removed or the connection is closed before this object is deallocated.
    let context = Unmanaged.passUnretained(self).toOpaque()
    if usesPreupdate, let preupdate = Library.preupdate {
      _ = preupdate.hook(
        handle,
        { context, handle, operation, database, table, oldId, newId in
          ChangeHook.report(context, handle, operation, database, table, oldId, newId)
        }, context)
    } else {
      sqlite3_update_hook(
        handle,
        { context, operation, database, table, id in
          ChangeHook.report(context, nil, operation, database, table, id, id)
        }, context)
    }
  }

  func remove() {
    guard isInstalled else { return }
    isInstalled = false
    if usesPreupdate, let preupdate = Library.preupdate {
      _ = preupdate.hook(handle, nil, nil)
    } else {
      sqlite3_update_hook(handle, nil, nil)
    }
  }

  private static func report(
    _ context: UnsafeMutableRawPointer?, _ handle: OpaquePointer?, _ operation: Int32,
    _ database: UnsafePointer<CChar>?, _ table: UnsafePointer<CChar>?, _ oldId: Int64, _ newId: Int64
  ) {
    guard let context, let database, let table, isMain(database) else { return }
    let kind: PreupdateRow.Operation
    switch operation {
    case SQLITE_INSERT: kind = .insert
    case SQLITE_DELETE: kind = .delete
    default: kind = .update
    }
    let row = PreupdateRow(operation: kind, table: table, oldId: oldId, newId: newId, handle: handle)
    Unmanaged<ChangeHook>.fromOpaque(context)._withUnsafeGuaranteedRef { hook in
      if !hook.isPaused { hook.sink.willChange(row) }
    }
  }

  /// True for "main". Compares the letters one by one, because a call of `strcmp` takes twice the time.
  @inline(__always)
  private static func isMain(_ name: UnsafePointer<CChar>) -> Bool {
    name[0] == 0x6D && name[1] == 0x61 && name[2] == 0x69 && name[3] == 0x6E && name[4] == 0
  }
}
