import FoundationEssentials

/// A value while a statement is evaluated in memory. Text is bytes: a cast of a BLOB may make text that is not UTF-8.
enum MemoryValue {
  case null
  case integer(Int64)
  case real(Double)
  case text([UInt8])
  case blob([UInt8])

  init(_ value: DatabaseValue) {
    switch value {
    case .null: self = .null
    case .integer(let integer): self = .integer(integer)
    case .real(let real): self = MemoryValue(real)
    case .text(let text): self = .text(Array(text.utf8))
    case .blob(let data): self = .blob(Array(data))
    }
  }

  /// A REAL; NULL for NaN, which SQLite does not have.
  init(_ real: Double) { self = real.isNaN ? .null : .real(real) }

  init(_ text: String) { self = .text(Array(text.utf8)) }

  /// 1, 0 or NULL.
  init(_ truth: Bool?) { self = truth.map { .integer($0 ? 1 : 0) } ?? .null }

  /// The value as a row holds it. Throws `.decoding` for text that is not UTF-8.
  var databaseValue: DatabaseValue {
    get throws {
      switch self {
      case .null: return .null
      case .integer(let integer): return .integer(integer)
      case .real(let real): return .real(real)
      case .text(let bytes):
        guard let text = String(validating: bytes, as: UTF8.self) else {
          throw SqlError.decoding(expected: "TEXT", found: "TEXT that is not valid UTF-8")
        }
        return .text(text)
      case .blob(let bytes): return .blob(Data(bytes))
      }
    }
  }

  var isNull: Bool { if case .null = self { true } else { false } }

  var storageClass: StorageClass {
    switch self {
    case .null: .null
    case .integer: .integer
    case .real: .real
    case .text: .text
    case .blob: .blob
    }
  }

  /// True, false, or nil for NULL.
  var truth: Bool? {
    switch self {
    case .null: nil
    case .integer(let integer): integer != 0
    case .real(let real): real != 0
    case .text, .blob: realValue != 0
    }
  }

  /// The bytes of the value as text, which for a BLOB are its own; nil for NULL.
  var textBytes: [UInt8]? {
    switch self {
    case .null: nil
    case .integer(let integer): Array(String(integer).utf8)
    case .real(let real): Array(real.sqliteText.utf8)
    case .text(let bytes), .blob(let bytes): bytes
    }
  }

  /// The text up to its first NUL, where the functions that take C strings stop; nil for NULL.
  var cString: ArraySlice<UInt8>? { textBytes?.prefix { $0 != 0 } }

  // MARK: Numbers

  /// The number, which for text is the one that it begins with; 0 for NULL.
  var realValue: Double {
    switch self {
    case .null: 0
    case .integer(let integer): Double(integer)
    case .real(let real): real
    case .text(let bytes), .blob(let bytes): DecimalText(bytes).real
    }
  }

  /// The integer, which for text is the one that it begins with: `1e2` is 1. A REAL is truncated and clamped.
  var integerValue: Int64 {
    switch self {
    case .null: 0
    case .integer(let integer): integer
    case .real(let real): Int64(clamping: real)
    case .text(let bytes), .blob(let bytes): DecimalText.integer(bytes).value
    }
  }

  /// The number that arithmetic uses.
  var number: MemoryValue {
    switch self {
    case .null, .integer, .real: return self
    case .text(let bytes), .blob(let bytes):
      let decimal = DecimalText(bytes)
      let integer = DecimalText.integer(bytes)
      switch decimal.form {
      case .integer where integer.isExact, .none where integer.isInRange: return .integer(integer.value)
      default: return .real(decimal.real)
      }
    }
  }

  /// The value with text that is nothing but a number converted to it.
  var numericIfWhole: MemoryValue {
    guard case .text(let bytes) = self else { return self }
    let decimal = DecimalText(bytes)
    switch decimal.form {
    case .none, .prefix: return self
    case .fraction: return .real(decimal.real)
    case .integer:
      let integer = DecimalText.integer(bytes)
      return integer.isExact ? .integer(integer.value) : .real(decimal.real)
    }
  }
}

