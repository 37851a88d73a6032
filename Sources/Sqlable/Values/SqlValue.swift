import FoundationEssentials

/// Something that can stand in a column.
///
/// All integers, `Bool`, `Float`, `Double`, `String`, `Data`, `Date`, `UUID`, `URL`, `Decimal` and ``Null`` conform,
/// optionals of them, and arrays, sets and dictionaries of `Codable` values (as JSON). An enum with raw values conforms
/// in one word:
///
/// ```swift
/// enum Gender: Int, SqlValue { case female, male, other }      // INTEGER
/// ```
///
/// Any other type says which column it wants and converts itself, throwing what does not fit:
///
/// ```swift
/// struct Celsius: SqlValue {
///   var degrees: Double
///   static let columnType = ColumnType.real
///   var databaseValue: DatabaseValue { get throws { .real(degrees) } }
///   init(databaseValue: DatabaseValue) throws { degrees = try Double(databaseValue: databaseValue) }
/// }
/// ```
public protocol SqlValue: SelectOutput {
  /// The column that this type gets when none is declared.
  static var columnType: ColumnType { get }

  /// What is stored. Throws when the value has no stored form. A NaN is refused by whoever takes it.
  var databaseValue: DatabaseValue { get throws }

  /// The value of what was stored. Throws when it does not fit; NULL fits only an optional.
  init(databaseValue: DatabaseValue) throws

  /// What is stored in a column of a certain type; the same as `databaseValue` unless the type follows its column, as
  /// `Date` does.
  func databaseValue(in type: ColumnType) throws -> DatabaseValue

  /// Writes the value to a cell of a row or statement; a faster form of `databaseValue(in:)`.
  func write(to cell: inout WriteCell) throws

  /// Reads the value from a cell of a row; a faster form of `init(databaseValue:)`.
  static func read(from cell: ReadCell) throws -> Self
}

extension SqlValue {
  @inlinable
  public func databaseValue(in type: ColumnType) throws -> DatabaseValue { try databaseValue }

  @inlinable
  public func write(to cell: inout WriteCell) throws {
    try cell.set(databaseValue(in: cell.type))
  }

  @inlinable
  public static func read(from cell: ReadCell) throws -> Self {
    try Self(databaseValue: cell.databaseValue())
  }
}

/// NULL, to be stored as such; see ``Sqlable/Sqlable/valueForColumn(_:)``, where `nil` leaves the column out instead.
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

  /// The value, or ``Null`` to store NULL where `nil` would leave the column out.
  ///
  /// ```swift
  /// case Bicycle.ownerId: return ownerId.orNull
  /// ```
  public var orNull: any SqlValue {
    if let self { return self }
    return Null()
  }
}
