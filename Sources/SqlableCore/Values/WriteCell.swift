import FoundationEssentials

/// The destination of one value in a row or statement.
///
/// A cell is valid only during the call of `write(to:)` that receives the cell. A value that is set later is lost.
/// Don't run statements on the same handle inside the call: if a value is then set, the write throws `.misuse`.
public struct WriteCell {
  @usableFromInline let bytes: UnsafeMutablePointer<ParameterBytes>
  @usableFromInline let scope: UInt64
  @usableFromInline var parameter = BoundValue.unset
  /// True if a value was set while another statement's scope was current.
  @usableFromInline var isStale = false
  /// True if the value was converted to the value that the column stores. A decimal column with two decimal places
  /// stores 12.34 as the integer 1234.
  @usableFromInline var isConverted = false
  /// True if the value was read from the same column of a row. Such a value can have any storage class.
  @usableFromInline var isHeld = false
  /// The type of the column that receives the value.
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

  /// Sets the integer that a decimal column stores: 1234 units for 12.34 in a column of scale 2.
  mutating func set(units: Int64) {
    parameter = .integer(units)
    isConverted = true
  }

  @usableFromInline
  var isStored: Bool {
    isHeld || type.stores(parameter) && (isConverted || !parameter.isInteger || type.scale == nil)
  }

  /// Sets a REAL. Throws `.encoding` for NaN, which SQLite would silently store as NULL.
  @inlinable
  public mutating func set(_ real: Double) throws {
    guard !real.isNaN else { throw SqlError.encoding(expected: "REAL", found: "NaN, which SQLite can't store") }
    parameter = .real(real)
  }

  @inlinable
  public mutating func set(_ text: String) {
    guard isCurrent() else { return }
    let (start, count) = bytes.pointee.copy(text)
    parameter = .text(start, count)
  }

  @inlinable
  public mutating func set(_ blob: Data) {
    if isCurrent() { parameter = bytes.pointee.blob(blob) }
  }

  /// Sets a BLOB. The bytes are copied.
  @inlinable
  public mutating func set(blob bytes: UnsafeBufferPointer<UInt8>) {
    if isCurrent() { parameter = .blob(self.bytes.pointee.copy(bytes), bytes.count) }
  }

  /// Sets a text that was converted from a date. Copies the bytes.
  mutating func set(converted text: UnsafeBufferPointer<UInt8>) {
    isConverted = true
    if isCurrent() { parameter = .text(bytes.pointee.copy(text), text.count) }
  }

  /// Sets a value of any storage class. Throws `.encoding` for NaN.
  public mutating func set(_ storage: DatabaseValue) throws {
    let storage = try storage.checked()
    isConverted = true
    if isCurrent() { parameter = bytes.pointee.parameter(for: storage) }
  }

  /// Sets a value of any storage class that was read from a row, so that a struct can be written back unchanged. Other
  /// programs can store text in an INTEGER column, which SQLite allows outside STRICT tables.
  ///
  /// ```swift
  /// struct Anything: SqlValue {
  ///   var databaseValue: DatabaseValue
  ///   static var columnType: ColumnType { .blob }
  ///   func write(to cell: inout WriteCell) throws { try cell.set(stored: databaseValue) }
  /// }
  /// ```
  ///
  /// The column's type is not checked. Throws `.encoding` for NaN.
  public mutating func set(stored value: DatabaseValue) throws {
    try set(value)
    isHeld = true
  }

  /// Sets a text that was read from a row. The bytes can be invalid UTF-8; see ``ReadCell/textBytes()``.
  ///
  /// The column's type is not checked.
  public mutating func set(storedText bytes: some Collection<UInt8>) {
    isHeld = true
    guard isCurrent() else { return }
    let copied = bytes.withContiguousStorageIfAvailable { BoundValue.text(self.bytes.pointee.copy($0), $0.count) }
    parameter =
      copied ?? Array(bytes).withUnsafeBufferPointer { BoundValue.text(self.bytes.pointee.copy($0), $0.count) }
  }

  /// Returns true if the buffer still stores bytes for this cell. Otherwise marks the cell as stale and returns false.
  @inlinable
  mutating func isCurrent() -> Bool {
    guard bytes.pointee.isCurrent(scope) else {
      isStale = true
      return false
    }
    return true
  }
}
