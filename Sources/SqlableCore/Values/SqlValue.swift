import FoundationEssentials

/// A type whose values can be stored in a column.
///
/// All integers, `Bool`, `Float`, `Double`, `String`, `Data`, `Date`, `UUID`, `URL`, `Decimal` and ``Null`` conform.
/// Optionals of these types conform too, and arrays, sets and dictionaries of `Codable` values (as JSON). An enum with
/// raw values only declares the conformance:
///
/// ```swift
/// enum Gender: Int, SqlValue { case female, male, other }      // INTEGER
/// ```
///
/// Any other type declares a column type and implements the conversions, which throw if a value does not fit:
///
/// ```swift
/// struct Celsius: SqlValue {
///   var degrees: Double
///   static let columnType = ColumnType.real
///   var databaseValue: DatabaseValue { get throws { .real(degrees) } }
///   init(databaseValue: DatabaseValue) throws { degrees = try Double(databaseValue: databaseValue) }
/// }
/// ```
public protocol SqlValue: SelectOutput, Sendable {
  /// The column type for a declaration that names no type.
  static var columnType: ColumnType { get }

  /// The value as SQLite stores it. Throws if SQLite can't store the value. If an implementation returns NaN, binding
  /// or storing the value throws `.encoding`.
  var databaseValue: DatabaseValue { get throws }

  /// Creates a value from a stored value. Throws if the stored value does not fit the type. NULL fits only an optional.
  init(databaseValue: DatabaseValue) throws

  /// Returns the value as a column of this type stores it. The default implementation returns `databaseValue`, and
  /// throws for an integer in a decimal column. A `Date`, for example, returns a number or a text, depending on the
  /// column.
  func databaseValue(in type: ColumnType) throws -> DatabaseValue

  /// Writes the value to a cell of a row or statement: a faster alternative to `databaseValue(in:)`.
  func write(to cell: inout WriteCell) throws

  /// Reads a value from a cell of a row: a faster alternative to `init(databaseValue:)`.
  static func read(from cell: ReadCell) throws -> Self
}

extension SqlValue {
  @inlinable
  public func databaseValue(in type: ColumnType) throws -> DatabaseValue { try type.refusingUnits(databaseValue) }

  @inlinable
  public func write(to cell: inout WriteCell) throws {
    try cell.set(databaseValue(in: cell.type))
  }

  @inlinable
  public static func read(from cell: ReadCell) throws -> Self {
    try Self(databaseValue: cell.databaseValue())
  }
}

/// NULL as a value. `Null()` stores NULL, and `nil` omits the column; see ``Sqlable/Sqlable/valueForColumn(_:)``.
public struct Null: SqlValue, Sendable, Hashable, Codable {
  public init() {}

  public static var columnType: ColumnType { .nullable(.blob) }
  public var databaseValue: DatabaseValue { .null }

  public init(databaseValue: DatabaseValue) throws {
    guard databaseValue == .null else {
      throw SqlError.decoding(expected: "NULL", found: "\(databaseValue.storageClass)")
    }
  }
}

extension Optional: SqlValue where Wrapped: SqlValue {
  public static var columnType: ColumnType { .nullable(Wrapped.columnType) }

  @inlinable
  public var databaseValue: DatabaseValue {
    get throws { try self?.databaseValue ?? .null }
  }

  public init(databaseValue: DatabaseValue) throws {
    self = databaseValue == .null ? nil : try Wrapped(databaseValue: databaseValue)
  }

  @inlinable
  public func databaseValue(in type: ColumnType) throws -> DatabaseValue {
    try self?.databaseValue(in: type) ?? .null
  }

  @inlinable
  public func write(to cell: inout WriteCell) throws {
    if let self { try self.write(to: &cell) } else { cell.setNull() }
  }

  @inlinable
  public static func read(from cell: ReadCell) throws -> Self {
    cell.isNull ? nil : try Wrapped.read(from: cell)
  }

  /// The value, or ``Null`` to store NULL; `nil` would omit the column.
  ///
  /// ```swift
  /// case Bicycle.ownerId: return ownerId.orNull
  /// ```
  public var orNull: any SqlValue {
    if let self { return self }
    return Null()
  }
}
