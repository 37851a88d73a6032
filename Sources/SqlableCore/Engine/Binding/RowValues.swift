/// The values that a struct wrote for a row, by column position.
///
/// If the table has at most 64 columns, `shape` shows which values are set. The other slots can contain values of an
/// earlier row.
package struct RowValues {
  private let slots: UnsafeMutableBufferPointer<BoundValue>
  private let bits: UInt64

  init(slots: UnsafeMutableBufferPointer<BoundValue>, shape: UInt64) {
    self.slots = slots
    bits = shape
  }

  /// The values of a statement without a struct.
  static var none: RowValues { RowValues(slots: .init(start: nil, count: 0), shape: 0) }

  /// True if a table has too many columns for a shape.
  static func isWide(_ count: Int) -> Bool { count > UInt64.bitWidth }

  /// A bit set of the columns that the struct sets; nil if the table has too many columns.
  var shape: UInt64? { RowValues.isWide(slots.count) ? nil : bits }

  var indices: Range<Int> { slots.indices }

  package subscript(position: Int) -> BoundValue {
    guard let shape else { return slots[position] }
    return shape & (1 << UInt64(position)) == 0 ? .unset : slots[position]
  }

  /// Calls `body` with each set value in column order, except the values at the positions `skipped`.
  @inline(__always)
  func eachValue(except skipped: [Int] = [], _ body: (BoundValue) throws -> Void) rethrows {
    guard var rest = shape else {
      for position in indices where slots[position].isSet && !skipped.contains(position) { try body(slots[position]) }
      return
    }
    for position in skipped { rest &= ~(1 << UInt64(position)) }
    while rest != 0 {
      try body(slots[rest.trailingZeroBitCount])
      rest &= rest - 1
    }
  }
}
