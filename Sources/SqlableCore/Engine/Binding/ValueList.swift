import CSqlableSQLite

/// The values of a long IN list. SQLite reads the values through a table-valued function.
///
/// `"id" IN (SELECT value FROM sqlable_values(?1))` is the same statement for any number of values of any storage
/// class. One `?` per value would exceed SQLite's limit on variables, and require another statement for every length.
@usableFromInline
package final class ValueList {
  let parameters: UnsafeBufferPointer<BoundValue>
  /// The number of values in each row value; 1 for a list of single values.
  let width: Int
  private let buffer: ParameterBuffer

  /// - Parameters:
  ///   - values: The values, row by row.
  ///   - width: The number of values in each row value; 1 for a list of single values.
  init(_ values: [DatabaseValue], width: Int = 1) {
    // The buffer has exactly the required size, because a statement can contain many short lists.
    let buffer = ParameterBuffer(count: values.count, bytes: values.reduce(0) { $0 + $1.byteCount })
    for value in values { buffer.append(value) }
    self.buffer = buffer
    parameters = buffer.parameters
    self.width = width
  }
}

extension DatabaseValue {
  /// The number of bytes of a text or blob; 0 for other values.
  package var byteCount: Int {
    switch self {
    case .null, .integer, .real: 0
    case .text(let text): text.utf8.count
    case .blob(let data): data.count
    }
  }
}

/// The table-valued function `sqlable_values(pointer)`, one row per value or row value; registered on every connection.
package enum ValueListModule {
  package static let name = "sqlable_values"
  /// The function's columns, one for each term of a row value. The columns declare no type: their affinity is BLOB,
  /// which converts no value.
  static let columns = ["value"] + (2...16).map { "value\($0)" }
  private static let pointerType: StaticString = "sqlable_values"

  static func register(on handle: OpaquePointer) -> Int32 {
    sqlite3_create_module(handle, name, module, nil)
  }

  /// Binds the list. SQLite retains the list until the parameter is rebound or cleared.
  static func bind(_ list: Unmanaged<ValueList>, to handle: OpaquePointer, at index: Int32) -> Int32 {
    pointerType.utf8Start.withMemoryRebound(to: CChar.self, capacity: pointerType.utf8CodeUnitCount + 1) { type in
      sqlite3_bind_pointer(handle, index, list.retain().toOpaque(), type) { pointer in
        guard let pointer else { return }
        Unmanaged<ValueList>.fromOpaque(pointer).release()
      }
    }
  }

  private static func list(from value: OpaquePointer?) -> ValueList? {
    let pointer = pointerType.utf8Start.withMemoryRebound(
      to: CChar.self, capacity: pointerType.utf8CodeUnitCount + 1
    ) { sqlite3_value_pointer(value, $0) }
    return pointer.map { Unmanaged<ValueList>.fromOpaque($0).takeUnretainedValue() }
  }

  /// The cursor's memory: SQLite's header, followed by our fields.
  private struct Cursor {
    var base = sqlite3_vtab_cursor()
    var list: Unmanaged<ValueList>?
    var row = 0
  }

  private static func cursor(_ base: UnsafeMutablePointer<sqlite3_vtab_cursor>?) -> UnsafeMutablePointer<Cursor>? {
    base.map { UnsafeMutableRawPointer($0).assumingMemoryBound(to: Cursor.self) }
  }

  // `nonisolated(unsafe)` is sound: the module is written once, then only read. The module outlives all connections.
  nonisolated(unsafe) private static let module: UnsafePointer<sqlite3_module> = {
    var module = sqlite3_module()
    // Without xCreate the module is eponymous-only, so no schema can use the module in CREATE VIRTUAL TABLE.
    module.xConnect = { database, _, _, _, table, _ in
      let columns = ValueListModule.columns.dropFirst().joined(separator: ", ")
      let code = sqlite3_declare_vtab(database, "CREATE TABLE x(value, list HIDDEN, \(columns))")
      guard code == SQLITE_OK else { return code }
      let new = UnsafeMutablePointer<sqlite3_vtab>.allocate(capacity: 1)
      new.initialize(to: sqlite3_vtab())
      table?.pointee = new
      return SQLITE_OK
    }
    module.xDisconnect = { table in
      table?.deallocate()
      return SQLITE_OK
    }
    module.xBestIndex = { _, info in
      guard let info else { return SQLITE_INTERNAL }
      for index in 0..<Int(info.pointee.nConstraint) {
        let constraint = info.pointee.aConstraint[index]
        guard constraint.iColumn == 1, constraint.usable != 0, constraint.op == UInt8(SQLITE_INDEX_CONSTRAINT_EQ)
        else { continue }
        info.pointee.aConstraintUsage[index].argvIndex = 1
        info.pointee.aConstraintUsage[index].omit = 1
        info.pointee.estimatedCost = 1
        info.pointee.estimatedRows = 100
        return SQLITE_OK
      }
      return SQLITE_CONSTRAINT
    }
    module.xOpen = { _, cursor in
      let new = UnsafeMutablePointer<Cursor>.allocate(capacity: 1)
      new.initialize(to: Cursor())
      cursor?.pointee = UnsafeMutableRawPointer(new).assumingMemoryBound(to: sqlite3_vtab_cursor.self)
      return SQLITE_OK
    }
    module.xClose = { base in
      guard let cursor = ValueListModule.cursor(base) else { return SQLITE_OK }
      cursor.pointee.list?.release()
      cursor.deallocate()
      return SQLITE_OK
    }
    module.xFilter = { base, _, _, count, arguments in
      guard let cursor = ValueListModule.cursor(base) else { return SQLITE_INTERNAL }
      cursor.pointee.list?.release()
      cursor.pointee.list = nil
      cursor.pointee.row = 0
      guard count == 1, let argument = arguments?[0], let list = ValueListModule.list(from: argument) else {
        return SQLITE_OK
      }
      cursor.pointee.list = Unmanaged.passRetained(list)
      return SQLITE_OK
    }
    module.xNext = { base in
      ValueListModule.cursor(base)?.pointee.row += 1
      return SQLITE_OK
    }
    module.xEof = { base in
      guard let cursor = ValueListModule.cursor(base), let list = cursor.pointee.list else { return 1 }
      let values = list.takeUnretainedValue()
      return (cursor.pointee.row + 1) * values.width <= values.parameters.count ? 0 : 1
    }
    module.xColumn = { base, context, column in
      guard let cursor = ValueListModule.cursor(base), let list = cursor.pointee.list?.takeUnretainedValue(),
        column != 1
      else {
        sqlite3_result_null(context)
        return SQLITE_OK
      }
      // Column 1 is the hidden list, so the values continue in column 2.
      let position = column == 0 ? 0 : Int(column) - 1
      guard position < list.width else {
        sqlite3_result_null(context)
        return SQLITE_OK
      }
      // SQLite need not copy the bytes, because the list outlives the cursor.
      return list.parameters[cursor.pointee.row * list.width + position].give(to: ResultTarget(context: context))
    }
    module.xRowid = { base, rowid in
      rowid?.pointee = Int64(ValueListModule.cursor(base)?.pointee.row ?? 0)
      return SQLITE_OK
    }
    let stored = UnsafeMutablePointer<sqlite3_module>.allocate(capacity: 1)
    stored.initialize(to: module)
    return UnsafePointer(stored)
  }()
}
