import FoundationEssentials

/// What SQLite stores: one of its five storage classes.
///
/// The enum is closed, `Codable` and compares by class and content: `.integer(1) != .real(1)`.
public enum SqlStorage: Sendable, Hashable, Codable {
  case null
  case integer(Int64)
  case real(Double)
  case text(String)
  case blob(Data)

  /// The storage class without its content.
  public var storageClass: StorageClass {
    switch self {
    case .null: .null
    case .integer: .integer
    case .real: .real
    case .text: .text
    case .blob: .blob
    }
  }
}

extension SqlStorage {
  /// The value, unless SQLite would store something else: it makes NULL of NaN without a word.
  func checked() throws -> SqlStorage {
    if case .real(let real) = self, real.isNaN {
      throw SqlError.encoding(expected: "REAL", found: "NaN, which SQLite can't store")
    }
    return self
  }
}

/// SQLite's five storage classes; the raw values are SQLite's own type codes.
public enum StorageClass: Int32, Sendable, Hashable, Codable, CustomStringConvertible {
  case integer = 1
  case real = 2
  case text = 3
  case blob = 4
  case null = 5

  /// The name that SQLite's `typeof()` gives, in capitals.
  public var description: String {
    switch self {
    case .integer: "INTEGER"
    case .real: "REAL"
    case .text: "TEXT"
    case .blob: "BLOB"
    case .null: "NULL"
    }
  }
}
