import FoundationEssentials

/// Stored as a BLOB. Empty data is stored as an empty BLOB, not as NULL.
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

/// Stored as a BLOB of 16 bytes, or as `uuidString` in a `.text` column. Reading accepts both forms.
///
/// Reading accepts lowercase text too. SQLite compares text by bytes, so filters find only the uppercase `uuidString`.
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
      throw SqlError.decoding(expected: "a UUID as a BLOB of 16 bytes", found: "a BLOB of another length")
    }
    self.init(uuid: bytes.loadUnaligned(as: uuid_t.self))
  }
}

/// Stored as the absolute string. A relative URL is read back as an absolute URL.
///
/// Reading throws for text that Foundation would normalize, for example by escaping a space or rewriting the host.
/// Writing such a URL back would change the row.
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

extension ReadCell {
  /// Calls `body` with the bytes of a BLOB without copying the bytes. The bytes are valid only during the call.
  func withBlob<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) throws -> Result {
    try body(blobBytes)
  }
}
