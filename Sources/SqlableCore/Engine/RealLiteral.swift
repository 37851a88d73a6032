import CSqlableSQLite
import Glibc

// REAL literals. SQLite 3.40 parses about one in two hundred random numbers wrongly, by one unit in the last place.

extension Connection {
  /// Returns SQL that this SQLite reads as exactly this number: a literal, or an expression if no literal works. Very
  /// large and very small numbers can need an expression.
  ///
  /// With `isConstant`, throws `.encoding` instead of returning an expression, because ALTER TABLE accepts none.
  package func literal(_ real: Double, isConstant: Bool) throws -> String {
    guard real.isFinite else { return real.literal }
    // The shortest text comes first. If SQLite misreads the text, more digits can help, because a longer text is closer
    // to the number.
    for digits in [nil, 17, 18, 19, 20, 16] {
      let spelling = digits.map { real.magnitude.text(digits: $0) } ?? "\(real.magnitude)"
      if try number(spelling) == real.magnitude { return real < 0 ? "(-\(spelling))" : spelling }
    }
    guard !isConstant else {
      throw SqlError.encoding(
        expected: "a REAL whose literal this SQLite parses exactly",
        found: "a REAL whose literal this SQLite parses with a rounding error")
    }
    return real.product
  }

  private func number(_ literal: String) throws -> Double {
    var text = "SELECT \(literal)"
    return try text.withUTF8 { text in
      let statement = try compile(text)
      defer { statement.reset() }
      return try statement.step() ? sqlite3_column_double(statement.handle, 0) : .nan
    }
  }
}

extension Double {
  /// The shortest literal of the number. SQLite might read the literal as a number that differs in the last digit.
  package var literal: String {
    let magnitude = isFinite ? "\(magnitude)" : "9e999"
    return self < 0 ? "(-\(magnitude))" : magnitude
  }

  /// The text to which SQLite converts this number in order to store or compare it as TEXT: `1.0e+20`.
  var sqliteText: String {
    // 17 digits, a sign, a point and an exponent take 25 bytes.
    written(capacity: 40) { sqlable_real_text(self, Library.realDigits, $0, $1) }
  }

  /// Returns the number as text with `places` digits after the point, in the format of SQLite's `round()` and
  /// `strftime()`.
  func sqliteText(places: Int) -> String {
    // A number has up to 309 digits before the point.
    written(capacity: 350 + places) { sqlable_fixed_text(self, Int32(places), $0, $1) }
  }

  /// Returns the number as text with this many significant digits: `2460341.07326389`.
  func sqliteText(significant digits: Int) -> String {
    written(capacity: 40) { sqlable_general_text(self, Int32(digits), $0, $1) }
  }

  private func written(capacity: Int, _ write: (UnsafeMutablePointer<CChar>, Int32) -> Void) -> String {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: capacity) { buffer in
      guard let start = buffer.baseAddress else { return "" }
      write(start, Int32(buffer.count))
      return String(cString: start)
    }
  }

  /// Returns the number in the format `d.ddde±x` with this many digits.
  fileprivate func text(digits: Int) -> String {
    var buffer = [CChar](repeating: 0, count: 64)
    let count = withVaList([Int32(digits - 1), self]) { vsnprintf(&buffer, buffer.count, "%.*e", $0) }
    return String(decoding: buffer.prefix(Int(count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// An integer, multiplied or divided exactly by powers of two: `(4503599627370497 * 1.0 / 1024)`.
  fileprivate var product: String {
    // Multiplied by 2^52, every significand is an integer. A subnormal number has fewer bits, so its integer has
    // trailing zeros.
    var exponent = Int(self.exponent) - 52
    var integer = Int64(significand * 0x1p52)
    while integer != 0, integer.isMultiple(of: 2) {
      integer /= 2
      exponent += 1
    }
    var text = "(\(sign == .minus ? -integer : integer) * 1.0"
    while exponent != 0 {
      let step = Swift.min(exponent.magnitude, 60)
      text += " \(exponent < 0 ? "/" : "*") \(Int64(1) << Int64(step))"
      exponent += exponent < 0 ? Int(step) : -Int(step)
    }
    return text + ")"
  }
}
