import Foundation
import SqlableCore

/// An error for results that the oracle can't predict, such as SQLite's text of a number with fifteen digits. The test
/// skips the expression.
struct Unsure: Error {}

/// A value of SQLite, with an independent implementation of its rules for comparison, affinity, arithmetic and text.
enum OracleValue {
  case null
  case integer(Int64)
  case real(Double)
  case text([UInt8])
  case blob([UInt8])

  static let `true` = OracleValue.integer(1)
  static let `false` = OracleValue.integer(0)

  static func text(_ text: String) -> OracleValue { .text(Array(text.utf8)) }
  static func truth(_ truth: Bool?) -> OracleValue { truth.map { .integer($0 ? 1 : 0) } ?? .null }

  var isNull: Bool { if case .null = self { true } else { false } }

  /// True, false, or nil for NULL.
  var truth: Bool? {
    switch self {
    case .null: nil
    case .integer(let integer): integer != 0
    case .real(let real): real != 0
    case .text, .blob: Double(number.real) != 0
    }
  }

  /// The value to bind.
  var sqlValue: any SqlValue {
    switch self {
    case .null: Null()
    case .integer(let integer): integer
    case .real(let real): real
    case .text(let bytes): String(decoding: bytes, as: UTF8.self)
    case .blob(let bytes): Data(bytes)
    }
  }
}

/// A collation: the order of two texts by their bytes.
enum OracleCollation: CaseIterable {
  case binary, nocase, rtrim

  func compare(_ left: [UInt8], _ right: [UInt8]) -> Int {
    switch self {
    case .binary: return OracleCollation.compareBytes(left, right)
    case .rtrim: return OracleCollation.compareBytes(trimmed(left), trimmed(right))
    case .nocase:
      for (a, b) in zip(left, right) {
        let difference = Int(OracleCollation.lower(a)) - Int(OracleCollation.lower(b))
        if difference != 0 { return difference }
        if a == 0 { break }  // SQLite's NOCASE stops at a NUL and then compares the lengths.
      }
      return left.count - right.count
    }
  }

  private func trimmed(_ bytes: [UInt8]) -> [UInt8] {
    var bytes = bytes
    while bytes.last == 0x20 { bytes.removeLast() }
    return bytes
  }

  static func lower(_ byte: UInt8) -> UInt8 { (0x41...0x5A).contains(byte) ? byte + 32 : byte }

  static func compareBytes(_ left: [UInt8], _ right: [UInt8]) -> Int {
    for (a, b) in zip(left, right) where a != b { return Int(a) - Int(b) }
    return left.count - right.count
  }
}

/// The storage class that a column prefers, which a compared value takes on.
enum OracleAffinity {
  /// The affinity of an expression that is not a column.
  case none
  case blob, text, numeric

  static func comparing(_ left: OracleAffinity, _ right: OracleAffinity) -> OracleAffinity {
    if left != .none, right != .none { return left == .numeric || right == .numeric ? .numeric : .blob }
    return left == .none ? right : left
  }
}

extension OracleValue {
  // MARK: Comparison

  /// Returns a number below, equal to or above zero. NULLs are equal and come first.
  static func order(_ left: OracleValue, _ right: OracleValue, _ collation: OracleCollation) -> Int {
    switch (left, right) {
    case (.integer(let a), .integer(let b)): a < b ? -1 : a > b ? 1 : 0
    case (.real(let a), .real(let b)): a < b ? -1 : a > b ? 1 : 0
    case (.integer(let a), .real(let b)): order(a, b)
    case (.real(let a), .integer(let b)): -order(b, a)
    case (.text(let a), .text(let b)): collation.compare(a, b)
    case (.blob(let a), .blob(let b)): OracleCollation.compareBytes(a, b)
    default: left.rank - right.rank
    }
  }

