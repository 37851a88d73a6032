import CSqlableSQLite
import FoundationEssentials

/// A destination for a value: a statement's parameter, or the result of a function or virtual-table column.
protocol ValueTarget {
  func null() -> Int32
  func integer(_ integer: Int64) -> Int32
  func real(_ real: Double) -> Int32
  func text(_ bytes: UnsafePointer<CChar>, count: Int, _ lifetime: sqlite3_destructor_type?) -> Int32
  func blob(_ bytes: UnsafePointer<UInt8>, count: Int, _ lifetime: sqlite3_destructor_type?) -> Int32
  func list(_ list: Unmanaged<ValueList>) -> Int32
}

/// A parameter of a statement, counted from 1.
struct ParameterTarget: ValueTarget {
  let statement: OpaquePointer
  let index: Int32

  func null() -> Int32 { sqlite3_bind_null(statement, index) }
  func integer(_ integer: Int64) -> Int32 { sqlite3_bind_int64(statement, index, integer) }
  func real(_ real: Double) -> Int32 { sqlite3_bind_double(statement, index, real) }
  func text(_ bytes: UnsafePointer<CChar>, count: Int, _ lifetime: sqlite3_destructor_type?) -> Int32 {
    sqlite3_bind_text64(statement, index, bytes, UInt64(count), lifetime, UInt8(SQLITE_UTF8))
  }
  func blob(_ bytes: UnsafePointer<UInt8>, count: Int, _ lifetime: sqlite3_destructor_type?) -> Int32 {
    sqlite3_bind_blob64(statement, index, bytes, UInt64(count), lifetime)
  }
  func list(_ list: Unmanaged<ValueList>) -> Int32 { ValueListModule.bind(list, to: statement, at: index) }
}

struct ResultTarget: ValueTarget {
  let context: OpaquePointer?

  func null() -> Int32 { done(sqlite3_result_null(context)) }
  func integer(_ integer: Int64) -> Int32 { done(sqlite3_result_int64(context, integer)) }
  func real(_ real: Double) -> Int32 { done(sqlite3_result_double(context, real)) }
  func text(_ bytes: UnsafePointer<CChar>, count: Int, _ lifetime: sqlite3_destructor_type?) -> Int32 {
    done(sqlite3_result_text64(context, bytes, UInt64(count), lifetime, UInt8(SQLITE_UTF8)))
  }
  func blob(_ bytes: UnsafePointer<UInt8>, count: Int, _ lifetime: sqlite3_destructor_type?) -> Int32 {
    done(sqlite3_result_blob64(context, bytes, UInt64(count), lifetime))
  }
  func list(_ list: Unmanaged<ValueList>) -> Int32 { null() }

  private func done(_: Void) -> Int32 { SQLITE_OK }
}

extension BoundValue {
  /// Passes the value to SQLite and returns SQLite's result code. Unless `copied`, the bytes of a text or blob must
  /// remain valid while SQLite uses them.
  @inline(__always)
  func give(to target: some ValueTarget, copied: Bool = false) -> Int32 {
    // The destructor -1 is SQLITE_TRANSIENT, which Swift can't import; nil is SQLITE_STATIC.
    let lifetime = copied ? unsafeBitCast(-1, to: sqlite3_destructor_type.self) : nil
    return switch self {
    case .unset, .null: target.null()
    case .integer(let integer): target.integer(integer)
    case .real(let real): target.real(real)
    case .text(let start, let count):
      start.withMemoryRebound(to: CChar.self, capacity: count) { target.text($0, count: count, lifetime) }
    case .blob(let start, let count): target.blob(start, count: count, lifetime)
    case .list(let list): target.list(list)
    }
  }
}

extension DatabaseValue {
  /// Passes a copy of the value to SQLite.
  func give(to target: some ValueTarget) -> Int32 {
    switch self {
    case .null: return BoundValue.null.give(to: target)
    case .integer(let integer): return BoundValue.integer(integer).give(to: target)
    case .real(let real): return BoundValue.real(real).give(to: target)
    case .text(var text): return text.withUTF8 { $0.given(to: target, as: BoundValue.text) }
    case .blob(let data):
      return data.withUnsafeBytes { $0.bindMemory(to: UInt8.self).given(to: target, as: BoundValue.blob) }
    }
  }
}

extension UnsafeBufferPointer<UInt8> {
  /// Passes a copy of the bytes to SQLite. Passes an address even for empty bytes, because SQLite would bind NULL for a
  /// null pointer.
  fileprivate func given(
    to target: some ValueTarget, as value: (UnsafePointer<UInt8>, Int) -> BoundValue
  ) -> Int32 {
    guard let start = baseAddress else {
      return withUnsafePointer(to: 0 as UInt8) { value($0, 0).give(to: target, copied: true) }
    }
    return value(start, count).give(to: target, copied: true)
  }
}
