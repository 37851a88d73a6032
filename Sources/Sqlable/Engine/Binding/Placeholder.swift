/// Where a prepared statement binds a value that it is given, and in which form.
struct Placeholder: Sendable {
  let name: String
  /// The column that the value is compared with, or stored in; nil where it stands by itself.
  let column: ColumnDefinition?
  let isStored: Bool

  init(name: String, beside column: ColumnDefinition? = nil) {
    self.name = name
    self.column = column
    isStored = false
  }

  init(name: String, storedIn column: ColumnDefinition) {
    self.name = name
    self.column = column
    isStored = true
  }
}
