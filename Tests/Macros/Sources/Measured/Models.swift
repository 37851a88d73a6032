import Sqlable

enum Mood: Int, SqlValue { case calm, cross }

/// A row whose conformance the macro writes.
@Sqlable("row") struct Drawn {
  @PrimaryKey var id: Int?
  var name: String
  var note: String?
  var price: Double
  @Index var amount: Int
  var isOpen: Bool
  var mood: Mood
  @Column("rest") var remaining: Int?
}

/// The same, written by hand.
struct Written {
  var id: Int?
  var name: String
  var note: String?
  var price: Double
  var amount: Int
  var isOpen: Bool
  var mood: Mood
  var remaining: Int?
}

extension Written: Sqlable {
  static let tableName = "row"
  static let id = column("id", Int.self, PrimaryKey())
  static let name = column("name", String.self)
  static let note = column("note", String?.self)
  static let price = column("price", Double.self)
  static let amount = column("amount", Int.self)
  static let isOpen = column("is_open", Bool.self)
  static let mood = column("mood", Mood.self)
  static let remaining = column("rest", Int?.self)
  static let tableLayout = [
    id.column, name.column, note.column, price.column, amount.column, isOpen.column, mood.column, remaining.column,
  ]
  static let tableIndexes = [Index(amount)]

  init(row: ReadRow) throws {
    id = try row.get(Written.id)
    name = try row.get(Written.name)
    note = try row.get(Written.note)
    price = try row.get(Written.price)
    amount = try row.get(Written.amount)
    isOpen = try row.get(Written.isOpen)
    mood = try row.get(Written.mood)
    remaining = try row.get(Written.remaining)
  }

  func write(to row: inout RowWriter) throws {
    row.set(Written.id, id)
    row.set(Written.name, name)
    row.set(Written.note, note)
    row.set(Written.price, price)
    row.set(Written.amount, amount)
    row.set(Written.isOpen, isOpen)
    row.set(Written.mood, mood)
    row.set(Written.remaining, remaining)
  }
}
