import Sqlable

/// `Measured macro|hand insert|read ROWS`: inserts rows into a database in memory, and reads them.
let arguments = CommandLine.arguments
guard arguments.count == 4, let count = Int(arguments[3]) else {
  fatalError("usage: Measured macro|hand insert|read ROWS")
}

let db = try SqliteDatabase.inMemory()

/// Inserts the rows, and reads them too.
func measure<Row: Sqlable>(_ rows: [Row]) throws {
  try db.createTable(Row.self)
  print(try Row.insert(rows).run(db).count)
  if arguments[2] == "read" { print(try Row.read().run(db).count) }
}

/// The values of a row.
struct Values {
  let id: Int
  let name: String
  let note: String?
  let price: Double
  let amount: Int
  let mood: Mood

  init(_ number: Int) {
    id = number
    name = "row \(number)"
    note = number % 3 == 0 ? nil : "a note of row \(number)"
    price = Double(number) / 4
    amount = number % 7
    mood = number % 5 == 0 ? .cross : .calm
  }
}

let values = (1...count).map { Values($0) }
if arguments[1] == "macro" {
  let rows = values.map { of in
    Drawn(
      id: of.id, name: of.name, note: of.note, price: of.price, amount: of.amount, isOpen: of.id % 2 == 0,
      mood: of.mood,
      remaining: of.amount == 0 ? nil : of.id)
  }
  try measure(rows)
} else {
  let rows = values.map { of in
    Written(
      id: of.id, name: of.name, note: of.note, price: of.price, amount: of.amount, isOpen: of.id % 2 == 0,
      mood: of.mood,
      remaining: of.amount == 0 ? nil : of.id)
  }
  try measure(rows)
}
