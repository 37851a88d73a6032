/// The index that SQLite must use for a table, or that it must use none.
struct IndexHint: Sendable, Hashable {
  /// The name of the index; nil for none.
  @ByBytes var name: String?

  static let none = IndexHint(name: nil)
}
