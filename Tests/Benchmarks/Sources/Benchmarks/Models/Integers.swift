import CBaseline
import Sqlable

/// W1's row: ten integers.
struct Integers: Codable, Digestible {
  var a: Int, b: Int, c: Int, d: Int, e: Int, f: Int, g: Int, h: Int, i: Int, j: Int

  init(a: Int, b: Int, c: Int, d: Int, e: Int, f: Int, g: Int, h: Int, i: Int, j: Int) {
    (self.a, self.b, self.c, self.d, self.e) = (a, b, c, d, e)
    (self.f, self.g, self.h, self.i, self.j) = (f, g, h, i, j)
  }

  init(number n: Int) {
    self.init(
      a: n, b: n &* 3, c: n &* 5, d: n &* 7, e: n &* 11, f: n &* 13, g: n &* 17, h: n &* 19, i: n &* 23, j: n &* 29)
  }

  @inline(__always)
  var digest: UInt64 {
    if baseline_is_thorough() == 0 { return UInt64(truncatingIfNeeded: a ^ b ^ c ^ d ^ e ^ f ^ g ^ h ^ i ^ j) }
    return [a, b, c, d, e, f, g, h, i, j].reduce(0) { baseline_mix($0, UInt64(truncatingIfNeeded: $1)) }
  }
}

/// The row with untyped columns, written value by value.
struct UntypedIntegers: Sqlable, Digestible {
  var row: Integers

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
  static let tableName = "ints"
  static let tableLayout = [a, b, c, d, e, f, g, h, i, j]

  init(row: ReadRow) throws {
    typealias T = UntypedIntegers
    self.row = Integers(
      a: try row.get(T.a), b: try row.get(T.b), c: try row.get(T.c), d: try row.get(T.d), e: try row.get(T.e),
      f: try row.get(T.f), g: try row.get(T.g), h: try row.get(T.h), i: try row.get(T.i), j: try row.get(T.j))
  }

  @inline(__always)
  var digest: UInt64 { row.digest }
}

/// The row, read and written by `Codable`.
struct CodedIntegers: SqlCodable, Digestible {
  var row: Integers

  static let tableName = "ints"
  static let tableLayout = TypedIntegers.tableLayout.map { Column($0.name, .integer) }

  init(from decoder: any Decoder) throws { row = try Integers(from: decoder) }

  func encode(to encoder: any Encoder) throws { try row.encode(to: encoder) }

  @inline(__always)
  var digest: UInt64 { row.digest }
}

/// The row with typed columns, written directly.
struct TypedIntegers: Sqlable, Digestible {
  var row: Integers

  static let a = column("a", Int.self, PrimaryKey())
  static let b = column("b", Int.self)
  static let c = column("c", Int.self)
  static let d = column("d", Int.self)
  static let e = column("e", Int.self)
  static let f = column("f", Int.self)
  static let g = column("g", Int.self)
  static let h = column("h", Int.self)
  static let i = column("i", Int.self)
  static let j = column("j", Int.self)
  static let tableName = "ints"
  static let tableLayout = [
    a.column, b.column, c.column, d.column, e.column, f.column, g.column, h.column, i.column, j.column,
  ]

  init(_ row: Integers) { self.row = row }

  init(row: ReadRow) throws {
    typealias T = TypedIntegers
    self.row = Integers(
      a: try row.get(T.a), b: try row.get(T.b), c: try row.get(T.c), d: try row.get(T.d), e: try row.get(T.e),
      f: try row.get(T.f), g: try row.get(T.g), h: try row.get(T.h), i: try row.get(T.i), j: try row.get(T.j))
  }

  func write(to writer: inout RowWriter) throws {
    writer.set(TypedIntegers.a, row.a)
    writer.set(TypedIntegers.b, row.b)
    writer.set(TypedIntegers.c, row.c)
    writer.set(TypedIntegers.d, row.d)
    writer.set(TypedIntegers.e, row.e)
    writer.set(TypedIntegers.f, row.f)
    writer.set(TypedIntegers.g, row.g)
    writer.set(TypedIntegers.h, row.h)
    writer.set(TypedIntegers.i, row.i)
    writer.set(TypedIntegers.j, row.j)
  }

  @inline(__always)
  var digest: UInt64 { row.digest }
}
