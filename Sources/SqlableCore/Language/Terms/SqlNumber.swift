import FoundationEssentials

/// A number or optional number, to which arithmetic applies. Custom types that are stored as numbers may conform.
public protocol SqlNumber: SqlValue {
  /// The type of a sum of such numbers, which has room for more than one of them: `Int` for integers, `Double` for
  /// `Float`, otherwise the type itself.
  associatedtype Sum: SqlValue = Self
}

extension Double: SqlNumber {}
extension Float: SqlNumber {
  public typealias Sum = Double
}
/// Its arithmetic needs columns of the type `.decimal(scale:)`: others are text.
extension Decimal: SqlNumber {}
extension Optional: SqlNumber where Wrapped: SqlNumber {
  public typealias Sum = Wrapped.Sum
}

/// An integer or optional integer, to which bitwise operations apply.
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

/// A decimal or optional decimal. Arithmetic that keeps the scale of its column is exact; any other throws.
public protocol SqlDecimal: SqlNumber {}

extension Decimal: SqlDecimal {}
extension Optional: SqlDecimal where Wrapped: SqlDecimal {}
