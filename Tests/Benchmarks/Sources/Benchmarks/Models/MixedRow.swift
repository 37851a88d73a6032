import Foundation
import Sqlable

/// The mixed row of the other workloads.
struct MixedRow: Equatable, Codable, Digestible {
  var id: Int
  var name: String
  var bio: String
  var price: Double
  var active: Bool
  var nick: String?
  var at: Date

  init(id: Int, name: String, bio: String, price: Double, active: Bool, nick: String?, at: Date) {
    self.id = id
    self.name = name
    self.bio = bio
    self.price = price
    self.active = active
    self.nick = nick
    self.at = at
  }

  init(number n: Int) {
    self.init(
      id: n, name: MixedRow.name(of: n), bio: "a line of about sixty characters on what number \(1_000_000 + n) likes",
      price: Double(n) * 1.25, active: n % 3 == 0, nick: n % 2 == 0 ? "nick \(n)" : nil,
      at: Date(timeIntervalSince1970: 1_600_000_000 + Double(n) * 0.5))
  }

  /// Names sort as their numbers do.
  static func name(of number: Int) -> String { "name \(1_000_000 + number)" }

  /// The row with other values in all columns but the key.
  var changed: MixedRow {
    var row = MixedRow(number: id + 1)
    row.id = id
    return row
  }

  @inline(__always)
  var digest: UInt64 {
    var digest = Digest()
    digest.add(id)
    digest.add(name)
    digest.add(bio)
    digest.add(price)
    digest.add(active)
    digest.add(nick)
    digest.add(at)
    return digest.value
  }
}

/// The mixed row with untyped columns, written value by value.
struct Untyped: Sqlable, Digestible {
  var row: MixedRow

  static let id = Column("id", .integer, PrimaryKey())
  static let name = Column("name", .text)
  static let bio = Column("bio", .text)
  static let price = Column("price", .real)
  static let active = Column("active", .boolean)
  static let nick = Column("nick", .nullable(.text))
  static let at = Column("at", .date)
  static let tableName = "mixed"
  static let tableLayout = [id, name, bio, price, active, nick, at]

  init(_ row: MixedRow) { self.row = row }

  init(row: ReadRow) throws {
    self.row = MixedRow(
      id: try row.get(Untyped.id), name: try row.get(Untyped.name), bio: try row.get(Untyped.bio),
      price: try row.get(Untyped.price), active: try row.get(Untyped.active), nick: try row.get(Untyped.nick),
      at: try row.get(Untyped.at))
  }

  func valueForColumn(_ column: Column) -> SqlValue? {
    switch column {
    case Untyped.id: return row.id
    case Untyped.name: return row.name
    case Untyped.bio: return row.bio
    case Untyped.price: return row.price
    case Untyped.active: return row.active
    case Untyped.nick: return row.nick.orNull
    case Untyped.at: return row.at
    case _: return nil
    }
  }

  @inline(__always)
  var digest: UInt64 { row.digest }
}

/// The mixed row, read and written by `Codable`.
struct Coded: SqlCodable, Digestible {
  var row: MixedRow

  static let id = column("id", Int.self, PrimaryKey())
  static let name = column("name", String.self)
  static let bio = column("bio", String.self)
  static let price = column("price", Double.self)
  static let active = column("active", Bool.self)
  static let nick = column("nick", String?.self)
  static let at = column("at", Date.self)
  static let tableName = "mixed"
  static let tableLayout = [
    id.column, name.column, bio.column, price.column, active.column, nick.column, at.column,
  ]

  init(_ row: MixedRow) { self.row = row }

  init(from decoder: any Decoder) throws { row = try MixedRow(from: decoder) }

  func encode(to encoder: any Encoder) throws { try row.encode(to: encoder) }

  @inline(__always)
  var digest: UInt64 { row.digest }
}

/// The mixed row with typed columns, written directly.
struct Typed: Sqlable, Digestible {
  var row: MixedRow

  static let id = column("id", Int.self, PrimaryKey())
  static let name = column("name", String.self)
  static let bio = column("bio", String.self)
  static let price = column("price", Double.self)
  static let active = column("active", Bool.self)
  static let nick = column("nick", String?.self)
  static let at = column("at", Date.self)
  static let tableName = "mixed"
  static let tableLayout = [
    id.column, name.column, bio.column, price.column, active.column, nick.column, at.column,
  ]

  init(_ row: MixedRow) { self.row = row }

  init(row: ReadRow) throws {
    self.row = MixedRow(
      id: try row.get(Typed.id), name: try row.get(Typed.name), bio: try row.get(Typed.bio),
      price: try row.get(Typed.price), active: try row.get(Typed.active), nick: try row.get(Typed.nick),
      at: try row.get(Typed.at))
  }

  // `nil` is written as NULL, as a program does whose updates may clear a column; a column left out stays as it is.
  func write(to writer: inout RowWriter) throws {
    writer.set(Typed.id, row.id)
    writer.set(Typed.name, row.name)
    writer.set(Typed.bio, row.bio)
    writer.set(Typed.price, row.price)
    writer.set(Typed.active, row.active)
    writer.set(Typed.nick, row.nick)
    writer.set(Typed.at, row.at)
  }

  @inline(__always)
  var digest: UInt64 { row.digest }
}
