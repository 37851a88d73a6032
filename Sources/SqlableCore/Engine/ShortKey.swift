/// A cache key for a statement of one table, such as a read by primary key or an insert of a struct. Unlike other cache
/// keys, a short key is looked up without writing it into a buffer.
struct ShortKey: Equatable {
  /// A number for the kind of statement, such as an insert with a conflict policy.
  private let operation: UInt64
  private let table: UInt
  /// The columns that a struct sets, one bit for each column; 0 for a statement without a struct.
  private let columns: UInt64

  /// - Parameter table: The declaration of the table, which is never freed.
  @inline(__always)
  init(_ operation: UInt64, of table: Unmanaged<some AnyObject>, columns: UInt64 = 0) {
    self.operation = operation
    self.table = UInt(bitPattern: table.toOpaque())
    self.columns = columns
  }

  private init() { (operation, table, columns) = (0, 0, 0) }

  /// A key that no statement has.
  static var none: ShortKey { ShortKey() }

  static var slotBits: UInt64 { 7 }

  /// The slot of the key in the cache's list of recent statements. Keys of different statements can share a slot.
  @inline(__always)
  var slot: Int {
    let word = operation ^ UInt64(table) ^ (columns &* 0x9E37_79B9_7F4A_7C15)
    return Int(truncatingIfNeeded: (word &* 0xD6E8_FEB8_6659_FD93) >> (64 - ShortKey.slotBits))
  }
}