extension Int64 {
  /// A REAL truncated towards zero, and clamped to the range.
  init(clamping real: Double) {
    self = real <= -0x1p63 ? .min : real >= 0x1p63 ? .max : Int64(real)
  }
}

/// A number at the start of a text, as SQLite reads it.
struct DecimalText {
  enum Form {
    /// Nothing but an integer.
    case integer
    /// Nothing but a number with a fraction or an exponent.
    case fraction
    /// A number with a fraction or an exponent, and other text.
    case prefix
    /// An integer and other text, or no number.
    case none
  }

  private(set) var real = 0.0
  private(set) var form = Form.none

  init(_ bytes: [UInt8]) {
    var rest = bytes[...].drop(while: \.isSqliteSpace)
    var spelling = ""
    if let sign = rest.first, sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") {
      rest.removeFirst()
      if sign == UInt8(ascii: "-") { spelling = "-" }
    }
    let whole = DecimalText.digits(&rest)
    var (fraction, exponent) = ("", "")
    // What the text has besides digits, as SQLite counts it.
    var (parts, isComplete) = (1, true)
    if rest.first == UInt8(ascii: ".") {
      rest.removeFirst()
      parts += 1
      fraction = DecimalText.digits(&rest)
    }
    if let letter = rest.first, letter == UInt8(ascii: "e") || letter == UInt8(ascii: "E") {
      rest.removeFirst()
      parts += 1
      if let sign = rest.first, sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") {
        rest.removeFirst()
        if sign == UInt8(ascii: "-") { exponent = "-" }
      }
      let digits = DecimalText.digits(&rest)
      isComplete = !digits.isEmpty
      // More digits overflow or underflow anyway.
      exponent += digits.drop { $0 == "0" }.prefix(5)
    }
    let hasDigits = !whole.isEmpty || !fraction.isEmpty
    if hasDigits {
      spelling += (whole.isEmpty ? "0" : whole) + "." + (fraction.isEmpty ? "0" : fraction)
      if exponent != "", exponent != "-" { spelling += "e" + exponent }
      real = Double(spelling) ?? 0
    }
    if hasDigits, isComplete, rest.allSatisfy(\.isSqliteSpace) {
      form = parts == 1 ? .integer : .fraction
    } else if hasDigits, parts == 3 || (parts == 2 && isComplete) {
      form = .prefix
    }
  }

  private static func digits(_ rest: inout ArraySlice<UInt8>) -> String {
    let digits = rest.prefix { $0.isDecimalDigit }
    rest = rest[digits.endIndex...]
    return String(decoding: digits, as: UTF8.self)
  }

  /// The integer at the start of a text, clamped to the range.
  static func integer(_ bytes: [UInt8]) -> (value: Int64, isExact: Bool, isInRange: Bool) {
    var rest = bytes[...].drop(while: \.isSqliteSpace)
    var isNegative = false
    if let sign = rest.first, sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") {
      isNegative = sign == UInt8(ascii: "-")
      rest.removeFirst()
    }
    let digits = rest.prefix { $0.isDecimalDigit }
    rest = rest[digits.endIndex...]
    guard !digits.isEmpty else { return (0, false, true) }
    let value = Int64((isNegative ? "-" : "") + String(decoding: digits, as: UTF8.self))
    return (
      value ?? (isNegative ? .min : .max), value != nil && rest.allSatisfy(\.isSqliteSpace), value != nil
    )
  }
}

extension UInt8 {
  /// Whether SQLite skips it around a number.
  var isSqliteSpace: Bool { self == 0x20 || (0x09...0x0D).contains(self) }
  var isDecimalDigit: Bool { (0x30...0x39).contains(self) }
}
