import FoundationEssentials

/// Stored as a BLOB; empty data is an empty BLOB, not NULL.
extension Data: SqlValue {
  public static var columnType: ColumnType { .blob }

  public var databaseValue: DatabaseValue { .blob(self) }

  public init(databaseValue: DatabaseValue) throws {
    guard case .blob(let data) = databaseValue else {
      throw SqlError.decoding(expected: "BLOB", found: "\(databaseValue.storageClass)")
    }
    self = data
  }

  @inlinable
  public func write(to cell: inout WriteCell) throws { cell.set(self) }

  @inlinable
  public static func read(from cell: ReadCell) throws -> Data { try cell.blob() }
}

/// Stored as a BLOB of 16 bytes, or as `uuidString` in a `.text` column; read from either form.
///
/// Text is read in lower case too, but SQLite compares texts: filters find only `uuidString`, which is in upper case.
extension UUID: SqlValue {
  public static var columnType: ColumnType { .blob }

  public var databaseValue: DatabaseValue { .blob(withUnsafeBytes(of: uuid) { Data($0) }) }

  public func databaseValue(in type: ColumnType) throws -> DatabaseValue {
    type.storageClass == .text ? .text(uuidString) : databaseValue
  }

  public init(databaseValue: DatabaseValue) throws {
    switch databaseValue {
    case .blob(let data): self = try data.withUnsafeBytes { try UUID(checking: $0) }
    case .text(let text):
      guard let uuid = UUID(uuidString: text) else {
        throw SqlError.decoding(expected: "a UUID", found: "TEXT in another format")
      }
      self = uuid
    default: throw SqlError.decoding(expected: "a UUID as BLOB or TEXT", found: "\(databaseValue.storageClass)")
    }
  }

  public func write(to cell: inout WriteCell) throws {
    if cell.type.storageClass == .text {
      cell.set(uuidString)
    } else {
      withUnsafeBytes(of: uuid) { cell.set(blob: $0.bindMemory(to: UInt8.self)) }
    }
  }

  public static func read(from cell: ReadCell) throws -> UUID {
    if cell.storageClass == .blob { return try cell.withBlob { try UUID(checking: $0) } }
    return try UUID(databaseValue: cell.databaseValue())
  }

  private init(checking bytes: UnsafeRawBufferPointer) throws {
    guard bytes.count == 16 else {
      throw SqlError.decoding(expected: "a BLOB of 16 bytes", found: "a BLOB of another length")
    }
    self.init(uuid: bytes.loadUnaligned(as: uuid_t.self))
  }
}

/// Stored as the absolute string; a relative URL is read back as the absolute one.
///
/// Text that Foundation would normalize, for example by escaping a space or rewriting the host, throws: writing it back
/// would change the row.
extension URL: SqlValue {
  public static var columnType: ColumnType { .text }

  public var databaseValue: DatabaseValue { .text(absoluteString) }

  public init(databaseValue: DatabaseValue) throws {
    let text = try String(databaseValue: databaseValue)
    guard let url = URL(string: text) else {
      throw SqlError.decoding(expected: "a URL", found: "TEXT that is not a URL")
    }
    guard url.absoluteString.isExactly(text) else {
      throw SqlError.decoding(expected: "a URL", found: "TEXT that is not a normalized URL")
    }
    self = url
  }
}

/// Stored as text, so that no digit is lost. Text order is not numeric order: store amounts to compare as integers.
extension Decimal: SqlValue {
  public static var columnType: ColumnType { .text }

  public var databaseValue: DatabaseValue {
    get throws {
      guard !isNaN else { throw SqlError.encoding(expected: "a decimal number", found: "NaN") }
      return .text(description)
    }
  }

  public init(databaseValue: DatabaseValue) throws {
    switch databaseValue {
    case .text(let text):
      // Decimal(string:) stops at the first invalid character and drops digits beyond the 38th.
      guard let canonical = Decimal.canonical(text), let decimal = Decimal(string: canonical),
        decimal.description == canonical
      else {
        throw SqlError.decoding(expected: "a decimal number", found: "TEXT that is not one, or has too many digits")
      }
      self = decimal
    case .integer(let integer): self = Decimal(integer)
    default: throw SqlError.decoding(expected: "a decimal number", found: "\(databaseValue.storageClass)")
    }
  }

  /// A bound on a decimal's digits without redundant zeros: at most 166 before the point, or 128 after it.
  private static let maximumCount = 200

  /// Returns the text in the form of `description`: no plus sign, no redundant zeros. Returns nil if it is not a
  /// decimal number, or has more digits than one can have: Decimal(string:) would take quadratic time for it.
  private static func canonical(_ text: String) -> String? {
    let (zero, point) = (UInt8(ascii: "0"), UInt8(ascii: "."))
    var digits = text.utf8[...]
    let isNegative = digits.first == UInt8(ascii: "-")
    if isNegative || digits.first == UInt8(ascii: "+") { digits = digits.dropFirst() }
    guard digits.contains(where: { $0 != point }), digits.allSatisfy({ (48...57).contains($0) || $0 == point })
    else { return nil }
    let whole = digits.prefix { $0 != point }
    var fraction = digits.dropFirst(whole.count + 1)
    guard !fraction.contains(point) else { return nil }
    while fraction.last == zero { fraction = fraction.dropLast() }
    let integer = whole.drop { $0 == zero }
    guard integer.count + fraction.count <= maximumCount else { return nil }
    var number = integer.isEmpty ? "0" : String(Substring(integer))
    if !fraction.isEmpty { number += "." + String(Substring(fraction)) }
    return isNegative && number != "0" ? "-" + number : number
  }
}

extension ReadCell {
  /// Calls `body` with the bytes of a BLOB without copying them. They are valid only during the call.
  func withBlob<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) throws -> Result {
    try body(blobBytes)
  }
}
