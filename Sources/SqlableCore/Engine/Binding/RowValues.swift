import CSqlableSQLite

/// The values that a struct wrote for a row, by column position.
///
/// If the table has at most 64 columns, `shape` shows which columns are set. The slots of unset columns can contain
/// values of an earlier row.
package struct RowValues {
  private let slots: UnsafeMutableBufferPointer<BoundValue>
  private let bits: UInt64

  init(slots: UnsafeMutableBufferPointer<BoundValue>, shape: UInt64) {
    self.slots = slots
    bits = shape
  }

  /// The values of a statement without a struct.
  static var none: RowValues { RowValues(slots: .init(start: nil, count: 0), shape: 0) }

  /// True if a table has too many columns for `shape`, which has one bit per column.
  static func isWide(_ count: Int) -> Bool { count > UInt64.bitWidth }

  /// A bit set of the columns that the struct sets; nil if the table has too many columns.
  var shape: UInt64? { RowValues.isWide(slots.count) ? nil : bits }

  var indices: Range<Int> { slots.indices }

  @inline(__always)
  package subscript(position: Int) -> BoundValue {
    guard let shape else { return slots[position] }
    return shape & (1 << UInt64(position)) == 0 ? .unset : slots[position]
  }

  /// Binds the set values to the parameters 1, 2, 3 …, and returns SQLite's result code.
  @inline(__always)
  func bind(to handle: OpaquePointer) -> Int32 {
    var index: Int32 = 0
    return bind(to: handle, after: &index)
  }

  /// Binds the set values to the parameters after `index`, in column order. If the row has a shape, skips the values
  /// whose bits in `skipped` are set.
  @inline(__always)
  func bind(to handle: OpaquePointer, after index: inout Int32, except skipped: UInt64 = 0) -> Int32 {
    guard let shape else { return bindAll(to: handle, after: &index) }
    var rest = shape & ~skipped
    while rest != 0 {
      index += 1
      let code = slots[rest.trailingZeroBitCount].give(to: ParameterTarget(statement: handle, index: index))
      if code != SQLITE_OK { return code }
      rest &= rest - 1
    }
    return SQLITE_OK
  }

  @inline(never)
  private func bindAll(to handle: OpaquePointer, after index: inout Int32) -> Int32 {
    for position in indices where slots[position].isSet {
      index += 1
      let code = bind(position, to: handle, at: index)
      if code != SQLITE_OK { return code }
    }
    return SQLITE_OK
  }

  /// Binds the value at `position` to the parameter at `index`, which is counted from 1.
  @inline(__always)
  func bind(_ position: Int, to handle: OpaquePointer, at index: Int32) -> Int32 {
    self[position].give(to: ParameterTarget(statement: handle, index: index))
  }
}
