import SqlableCore

/// A row of the table person that runs code of the test while it is read or written.
struct HookedPerson: Sqlable {
  static let tableName = "person"
  static let id = Column("id", .integer, PrimaryKey())
  static let name = Column("name", .text)
  static let tableLayout = [id, name]
  /// The code that runs at the end of `init(row:)`.
  @TaskLocal static var whileRead: @Sendable (ReadRow) throws -> Void = { _ in }

  let id: Int
  let name: String
  /// The code that runs at the end of `write(to:)`.
  private let whileWritten: @Sendable (inout RowWriter) throws -> Void

  init(id: Int, name: String, whileWritten: @escaping @Sendable (inout RowWriter) throws -> Void = { _ in }) {
    (self.id, self.name, self.whileWritten) = (id, name, whileWritten)
  }

  init(row: ReadRow) throws {
    self.init(id: try row.get(HookedPerson.id), name: try row.get(HookedPerson.name))
    try HookedPerson.whileRead(row)
  }

  func write(to row: inout RowWriter) throws {
    row.set(HookedPerson.id, id)
    row.set(HookedPerson.name, name)
    try whileWritten(&row)
  }
}
