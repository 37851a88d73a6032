import SqlableCore

/// A row for window functions. Few distinct values make many ties, and every column but the id may be NULL.
struct Reading: Sqlable, Equatable {
  let id: Int
  var part: Int?
  var key: Double?
  var other: String?
  var amount: Int?
  static let id = column("id", Int.self, PrimaryKey())
  static let part = column("part", Int?.self)
  static let key = column("key", Double?.self)
  static let other = column("other", String?.self)
  static let amount = column("amount", Int?.self)
  static let tableLayout = [id.column, part.column, key.column, other.column, amount.column]

  init(id: Int, random: inout SeededGenerator) {
    self.id = id
    part = random.pick([nil, 0, 1])
    key = random.pick([nil, -1.5, 0, 0.5, 1, 2, 2, 4.25])
    // No empty text: in a window, SQLite concatenates empty texts to NULL.
    other = random.pick([nil, " ", "a", "b", "é", "日本"])
    amount = random.pick([nil, nil, -3, 0, 1, 2, 7])
  }

  init(row: ReadRow) throws {
    id = try row.get(Reading.id)
    part = try row.get(Reading.part)
    key = try row.get(Reading.key)
    other = try row.get(Reading.other)
    amount = try row.get(Reading.amount)
  }

  func write(to row: inout RowWriter) throws {
    row.set(Reading.id, id)
    row.set(Reading.part, part)
    row.set(Reading.key, key)
    row.set(Reading.other, other)
    row.set(Reading.amount, amount)
  }

  /// Returns the stored value of a column that windows order or partition by.
  func storage(_ term: WindowCase.Term) -> DatabaseValue {
    switch term {
    case .id: .integer(Int64(id))
    case .part: part.map { .integer(Int64($0)) } ?? .null
    case .key: key.map { .real($0) } ?? .null
    case .other: other.map { .text($0) } ?? .null
    }
  }
}
