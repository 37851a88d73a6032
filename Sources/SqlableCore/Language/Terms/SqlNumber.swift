import FoundationEssentials

/// A number or optional number, which supports arithmetic. Custom types that are stored as numbers can conform.
public protocol SqlNumber: SqlValue {
  /// The type of a sum: `Int` for integers, because a sum can be too large for the integers' own type; `Double` for
  /// `Float`; otherwise the type itself.
  associatedtype Sum: SqlValue = Self
}

extension Double: SqlNumber {}
extension Float: SqlNumber {
  public typealias Sum = Double
}
/// Arithmetic with `Decimal` needs columns of the type `.decimal(scale:)`. Other columns store a `Decimal` as text.
extension Decimal: SqlNumber {}
extension Optional: SqlNumber where Wrapped: SqlNumber {
  public typealias Sum = Wrapped.Sum
}

/// An integer or optional integer, which supports bitwise operations.
public protocol SqlInteger: SqlNumber {}

extension SqlInteger where Self: FixedWidthInteger {
  public typealias Sum = Int
}

extension Int: SqlInteger {}
extension Int8: SqlInteger {}
extension Int16: SqlInteger {}
extension Int32: SqlInteger {}
extension Int64: SqlInteger {}
extension UInt: SqlInteger {}
extension UInt8: SqlInteger {}
extension UInt16: SqlInteger {}
extension UInt32: SqlInteger {}
extension UInt64: SqlInteger {}
extension Optional: SqlInteger where Wrapped: SqlInteger {}

/// A decimal or optional decimal. Arithmetic that keeps the column's scale is exact; any other arithmetic throws.
public protocol SqlDecimal: SqlNumber {}

extension Decimal: SqlDecimal {}
extension Optional: SqlDecimal where Wrapped: SqlDecimal {}
