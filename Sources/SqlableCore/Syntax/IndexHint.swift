/// The index that SQLite must use for a table, or the rule that SQLite must not use an index.
package struct IndexHint: Sendable, Hashable {
  /// The index's name; nil if SQLite must not use an index.
  @ByteComparedName package var name: String?

  package init(name: String?) {
    self.name = name
  }

  package static let none = IndexHint(name: nil)
}