  private static func order(_ integer: Int64, _ real: Double) -> Int {
    if real < -0x1p63 { return 1 }
    if real >= 0x1p63 { return -1 }
    let whole = Int64(real)
    if integer != whole { return integer < whole ? -1 : 1 }
    let rest = real - real.rounded(.towardZero)
    return rest > 0 ? -1 : rest < 0 ? 1 : 0
  }

  private var rank: Int {
    switch self {
    case .null: 0
    case .integer, .real: 1
    case .text: 2
    case .blob: 3
    }
  }

  func applying(_ affinity: OracleAffinity) throws -> OracleValue {
    switch (affinity, self) {
    case (.numeric, .text):
      let number = number
      return number.isWhole ? number.value : self
    case (.text, .integer), (.text, .real): return .text(try textBytes())
    default: return self
    }
  }

  // MARK: Numbers

  /// The number at the start of a text, which arithmetic uses.
  var number: (value: OracleValue, real: Double, isWhole: Bool) {
    switch self {
    case .null: return (.null, 0, true)
    case .integer(let integer): return (self, Double(integer), true)
    case .real(let real): return (self, real, true)
    case .text(let bytes), .blob(let bytes):
      var rest = bytes[...].drop(while: OracleValue.isSpace)
      var digits = ""
      func take(_ isWanted: (UInt8) -> Bool) -> Int {
        let taken = rest.prefix(while: isWanted)
        digits += String(decoding: taken, as: UTF8.self)
        rest = rest.dropFirst(taken.count)
        return taken.count
      }
      if let sign = rest.first, sign == 0x2D || sign == 0x2B { digits += String(UnicodeScalar(rest.removeFirst())) }
      let isDigit: (UInt8) -> Bool = { (0x30...0x39).contains($0) }
      var count = take(isDigit)
      var isInteger = true
      if rest.first == 0x2E, count > 0 || rest.dropFirst().first.map(isDigit) == true {
        isInteger = false
        digits += "."
        rest.removeFirst()
        let fraction = take(isDigit)
        if fraction == 0 { digits += "0" }
        count += fraction
      }
      guard count > 0 else { return (.integer(0), 0, false) }
      if let letter = rest.first, letter == 0x65 || letter == 0x45, rest.dropFirst().first.map(isDigit) == true {
        isInteger = false
        digits += "e"
        rest.removeFirst()
        _ = take(isDigit)
      }
      let isWhole = rest.allSatisfy(OracleValue.isSpace)
      let real = Double(digits) ?? 0
      if isInteger, let integer = Int64(digits) { return (.integer(integer), real, isWhole) }
      return (.real(real), real, isWhole)
    }
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

  /// The operand of a remainder: the leading digits of a text, or a number truncated and clamped to 64 bits.
  private var integerPart: Int64 {
    switch self {
    case .integer(let integer): return integer
    case .real(let real): return real <= -0x1p63 ? .min : real >= 0x1p63 ? .max : Int64(real)
    default:
      let value = number.value
      if case .real(let real) = value { return OracleValue.real(real).integerPart }
      if case .integer(let integer) = value { return integer }
      return 0
    }
  }

  static func arithmetic(_ operation: Character, _ left: OracleValue, _ right: OracleValue) throws -> OracleValue {
    if left.isNull || right.isNull { return .null }
    let (a, b) = (left.number, right.number)
    if case .integer(let x) = a.value, case .integer(let y) = b.value {
      let exact: (partialValue: Int64, overflow: Bool)
      switch operation {
      case "+": exact = x.addingReportingOverflow(y)
      case "-": exact = x.subtractingReportingOverflow(y)
      case "*": exact = x.multipliedReportingOverflow(by: y)
      case "/" where y == 0, "%" where y == 0: return .null
      case "/": exact = x.dividedReportingOverflow(by: y)
      default: exact = y == -1 ? (0, false) : x.remainderReportingOverflow(dividingBy: y)
      }
      if !exact.overflow { return .integer(exact.partialValue) }
    }
    let result: Double
    switch operation {
    case "+": result = a.real + b.real
    case "-": result = a.real - b.real
    case "*": result = a.real * b.real
    case "/":
      if b.real == 0 { return .null }
      result = a.real / b.real
    default:
      // SQLite takes the text "1e2" for 100 in a sum and for 1 in a remainder. The oracle skips such texts.
      for side in [left, right] { if case .text = side, case .real = side.number.value { throw Unsure() } }
      let (x, y) = (left.integerPart, right.integerPart)
      if y == 0 { return .null }
      result = y == -1 ? 0 : Double(x % y)
    }
    return result.isNaN ? .null : .real(result)
  }

  func absolute() throws -> OracleValue {
    switch self {
    case .null: return .null
    case .integer(let integer):
      if integer == .min { throw Unsure() }  // SQLite throws "integer overflow"
      return .integer(Swift.abs(integer))
    case .real(let real): return .real(Swift.abs(real))
    case .text: return .real(Swift.abs(number.real))
    case .blob: throw Unsure()
    }
  }

  // MARK: Texts

  /// Returns the bytes of the value's text.
  func textBytes() throws -> [UInt8] {
    switch self {
    case .text(let bytes): return bytes
    case .integer(let integer): return Array(String(integer).utf8)
    case .real(let real):
      // Swift and SQLite print numbers with few digits alike.
      guard Swift.abs(real) < 1e8, real * 64 == (real * 64).rounded(), real.sign == .plus || real != 0 else {
        throw Unsure()
      }
      return Array("\(real)".utf8)
    case .null, .blob: throw Unsure()
    }
  }

  static func concatenated(_ left: OracleValue, _ right: OracleValue) throws -> OracleValue {
    if left.isNull || right.isNull { return .null }
    return .text(try left.textBytes() + right.textBytes())
  }

  func lowercased() throws -> OracleValue {
    isNull ? .null : .text(try textBytes().map(OracleCollation.lower))
  }

  func uppercased() throws -> OracleValue {
    isNull ? .null : .text(try textBytes().map { (0x61...0x7A).contains($0) ? $0 - 32 : $0 })
  }

  func length() throws -> OracleValue {
    switch self {
    case .null: .null
    case .blob(let bytes): .integer(Int64(bytes.count))
    default: .integer(Int64(OracleValue.scalars(try textBytes()).count))
    }
  }

  /// Returns the scalars up to the first NUL, where SQLite's C functions stop.
  private static func scalars(_ bytes: [UInt8]) -> [UnicodeScalar] {
    Array(String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self).unicodeScalars)
  }

