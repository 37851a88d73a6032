import FoundationEssentials

/// Stored as text, so that no digit is lost. A `.decimal(scale:)` column stores an integer: 1234 for 12.34 in scale 2.
///
/// The order of text is not the order of numbers. Use a `.decimal(scale:)` column for amounts that queries compare or
/// add.
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
      // Checks the result, because Decimal(string:) stops at an invalid character and drops digits after the 38th.
      guard let canonical = Decimal.canonical(text), let decimal = Decimal(string: canonical),
        decimal.description == canonical
      else {
        throw SqlError.decoding(
          expected: "a decimal number", found: "TEXT that is not a decimal number, or has too many digits")
      }
      self = decimal
    case .integer(let integer): self = Decimal(integer)
    default: throw SqlError.decoding(expected: "a decimal number", found: "\(databaseValue.storageClass)")
    }
  }

  public func databaseValue(in type: ColumnType) throws -> DatabaseValue {
    guard let scale = type.scale else { return try databaseValue }
    return .integer(try units(scale, type))
  }

  public func write(to cell: inout WriteCell) throws {
    guard let scale = cell.type.scale else { return try cell.set(databaseValue) }
    cell.set(units: try units(scale, cell.type))
  }

  public static func read(from cell: ReadCell) throws -> Decimal {
    guard let scale = cell.type.scale else { return try Decimal(databaseValue: cell.databaseValue()) }
    return try Decimal(units: cell.integer(), scale: scale)
  }

  private func units(_ scale: Int, _ type: ColumnType) throws -> Int64 {
    switch try DecimalUnits(self, scale: scale) {
    case .exact(let units): return units
    case .above: throw SqlError.encoding(expected: type.name, found: "a Decimal with more digits")
    case .tooSmall, .tooLarge: throw SqlError.encoding(expected: type.name, found: "a Decimal beyond 64 bits")
    }
  }

  init(units: Int64, scale: Int) throws {
    guard ColumnType.scales.contains(scale) else { throw SqlError.wrongScale(scale) }
    var (units, scale) = (units, scale)
    while scale > 0, units.isMultiple(of: 10) { (units, scale) = (units / 10, scale - 1) }
    self.init(sign: units < 0 ? .minus : .plus, exponent: -scale, significand: Decimal(units.magnitude))
  }

  /// An upper bound for the number of digits of a decimal. A decimal has at most 166 digits before the point, or 128
  /// digits after the point.
  private static let maximumCount = 200

  /// Returns the text as `description` formats a decimal: no plus sign, no redundant zeros. Returns nil if the text is
  /// not a decimal number, or has more digits than a decimal can have. Decimal(string:) would take quadratic time for
  /// such a text.
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

/// A decimal as a number of units of 10^-scale: 12.34 is 1234 units of scale 2.
enum DecimalUnits: Equatable {
  case exact(Int64)
  /// The decimal is greater than this number of units, and less than the next number.
  case above(Int64)
  case tooSmall, tooLarge

  init(_ decimal: Decimal, scale: Int) throws {
    guard ColumnType.scales.contains(scale) else { throw SqlError.wrongScale(scale) }
    guard !decimal.isNaN else { throw SqlError.encoding(expected: "a decimal number", found: "NaN") }
    self.init(digits: decimal.description.utf8, scale: scale)
  }

  private init(digits text: String.UTF8View, scale: Int) {
    let isNegative = text.first == UInt8(ascii: "-")
    let number = text.drop { $0 == UInt8(ascii: "-") }
    let whole = number.prefix { $0 != UInt8(ascii: ".") }
    let fraction = number.dropFirst(whole.count + 1)
    // The digits are subtracted from 0, because `Int64` has one more negative number than positive numbers.
    var (units, overflows): (Int64, Bool) = (0, false)
    func append(_ digit: UInt8) {
      let (product, isTooLarge) = units.multipliedReportingOverflow(by: 10)
      let (sum, isBeyond) = product.subtractingReportingOverflow(Int64(digit &- UInt8(ascii: "0")))
      units = sum
      if isTooLarge || isBeyond { overflows = true }
    }
    whole.forEach(append)
    fraction.prefix(scale).forEach(append)
    for _ in 0..<max(0, scale - fraction.count) { append(UInt8(ascii: "0")) }
    let isExact = fraction.dropFirst(scale).allSatisfy { $0 == UInt8(ascii: "0") }
    if overflows || (!isNegative && units == .min) {
      self = isNegative ? .tooSmall : .tooLarge
    } else if isExact {
      self = .exact(isNegative ? units : -units)
    } else if isNegative {
      self = units == .min ? .tooSmall : .above(units - 1)
    } else {
      self = .above(-units)
    }
  }

  /// Returns the value that a comparison with the stored integers uses: an integer, or a REAL that is equal to no
  /// stored integer. The stored integers count units.
  func compared(_ side: RoundingSide) -> DatabaseValue {
    switch (self, side) {
    case (.exact(let units), _), (.above(let units), .below): .integer(units)
    case (.above(.max), .above), (.tooLarge, _): .real(1e19)
    case (.above(let units), .above): .integer(units + 1)
    case (.above, .equal): .real(0.5)
    case (.tooSmall, _): .real(-1e19)
    }
  }
}

extension SqlError {
  fileprivate static func wrongScale(_ scale: Int) -> SqlError {
    .misuse("the scale of a decimal must be from 0 to 18, not \(scale)")
  }
}
