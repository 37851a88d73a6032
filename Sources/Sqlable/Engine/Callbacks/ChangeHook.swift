import CSQLite
import FoundationEssentials
import Glibc

/// One row that a statement is about to change, as SQLite tells it: valid only while the callback runs.
struct HookedRow {
  enum Operation {
    case insert, update, delete
  }

  let operation: Operation
  let table: UnsafePointer<CChar>
  let oldId: Int64
  let newId: Int64
  fileprivate let handle: OpaquePointer?

  /// Whether SQLite tells the row's values.
  var hasValues: Bool { handle != nil }

  /// The value that a column had before; nil for an insert, or where SQLite can't tell.
  func oldValue(_ column: Int) -> SqlStorage? {
    operation == .insert ? nil : value(column, Library.preupdate?.old).map { SqlStorage($0) }
  }

  /// The value that a column will have; nil for a delete, or where SQLite can't tell.
  func newValue(_ column: Int) -> SqlStorage? {
    operation == .delete ? nil : value(column, Library.preupdate?.new).map { SqlStorage($0) }
  }

  /// The value that a column had before; nil also for a text that is no UTF-8, of which there is no exact copy.
  func exactOldValue(_ column: Int) -> SqlStorage? {
    operation == .insert ? nil : value(column, Library.preupdate?.old).flatMap { SqlStorage(exactly: $0) }
  }

  /// The value that a column will have; nil also for a text that is no UTF-8.
  func exactNewValue(_ column: Int) -> SqlStorage? {
    operation == .delete ? nil : value(column, Library.preupdate?.new).flatMap { SqlStorage(exactly: $0) }
  }

  /// Whether an update changes the value that is at these places before and after it; true where SQLite can't tell.
  func changes(old: Int, new: Int) -> Bool {
    guard let handle, let preupdate = Library.preupdate else { return true }
    var before: OpaquePointer?
    var after: OpaquePointer?
    guard preupdate.old(handle, Int32(old), &before) == SQLITE_OK, let before,
      preupdate.new(handle, Int32(new), &after) == SQLITE_OK, let after
    else { return true }
    // By their bytes, without copies. A real that is told as an integer is a change too many, which does no harm.
    let type = sqlite3_value_type(before)
    guard type == sqlite3_value_type(after) else { return true }
    switch type {
    case SQLITE_NULL: return false
    case SQLITE_INTEGER: return sqlite3_value_int64(before) != sqlite3_value_int64(after)
    case SQLITE_FLOAT: return sqlite3_value_double(before) != sqlite3_value_double(after)
    default:
      let (own, other) = (sqlite3_value_blob(before), sqlite3_value_blob(after))
      let count = sqlite3_value_bytes(before)
      guard count == sqlite3_value_bytes(after) else { return true }
      guard let own, let other else { return count != 0 }
      return memcmp(own, other, Int(count)) != 0
    }
  }

  private func value(_ column: Int, _ read: sqlable_preupdate_value?) -> OpaquePointer? {
    var value: OpaquePointer?
    guard let handle, let read, read(handle, Int32(column), &value) == SQLITE_OK else { return nil }
    return value
  }
}

/// Who wants to know which rows change.
protocol ChangeSink: AnyObject {
  func willChange(_ row: HookedRow)
}

/// The hook through which SQLite reports each changed row of database "main".
///
/// The pre-update hook sees rows that REPLACE deletes, WITHOUT ROWID tables and `DELETE FROM t`; where this SQLite
/// lacks it the update hook stands in, which sees none of the three.
final class ChangeHook {
  private let handle: OpaquePointer
  private unowned let sink: any ChangeSink
  private let usesPreupdate: Bool
  private(set) var isInstalled = false

  init(handle: OpaquePointer, sink: any ChangeSink, usesPreupdate: Bool) {
    self.handle = handle
    self.sink = sink
    self.usesPreupdate = usesPreupdate && Library.preupdate != nil
  }

  /// Whether it tells of all rows that change; the update hook does not.
  var tellsAll: Bool { usesPreupdate }

  func install() {
    guard !isInstalled else { return }
    isInstalled = true
    // Unretained: the connection removes the hook, or closes, before this object goes.
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
    guard let context, let database, let table, strcmp(database, "main") == 0 else { return }
    let kind: HookedRow.Operation
    switch operation {
    case SQLITE_INSERT: kind = .insert
    case SQLITE_DELETE: kind = .delete
    default: kind = .update
    }
    let row = HookedRow(operation: kind, table: table, oldId: oldId, newId: newId, handle: handle)
    Unmanaged<ChangeHook>.fromOpaque(context).takeUnretainedValue().sink.willChange(row)
  }
}

extension SqlStorage {
  /// A copy of a value that SQLite owns; nil for a text that is no UTF-8, which a `String` can't hold, and for one of
  /// UTF-16 that there was no memory to convert.
  init?(exactly value: OpaquePointer) {
    guard sqlite3_value_type(value) == SQLITE3_TEXT else {
      self.init(value)
      return
    }
    guard let start = sqlite3_value_text(value) else { return nil }
    let bytes = UnsafeBufferPointer(start: start, count: Int(sqlite3_value_bytes(value)))
    guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
    self = .text(text)
  }

  /// A copy of a value that SQLite owns. Invalid UTF-8 is repaired.
  init(_ value: OpaquePointer) {
    switch sqlite3_value_type(value) {
    case SQLITE_INTEGER: self = .integer(sqlite3_value_int64(value))
    case SQLITE_FLOAT: self = .real(sqlite3_value_double(value))
    case SQLITE3_TEXT:
      let start = sqlite3_value_text(value)
      let bytes = UnsafeBufferPointer(start: start, count: start == nil ? 0 : Int(sqlite3_value_bytes(value)))
      self = .text(String(decoding: bytes, as: UTF8.self))
    case SQLITE_BLOB:
      let start = sqlite3_value_blob(value)
      self = .blob(start.map { Data(bytes: $0, count: Int(sqlite3_value_bytes(value))) } ?? Data())
    default: self = .null
    }
  }
}