  func isLike(_ pattern: [UInt8], escape: UnicodeScalar?) throws -> OracleValue {
    if isNull { return .null }
    return .truth(
      OracleValue.matches(
        OracleValue.scalars(try textBytes())[...], OracleValue.scalars(pattern)[...], escape: escape))
  }

  private static func matches(
    _ text: ArraySlice<UnicodeScalar>, _ pattern: ArraySlice<UnicodeScalar>, escape: UnicodeScalar?
  ) -> Bool {
    guard let first = pattern.first else { return text.isEmpty }
    let rest = pattern.dropFirst()
    if first == escape {
      guard let literal = rest.first, let character = text.first, isSame(literal, character) else { return false }
      return matches(text.dropFirst(), rest.dropFirst(), escape: escape)
    }
    if first == "%" {
      return (text.startIndex...text.endIndex).contains { matches(text[$0...], rest, escape: escape) }
    }
    guard let character = text.first, first == "_" || isSame(first, character) else { return false }
    return matches(text.dropFirst(), rest, escape: escape)
  }

  private static func isSame(_ left: UnicodeScalar, _ right: UnicodeScalar) -> Bool {
    left == right
      || (left.isASCII && right.isASCII
        && OracleCollation.lower(UInt8(left.value)) == OracleCollation.lower(UInt8(right.value)))
  }
}
