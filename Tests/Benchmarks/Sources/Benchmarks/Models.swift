import FoundationEssentials
import Sqlable

/// W1's row: ten integers.
struct Ints: Sqlable {
  var a: Int, b: Int, c: Int, d: Int, e: Int, f: Int, g: Int, h: Int, i: Int, j: Int

  static let a = Column("a", .integer, PrimaryKey())
  static let b = Column("b", .integer)
  static let c = Column("c", .integer)
  static let d = Column("d", .integer)
  static let e = Column("e", .integer)
  static let f = Column("f", .integer)
  static let g = Column("g", .integer)
  static let h = Column("h", .integer)
  static let i = Column("i", .integer)
  static let j = Column("j", .integer)
  static let tableLayout = [a, b, c, d, e, f, g, h, i, j]

  init(_ n: Int) {
    (a, b, c, d, e) = (n, n &* 3, n &* 5, n &* 7, n &* 11)
    (f, g, h, i, j) = (n &* 13, n &* 17, n &* 19, n &* 23, n &* 29)
  }

  init(a: Int, b: Int, c: Int, d: Int, e: Int, f: Int, g: Int, h: Int, i: Int, j: Int) {
    (self.a, self.b, self.c, self.d, self.e) = (a, b, c, d, e)
    (self.f, self.g, self.h, self.i, self.j) = (f, g, h, i, j)
  }

  init(row: ReadRow) throws {
    a = try row.get(Ints.a)
    b = try row.get(Ints.b)
    c = try row.get(Ints.c)
    d = try row.get(Ints.d)
    e = try row.get(Ints.e)
    f = try row.get(Ints.f)
    g = try row.get(Ints.g)
    h = try row.get(Ints.h)
    i = try row.get(Ints.i)
    j = try row.get(Ints.j)
  }

  func write(to row: inout RowWriter) throws {
    row.set(Ints.a, a)
    row.set(Ints.b, b)
    row.set(Ints.c, c)
    row.set(Ints.d, d)
    row.set(Ints.e, e)
    row.set(Ints.f, f)
    row.set(Ints.g, g)
    row.set(Ints.h, h)
    row.set(Ints.i, i)
    row.set(Ints.j, j)
  }

  var checksum: UInt64 { UInt64(truncatingIfNeeded: a ^ b ^ c ^ d ^ e ^ f ^ g ^ h ^ i ^ j) }
}

/// The mixed row of the other workloads.
struct MixedRow: Equatable {
  var id: Int
  var name: String
  var bio: String
  var price: Double
  var active: Bool
  var nick: String?
  var at: Date

  init(_ n: Int) {
    id = n
    name = "name \(1_000_000 + n)"
    bio = "a line of about sixty characters on what number \(1_000_000 + n) likes"
    price = Double(n) * 1.25
    active = n % 3 == 0
    nick = n % 2 == 0 ? "nick \(n)" : nil
    at = Date(timeIntervalSince1970: 1_600_000_000 + Double(n) * 0.5)
  }

  init(id: Int, name: String, bio: String, price: Double, active: Bool, nick: String?, at: Date) {
    self.id = id
    self.name = name
    self.bio = bio
    self.price = price
    self.active = active
    self.nick = nick
    self.at = at
  }

  var checksum: UInt64 {
    UInt64(truncatingIfNeeded: id) &+ UInt64(name.utf8.count) &+ UInt64(bio.utf8.count) &+ price.bitPattern
      &+ (active ? 1 : 0) &+ UInt64(nick?.utf8.count ?? 1000) &+ at.timeIntervalSince1970.bitPattern
  }
}

/// The mixed row with untyped columns, written value by value.
struct Untyped: Sqlable {
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
    case Untyped.nick: return row.nick
    case Untyped.at: return row.at
    case _: return nil
    }
  }
}

/// The mixed row with typed columns, written directly.
struct Typed: Sqlable {
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

  func write(to writer: inout RowWriter) throws {
    writer.set(Typed.id, row.id)
    writer.set(Typed.name, row.name)
    writer.set(Typed.bio, row.bio)
    writer.set(Typed.price, row.price)
    writer.set(Typed.active, row.active)
    writer.set(Typed.nick, row.nick)
    writer.set(Typed.at, row.at)
  }
}
