import SqlableCodable
import SqlableCore

/// A text that SQLite compares by NOCASE, and a number. Both may be NULL.
struct Label: SqlCodable, Equatable {
  let id: Int
  var text: String?
  var number: Int?
  static let id = column("id", Int.self, PrimaryKey())
  static let text = column("text", String?.self, Collate.nocase)
  static let number = column("number", Int?.self)
  static let tableLayout = [id.column, text.column, number.column]
}
