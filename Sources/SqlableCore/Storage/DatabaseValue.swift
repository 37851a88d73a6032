import FoundationEssentials

/// A value as SQLite stores it, in one of its five storage classes.
///
/// Values are equal if their storage classes and contents are equal. Text is compared byte by byte. So `.integer(1)` is
/// not `.real(1)`, and "é" as one code point is not "é" as two code points.
public enum DatabaseValue: Sendable {
  case null
  case integer(Int64)
  case real(Double)
  case text(String)
  case blob(Data)

  /// The storage class of the value.
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

extension DatabaseValue {
  /// Returns the value. Throws `.encoding` for NaN, which SQLite would silently store as NULL.
  package func checked() throws -> DatabaseValue {
    if case .real(let real) = self, real.isNaN {
      throw SqlError.encoding(expected: "REAL", found: "NaN, which SQLite can't store")
    }
    return self
  }
}

extension DatabaseValue: Hashable {
  // Not inlined: the comparison of `Data` would be copied into each comparison of rows.
  @inline(never)
  public static func == (left: DatabaseValue, right: DatabaseValue) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.integer(let left), .integer(let right)): left == right
    case (.real(let left), .real(let right)): left == right
    case (.text(let left), .text(let right)): left.isExactly(right)
    case (.blob(let left), .blob(let right)): left == right
    default: false
    }
  }

  @inline(never)
  public func hash(into hasher: inout Hasher) {
    hasher.combine(storageClass)
    switch self {
    case .null: break
    case .integer(let integer): hasher.combine(integer)
    case .real(let real): hasher.combine(real)
    // `==` compares the bytes of texts. Hashing the characters is valid, because texts with equal bytes have equal
    // characters.
    case .text(let text): hasher.combine(text)
    case .blob(let data): hasher.combine(data)
    }
  }
}

/// Encoded as `{"integer":3}`, `{"text":"red"}`, `{"blob":"AQI="}` or `{"null":true}`. JSON has no infinity, so
/// infinity is encoded as `{"real":"inf"}`. Encoding NaN throws `.encoding`, as binding NaN does.
extension DatabaseValue: Codable {
  private enum Key: String, CodingKey {
    case null, integer, real, text, blob
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    switch try checked() {
    case .null: try container.encode(true, forKey: .null)
    case .integer(let integer): try container.encode(integer, forKey: .integer)
    case .real(let real):
      if real.isFinite {
        try container.encode(real, forKey: .real)
      } else {
        try container.encode("\(real)", forKey: .real)
      }
    case .text(let text): try container.encode(text, forKey: .text)
    case .blob(let data): try container.encode(data, forKey: .blob)
    }
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    guard try decoder.container(keyedBy: AnyKey.self).allKeys.count == 1, let key = container.allKeys.first else {
      throw DecodingError.dataCorrupted(
        .init(
          codingPath: container.codingPath,
          debugDescription: "a value must have exactly one key: null, integer, real, text or blob"))
    }
    switch key {
    case .null: self = .null
    case .integer: self = .integer(try container.decode(Int64.self, forKey: key))
    case .real:
      switch try? container.decode(String.self, forKey: key) {
      case "inf": self = .real(.infinity)
      case "-inf": self = .real(-.infinity)
      default: self = try DatabaseValue.real(container.decode(Double.self, forKey: key)).checked()
      }
    case .text: self = .text(try container.decode(String.self, forKey: key))
    case .blob: self = .blob(try container.decode(Data.self, forKey: key))
    }
  }
}

/// SQLite's five storage classes. The raw values are SQLite's type codes.
public enum StorageClass: Int32, Sendable, Hashable, Codable, CustomStringConvertible {
  case integer = 1
  case real = 2
  case text = 3
  case blob = 4
  case null = 5

  /// The name that SQLite's `typeof()` returns, in upper case.
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
