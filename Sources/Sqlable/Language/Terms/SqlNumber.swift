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

extension Int: SqlInteger {}
extension Int8: SqlInteger {
  public typealias Sum = Int
}
extension Int16: SqlInteger {
  public typealias Sum = Int
}
extension Int32: SqlInteger {
  public typealias Sum = Int
}
extension Int64: SqlInteger {
  public typealias Sum = Int
}
extension UInt: SqlInteger {
  public typealias Sum = Int
}
extension UInt8: SqlInteger {
  public typealias Sum = Int
}
extension UInt16: SqlInteger {
  public typealias Sum = Int
}
extension UInt32: SqlInteger {
  public typealias Sum = Int
}
extension UInt64: SqlInteger {
  public typealias Sum = Int
}
extension Optional: SqlInteger where Wrapped: SqlInteger {}

/// A decimal or optional decimal. Arithmetic that keeps the scale of its column is exact; any other throws.
public protocol SqlDecimal: SqlNumber {}

extension Decimal: SqlDecimal {}
extension Optional: SqlDecimal where Wrapped: SqlDecimal {}
