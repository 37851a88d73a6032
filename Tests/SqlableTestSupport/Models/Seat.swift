import SqlableCore

/// A WITHOUT ROWID table with a key of two columns, a default and a generated column.
struct Seat: Sqlable, Equatable {
  static let row = column("row", Int.self)
  static let letter = column("letter", String.self)
  static let price = column("price", Double?.self, Default(9.5))
  static let label = column("label", String?.self, Generated("row || letter"))
  static let tableLayout = [row.column, letter.column, price.column, label.column]
  static let tableConstraints = [PrimaryKeys(row, letter)]
  static let tableOptions: [TableOption] = [.withoutRowid]
  var row: Int
  var letter: String
  var price: Double?
  var label: String?

  init(row: Int, letter: String, price: Double? = nil) { (self.row, self.letter, self.price) = (row, letter, price) }
  init(row: ReadRow) throws {
    self.init(row: try row.get(Self.row), letter: try row.get(Self.letter), price: try row.get(Self.price))
    label = try row.get(Self.label)
  }
  func write(to row: inout RowWriter) throws {
    row.set(Self.row, self.row)
    row.set(Self.letter, letter)
    row.set(Self.price, price)
    row.set(Self.label, "written by nobody")
  }
}
