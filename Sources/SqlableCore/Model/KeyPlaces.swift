extension TableInfo {
  /// The positions of a primary key's columns in the table.
  @usableFromInline
  struct KeyPlaces: Sendable {
    /// The position of the only column; -1 for a key of no or several columns.
    let only: Int
    /// The positions as bits. Valid only if the table has at most 64 columns.
    let bits: UInt64
    /// True if the key is one column whose type is INTEGER.
    @usableFromInline let isInteger: Bool

    init(_ key: [Int], _ columns: [Column]) {
      only = key.count == 1 ? key[0] : -1
      bits = key.reduce(0) { $0 | 1 &<< UInt64(truncatingIfNeeded: $1) }
      isInteger = key.count == 1 && columns[key[0]].type.base == .integer
    }
  }
}
