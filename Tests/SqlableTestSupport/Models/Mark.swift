import SqlableCore

/// A WITHOUT ROWID table of nothing but an integer key.
struct Mark: Sqlable, Equatable {
  static let id = Column("id", .integer, PrimaryKey())
  static let tableLayout = [id]
  static let tableOptions: [TableOption] = [.withoutRowid]
  var id: Int

  init(id: Int) { self.id = id }
  init(row: ReadRow) throws { id = try row.get(Self.id) }
  func write(to row: inout RowWriter) throws { row.set(Self.id, id) }
}
