package struct IndexHint: Sendable, Hashable {
  /// The index's name; nil if SQLite must not use an index.
  @ByteComparedName package var name: String?

  package init(name: String?) {
    self.name = name
  }

  package static let none = IndexHint(name: nil)
}
