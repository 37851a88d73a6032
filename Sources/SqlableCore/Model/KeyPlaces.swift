extension TableInfo {
  /// The positions of a primary key's columns in the table.
  @usableFromInline
  struct KeyPlaces: Sendable {
    /// The position of the key's column; -1 if the key does not have exactly one column.
    let only: Int
    /// The positions as a bit set. Valid only if the table has at most 64 columns.
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
