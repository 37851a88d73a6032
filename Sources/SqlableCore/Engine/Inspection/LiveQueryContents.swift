import CSqlableSQLite

/// The values of a result, stored as bytes, for comparing two results.
package struct LiveQueryContents: Equatable {

  private var bytes: [UInt8] = []
  /// The value that a live query's closure returned; nil for a live query of a statement. The rows that a closure reads
  /// are not recorded.
  private var value: (any Equatable & Sendable)?

  package init() {}

  package init(_ value: some Equatable & Sendable) { self.value = value }

  package static func == (one: LiveQueryContents, other: LiveQueryContents) -> Bool {
    func isEqual<Value: Equatable>(_ value: Value) -> Bool { value == other.value as? Value }
    return one.bytes == other.bytes && (one.value.map { isEqual($0) } ?? (other.value == nil))
  }

  package mutating func add(_ statement: PreparedStatement) {
    let handle = statement.handle
    for column in 0..<sqlite3_column_count(handle) {
      let type = sqlite3_column_type(handle, column)
      bytes.append(UInt8(truncatingIfNeeded: type))
      switch type {
      case SQLITE_NULL: break
      case SQLITE_INTEGER: withUnsafeBytes(of: sqlite3_column_int64(handle, column)) { bytes += $0 }
      case SQLITE_FLOAT: withUnsafeBytes(of: sqlite3_column_double(handle, column)) { bytes += $0 }
      default:
        let start = sqlite3_column_blob(handle, column)
        let count = Int(sqlite3_column_bytes(handle, column))
        withUnsafeBytes(of: count) { bytes += $0 }
        bytes += UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count)
      }
    }
  }
}
