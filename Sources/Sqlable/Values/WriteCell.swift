import FoundationEssentials

/// One value on its way into a row or statement.
public struct WriteCell {
  @usableFromInline let buffer: ParameterBuffer
  @usableFromInline var parameter = Parameter.unset
  /// The type of the column that the value is written to.
  public let type: ColumnType

  @inlinable
  init(buffer: ParameterBuffer, type: ColumnType) {
    self.buffer = buffer
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
  public mutating func set(_ text: String) { parameter = buffer.text(text) }

  @inlinable
  public mutating func set(_ blob: Data) { parameter = buffer.blob(blob) }

  /// Sets the bytes of a blob, which are copied.
  @inlinable
  public mutating func set(blob bytes: UnsafeBufferPointer<UInt8>) {
    parameter = .blob(buffer.copy(bytes), bytes.count)
  }

  /// Sets a value of any class. Throws for NaN.
  public mutating func set(_ storage: SqlStorage) throws { parameter = buffer.parameter(for: try storage.checked()) }
}
