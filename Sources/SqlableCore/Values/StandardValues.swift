extension FixedWidthInteger where Self: SqlValue {
  public static var columnType: ColumnType { .integer }

  @inlinable
  public var databaseValue: DatabaseValue {
    get throws { .integer(try stored()) }
  }

  public init(databaseValue: DatabaseValue) throws {
    guard case .integer(let integer) = databaseValue else {
      throw SqlError.decoding(expected: "INTEGER", found: "\(databaseValue.storageClass)")
    }
    self = try Self.checked(integer)
  }

  @inlinable
  public func write(to cell: inout WriteCell) throws { cell.set(try stored()) }

  @inlinable
  public static func read(from cell: ReadCell) throws -> Self { try checked(cell.integer()) }

  @inlinable
  func stored() throws -> Int64 {
    guard let integer = Int64(exactly: self) else {
      throw SqlError.encoding(expected: "a 64-bit signed integer", found: "a larger \(Self.self)")
    }
    return integer
  }

  @inlinable
  static func checked(_ integer: Int64) throws -> Self {
    guard let exact = Self(exactly: integer) else {
      throw SqlError.decoding(expected: "\(Self.self)", found: "an INTEGER out of range")
    }
    return exact
  }
}

extension Int: SqlValue {}
extension Int8: SqlValue {}
extension Int16: SqlValue {}
extension Int32: SqlValue {}
extension Int64: SqlValue {}
extension UInt: SqlValue {}
extension UInt8: SqlValue {}
extension UInt16: SqlValue {}
extension UInt32: SqlValue {}
extension UInt64: SqlValue {}

extension Bool: SqlValue {
  public static var columnType: ColumnType { .boolean }

  @inlinable
  public var databaseValue: DatabaseValue { .integer(self ? 1 : 0) }

  public init(databaseValue: DatabaseValue) throws {
    self = try Bool(checking: Int64(databaseValue: databaseValue))
  }

  @inlinable
  public func write(to cell: inout WriteCell) throws { cell.set(self ? 1 : 0 as Int64) }

  @inlinable
  public static func read(from cell: ReadCell) throws -> Bool { try Bool(checking: cell.integer()) }

  @inlinable
  init(checking integer: Int64) throws {
    guard integer == 0 || integer == 1 else {
      throw SqlError.decoding(expected: "INTEGER 0 or 1", found: "another INTEGER")
    }
    self = integer == 1
  }
}

/// Binding NaN throws. SQLite stores whole numbers in a REAL column as integers, so a negative zero is read back as
/// zero.
extension Double: SqlValue {
  public static var columnType: ColumnType { .real }

  @inlinable
  public var databaseValue: DatabaseValue {
    get throws {
      guard !isNaN else { throw SqlError.encoding(expected: "REAL", found: "NaN, which SQLite can't store") }
      return .real(self)
    }
  }

  public init(databaseValue: DatabaseValue) throws {
    switch databaseValue {
    case .real(let real): self = real
    case .integer(let integer):
      guard let exact = Double(exactly: integer) else {
        throw SqlError.decoding(expected: "REAL", found: "an INTEGER that a Double can't represent exactly")
      }
      self = exact
    default: throw SqlError.decoding(expected: "REAL", found: "\(databaseValue.storageClass)")
    }
  }

  @inlinable
  public func write(to cell: inout WriteCell) throws { try cell.set(self) }

  @inlinable
  public static func read(from cell: ReadCell) throws -> Double { try cell.real() }
}

/// Stored as a `Double`, and read by rounding to the nearest `Float`. Reading a number outside the range of `Float`
/// throws.
extension Float: SqlValue {
  public static var columnType: ColumnType { .real }

  @inlinable
  public var databaseValue: DatabaseValue {
    get throws { try Double(self).databaseValue }
  }

  public init(databaseValue: DatabaseValue) throws {
    self = try Float(checking: Double(databaseValue: databaseValue))
  }

  @inlinable
  public func write(to cell: inout WriteCell) throws { try cell.set(Double(self)) }

  @inlinable
  public static func read(from cell: ReadCell) throws -> Float { try Float(checking: cell.real()) }

  @inlinable
  init(checking real: Double) throws {
    self = Float(real)
    guard isFinite == real.isFinite else {
      throw SqlError.decoding(expected: "Float", found: "a REAL out of range")
    }
  }
}

extension String: SqlValue {
  public static var columnType: ColumnType { .text }

  @inlinable
  public var databaseValue: DatabaseValue { .text(self) }

  public init(databaseValue: DatabaseValue) throws {
    guard case .text(let text) = databaseValue else {
      throw SqlError.decoding(expected: "TEXT", found: "\(databaseValue.storageClass)")
    }
    self = text
  }

  @inlinable
  public func write(to cell: inout WriteCell) throws { cell.set(self) }

  @inlinable
  public static func read(from cell: ReadCell) throws -> String { try cell.text() }
}

/// An enum with raw values is stored as its raw value. Reading an unknown raw value throws.
extension SqlValue where Self: RawRepresentable, RawValue: SqlValue {
  public static var columnType: ColumnType { RawValue.columnType }

  @inlinable
  public var databaseValue: DatabaseValue {
    get throws { try rawValue.databaseValue }
  }

  public init(databaseValue: DatabaseValue) throws {
    self = try Self(checking: RawValue(databaseValue: databaseValue))
  }

  @inlinable
  public func databaseValue(in type: ColumnType) throws -> DatabaseValue { try rawValue.databaseValue(in: type) }

  @inlinable
  public func write(to cell: inout WriteCell) throws { try rawValue.write(to: &cell) }

  @inlinable
  public static func read(from cell: ReadCell) throws -> Self { try Self(checking: RawValue.read(from: cell)) }

  @inlinable
  init(checking rawValue: RawValue) throws {
    guard let value = Self(rawValue: rawValue) else {
      throw SqlError.decoding(expected: "a raw value of \(Self.self)", found: "an unknown raw value")
    }
    self = value
  }
}
