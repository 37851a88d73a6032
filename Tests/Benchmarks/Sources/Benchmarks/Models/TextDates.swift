import Foundation
import Sqlable

/// The mixed row with typed columns, of a table whose dates are texts like `2013-01-01 06:00:00.000`.
struct TypedTextDates: Sqlable, Digestible {
  var row: MixedRow

  static let id = column("id", Int.self, PrimaryKey())
  static let name = column("name", String.self)
  static let bio = column("bio", String.self)
  static let price = column("price", Double.self)
  static let active = column("active", Bool.self)
  static let nick = column("nick", String?.self)
  static let at = column("at", Date.self, as: .date(.sqliteText))
  static let tableName = "mixed_text"
  static let tableLayout = [
    id.column, name.column, bio.column, price.column, active.column, nick.column, at.column,
  ]

  init(row: ReadRow) throws {
    self.row = MixedRow(
      id: try row.get(TypedTextDates.id), name: try row.get(TypedTextDates.name), bio: try row.get(TypedTextDates.bio),
      price: try row.get(TypedTextDates.price), active: try row.get(TypedTextDates.active),
      nick: try row.get(TypedTextDates.nick),
      at: try row.get(TypedTextDates.at))
  }

  @inline(__always)
  var digest: UInt64 { row.digest }
}

/// The row of this table, read and written by `Codable`.
struct CodedTextDates: SqlCodable, Digestible {
  var row: MixedRow

  static let id = column("id", Int.self, PrimaryKey())
  static let name = column("name", String.self)
  static let bio = column("bio", String.self)
  static let price = column("price", Double.self)
  static let active = column("active", Bool.self)
  static let nick = column("nick", String?.self)
  static let at = column("at", Date.self, as: .date(.sqliteText))
  static let tableName = "mixed_text"
  static let tableLayout = [
    id.column, name.column, bio.column, price.column, active.column, nick.column, at.column,
  ]

  init(from decoder: any Decoder) throws { row = try MixedRow(from: decoder) }

  func encode(to encoder: any Encoder) throws { try row.encode(to: encoder) }

  @inline(__always)
  var digest: UInt64 { row.digest }
}
