/// The values that a struct gave for a row, by the position of their columns.
///
/// Where the table has no more columns than a word has bits, `shape` says which ones are there, and the rest of the
/// memory holds what an earlier row left.
struct RowValues {
  private let slots: UnsafeMutableBufferPointer<BoundValue>
  private let bits: UInt64

  init(slots: UnsafeMutableBufferPointer<BoundValue>, shape: UInt64) {
    self.slots = slots
    bits = shape
  }

  /// What a statement without a struct has.
  static var none: RowValues { RowValues(slots: .init(start: nil, count: 0), shape: 0) }

  /// Whether a table has so many columns that no shape tells which are set.
  static func isWide(_ count: Int) -> Bool { count > UInt64.bitWidth }

  /// A bit for every column that the struct gives; nil for a table too wide for it.
  var shape: UInt64? { RowValues.isWide(slots.count) ? nil : bits }

  var indices: Range<Int> { slots.indices }

  subscript(position: Int) -> BoundValue {
    guard let shape else { return slots[position] }
    return shape & (1 << UInt64(position)) == 0 ? .unset : slots[position]
  }

  /// Calls `body` with each value that is there, in the order of the columns, but for those at `skipped`.
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
