/// Where a prepared statement binds a value that it is given, and in which form.
struct Placeholder: Sendable {
  let name: String
  /// The definition of the column that the value is compared with, or stored in; nil where it stands by itself.
  let column: (any AnyObject & Sendable)?
  let isStored: Bool

  init(name: String, beside column: (any AnyObject & Sendable)? = nil) {
    self.name = name
    self.column = column
    isStored = false
  }

  init(name: String, storedIn column: any AnyObject & Sendable) {
    self.name = name
    self.column = column
    isStored = true
  }
}
