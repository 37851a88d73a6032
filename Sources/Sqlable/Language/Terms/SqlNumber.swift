/// A number or optional number, to which arithmetic applies. Custom types that are stored as numbers may conform.
public protocol SqlNumber: SqlValue {}

extension Double: SqlNumber {}
extension Float: SqlNumber {}
extension Optional: SqlNumber where Wrapped: SqlNumber {}

/// An integer or optional integer, to which bitwise operations apply.
public protocol SqlInteger: SqlNumber {}

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
