import FoundationEssentials

/// One value on its way into a row or statement.
///
/// It is valid during the call that it is handed to only. What is set later is lost, and what is set while a statement of
/// the same handle runs inside that call makes the row throw `.misuse`.
public struct WriteCell {
  @usableFromInline let bytes: UnsafeMutablePointer<ParameterBytes>
  @usableFromInline let scope: UInt64
  @usableFromInline var parameter = BoundValue.unset
  /// Whether a value was set in the scope of another statement.
  @usableFromInline var isStale = false
  /// The type of the column that the value is written to.
  public let type: ColumnType

  @inlinable
  init(bytes: UnsafeMutablePointer<ParameterBytes>, scope: UInt64, type: ColumnType) {
    self.bytes = bytes
    self.scope = scope
    self.type = type
  }

  @inlinable
  public mutating func setNull() { parameter = .null }

  @inlinable
  public mutating func set(_ integer: Int64) { parameter = .integer(integer) }

  /// Sets a number. Throws for NaN, which SQLite would silently store as NULL.
  @inlinable
  public mutating func set(_ real: Double) throws {
    guard !real.isNaN else { throw SqlError.encoding(expected: "REAL", found: "NaN, which SQLite can't store") }
    parameter = .real(real)
  }

  @inlinable
  public mutating func set(_ text: String) {
    if isCurrent() { parameter = bytes.pointee.text(text) }
  }

  @inlinable
  public mutating func set(_ blob: Data) {
    if isCurrent() { parameter = bytes.pointee.blob(blob) }
  }

  /// Sets the bytes of a blob, which are copied.
  @inlinable
  public mutating func set(blob bytes: UnsafeBufferPointer<UInt8>) {
    if isCurrent() { parameter = .blob(self.bytes.pointee.copy(bytes), bytes.count) }
  }

  /// Sets a value of any class. Throws for NaN.
  public mutating func set(_ storage: DatabaseValue) throws {
    let storage = try storage.checked()
    if isCurrent() { parameter = bytes.pointee.parameter(for: storage) }
  }

  /// Whether the bytes of a value will be there when the row is written.
  @inlinable
  mutating func isCurrent() -> Bool {
    guard bytes.pointee.isCurrent(scope) else {
      isStale = true
      return false
    }
    return true
  }
}
