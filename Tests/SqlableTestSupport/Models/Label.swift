import SqlableCore

/// A text that SQLite compares by NOCASE, and a number. Both may be NULL.
struct Label: Sqlable, Equatable {
  let id: Int
  var text: String?
  var number: Int?
  static let id = column("id", Int.self, PrimaryKey())
  static let text = column("text", String?.self, Collate.nocase)
  static let number = column("number", Int?.self)
  static let tableLayout = [id.column, text.column, number.column]

  init(id: Int, text: String?, number: Int? = nil) { (self.id, self.text, self.number) = (id, text, number) }
  init(row: ReadRow) throws {
    self.init(id: try row.get(Label.id), text: try row.get(Label.text), number: try row.get(Label.number))
  }
  func write(to row: inout RowWriter) throws {
    row.set(Label.id, id)
    row.set(Label.text, text)
    row.set(Label.number, number)
  }
}
