import FoundationEssentials

/// Text or optional text, which supports the text functions. Enums with text raw values and other custom types that are
/// stored as text can conform.
public protocol SqlText: SqlValue {
  associatedtype Count: SqlValue = Int
}

extension String: SqlText {}
extension URL: SqlText {}

extension Optional: SqlText where Wrapped: SqlText {
  public typealias Count = Int?
}
