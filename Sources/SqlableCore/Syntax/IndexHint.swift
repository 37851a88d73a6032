/// The index that SQLite must use for a table, or that it must use none.
package struct IndexHint: Sendable, Hashable {
  /// The name of the index; nil for none.
  @ByteComparedName package var name: String?

  package init(name: String?) {
    self.name = name
  }

  package static let none = IndexHint(name: nil)
}
