extension FixedWidthInteger where Self: SqlValue {
  public static var columnType: ColumnType { .integer }

  @inlinable
  public var sqlStorage: SqlStorage {
    get throws { .integer(try stored()) }
  }

  public init(sqlStorage: SqlStorage) throws {
    guard case .integer(let integer) = sqlStorage else {
      throw SqlError.decoding(expected: "INTEGER", found: "\(sqlStorage.storageClass)")
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
      throw SqlError.encoding(expected: "a 64-bit signed integer", found: "a \(Self.self) that is larger")
    }
    return integer
  }

  @inlinable
  static func checked(_ integer: Int64) throws -> Self {
    guard let exact = Self(exactly: integer) else {
      throw SqlError.decoding(expected: "\(Self.self)", found: "an INTEGER out of its range")
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
  public var sqlStorage: SqlStorage { .integer(self ? 1 : 0) }

  public init(sqlStorage: SqlStorage) throws {
    self = try Bool(checking: Int64(sqlStorage: sqlStorage))
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

/// NaN is refused. SQLite keeps whole numbers of a REAL column as integers, so a negative zero comes back as zero.
extension Double: SqlValue {
  public static var columnType: ColumnType { .real }

  @inlinable
  public var sqlStorage: SqlStorage {
    get throws {
      guard !isNaN else { throw SqlError.encoding(expected: "REAL", found: "NaN, which SQLite can't store") }
      return .real(self)
    }
  }

  public init(sqlStorage: SqlStorage) throws {
    switch sqlStorage {
    case .real(let real): self = real
    case .integer(let integer):
      guard let exact = Double(exactly: integer) else {
        throw SqlError.decoding(expected: "REAL", found: "an INTEGER that no Double holds exactly")
      }
      self = exact
    default: throw SqlError.decoding(expected: "REAL", found: "\(sqlStorage.storageClass)")
    }
  }

  @inlinable
  public func write(to cell: inout WriteCell) throws { try cell.set(self) }

  @inlinable
  public static func read(from cell: ReadCell) throws -> Double { try cell.real() }
}

/// Stored as the `Double` of the same value; read rounded to the nearest `Float`. A number beyond its range throws.
extension Float: SqlValue {
  public static var columnType: ColumnType { .real }

  @inlinable
  public var sqlStorage: SqlStorage {
    get throws { try Double(self).sqlStorage }
  }

  public init(sqlStorage: SqlStorage) throws {
    self = try Float(checking: Double(sqlStorage: sqlStorage))
  }

  @inlinable
  public func write(to cell: inout WriteCell) throws { try cell.set(Double(self)) }

  @inlinable
  public static func read(from cell: ReadCell) throws -> Float { try Float(checking: cell.real()) }

  @inlinable
  init(checking real: Double) throws {
    self = Float(real)
    guard isFinite == real.isFinite else {
      throw SqlError.decoding(expected: "Float", found: "a REAL out of its range")
    }
  }
}

extension String: SqlValue {
  public static var columnType: ColumnType { .text }

  @inlinable
  public var sqlStorage: SqlStorage { .text(self) }

  public init(sqlStorage: SqlStorage) throws {
    guard case .text(let text) = sqlStorage else {
      throw SqlError.decoding(expected: "TEXT", found: "\(sqlStorage.storageClass)")
    }
    self = text
  }

  @inlinable
  public func write(to cell: inout WriteCell) throws { cell.set(self) }

  @inlinable
  public static func read(from cell: ReadCell) throws -> String { try cell.text() }
}

/// An enum with raw values is stored as its raw value; an unknown raw value throws.
extension SqlValue where Self: RawRepresentable, RawValue: SqlValue {
  public static var columnType: ColumnType { RawValue.columnType }

  @inlinable
  public var sqlStorage: SqlStorage {
    get throws { try rawValue.sqlStorage }
  }

  public init(sqlStorage: SqlStorage) throws {
    self = try Self(checking: RawValue(sqlStorage: sqlStorage))
  }

  @inlinable
  public func sqlStorage(in type: ColumnType) throws -> SqlStorage { try rawValue.sqlStorage(in: type) }

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
