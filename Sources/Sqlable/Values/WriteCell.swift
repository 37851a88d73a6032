import FoundationEssentials

/// One value on its way into a row or statement.
///
/// It is valid during the call that it is handed to only. What is set later is lost, and what is set while a statement of
/// the same handle runs inside that call makes the row throw `.misuse`.
public struct WriteCell {
  @usableFromInline let buffer: ParameterBuffer
  @usableFromInline let scope: UInt64
  @usableFromInline var parameter = Parameter.unset
  /// Whether a value was set in the scope of another statement.
  @usableFromInline var isStale = false
  /// The type of the column that the value is written to.
  public let type: ColumnType

  @inlinable
  init(buffer: ParameterBuffer, scope: UInt64, type: ColumnType) {
    self.buffer = buffer
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
    if isCurrent() { parameter = buffer.text(text) }
  }

  @inlinable
  public mutating func set(_ blob: Data) {
    if isCurrent() { parameter = buffer.blob(blob) }
  }

  /// Sets the bytes of a blob, which are copied.
  @inlinable
  public mutating func set(blob bytes: UnsafeBufferPointer<UInt8>) {
    if isCurrent() { parameter = .blob(buffer.copy(bytes), bytes.count) }
  }

  /// Sets a value of any class. Throws for NaN.
  public mutating func set(_ storage: SqlStorage) throws {
    let storage = try storage.checked()
    if isCurrent() { parameter = buffer.parameter(for: storage) }
  }

  /// Whether the bytes of a value, which go into the buffer, will be there when the row is written.
  @inlinable
  mutating func isCurrent() -> Bool {
    if buffer.scope.pointee != scope { isStale = true }
    return !isStale
  }
}
