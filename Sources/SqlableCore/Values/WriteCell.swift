import FoundationEssentials

/// The destination of one value in a row or statement.
///
/// It is valid only during the call that receives it. A value set later is lost; one set while another statement of the
/// same handle runs inside the call makes the row throw `.misuse`.
public struct WriteCell {
  @usableFromInline let bytes: UnsafeMutablePointer<ParameterBytes>
  @usableFromInline let scope: UInt64
  @usableFromInline var parameter = BoundValue.unset
  /// True if a value was set while another statement's scope was current.
  @usableFromInline var isStale = false
  /// True if the value was converted to the form of the column, so that an integer is a decimal's number of units.
  @usableFromInline var isConverted = false
  /// True if it is a value that a row of the column holds, which may be of any storage class.
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

  /// Sets a decimal in a column of its scale.
  mutating func set(units: Int64) {
    parameter = .integer(units)
    isConverted = true
  }

  /// True if the column stores the value.
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
    if isCurrent() { parameter = bytes.pointee.text(text) }
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

  /// Sets a value of any storage class. Throws `.encoding` for NaN.
  public mutating func set(_ storage: DatabaseValue) throws {
    let storage = try storage.checked()
    isConverted = true
    if isCurrent() { parameter = bytes.pointee.parameter(for: storage) }
  }

  /// Sets a value as a row of the column holds it, of any storage class, for a struct that is written back unchanged:
  /// other programs store text in an INTEGER column, which SQLite allows outside of STRICT tables.
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

  /// Sets a text as a row holds it, by its bytes, which need not be valid UTF-8; see ``ReadCell/textBytes()``.
  ///
  /// The column's type is not checked.
  public mutating func set(storedText bytes: some Collection<UInt8>) {
    isHeld = true
    guard isCurrent() else { return }
    let copied = bytes.withContiguousStorageIfAvailable { BoundValue.text(self.bytes.pointee.copy($0), $0.count) }
    parameter =
      copied ?? Array(bytes).withUnsafeBufferPointer { BoundValue.text(self.bytes.pointee.copy($0), $0.count) }
  }

  /// True if the buffer still keeps bytes for this cell until the row is written; notes it if not.
  @inlinable
  mutating func isCurrent() -> Bool {
    guard bytes.pointee.isCurrent(scope) else {
      isStale = true
      return false
    }
    return true
  }
}
