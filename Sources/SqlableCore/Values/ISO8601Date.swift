/// Conversions between dates and text: ISO 8601, `2013-01-01T06:00:00.000Z`, and SQLite's format,
/// `2013-01-01 06:00:00.000`.
///
/// Foundation's formatter is not used, for three reasons. The formatter truncates to milliseconds instead of rounding,
/// so half of all dates lose a millisecond. The formatter uses the Julian calendar for years before 1582, unlike ISO
/// 8601 and SQLite. The formatter reads February 30 as March 2.
enum ISO8601Date {
  private static let millisecondsPerDay: Int64 = 86_400_000
  /// The milliseconds of 0000-01-01 to 9999-12-31T23:59:59.999. In other years, text order differs from time order.
  private static let years: ClosedRange<Int64> = -62_167_219_200_000...253_402_300_799_999

  /// The number of bytes that `write(secondsSince1970:inSQLitesForm:to:)` needs.
  static let capacity = 24

  /// Writes the date in UTC, rounded to the millisecond, and returns the number of bytes. Returns 0 for years outside
  /// 0000 to 9999.
  static func write(
    secondsSince1970 seconds: Double, inSQLitesForm isSQLite: Bool, to bytes: UnsafeMutableBufferPointer<UInt8>
  ) -> Int {
    guard let milliseconds = Int64(exactly: (seconds * 1000).rounded()), years.contains(milliseconds)
    else { return 0 }
    let days = floorDivided(milliseconds, by: millisecondsPerDay)
    let ofDay = Int(milliseconds - days * millisecondsPerDay)
    let (year, month, day) = date(ofDay: Int(days))
    func put(_ number: Int, at index: Int, _ separator: Unicode.Scalar) {
      bytes[index] = UInt8(truncatingIfNeeded: 48 + number / 10)
      bytes[index + 1] = UInt8(truncatingIfNeeded: 48 + number % 10)
      bytes[index + 2] = UInt8(ascii: separator)
    }
    let seconds = ofDay / 1000
    let fraction = ofDay % 1000
    bytes[0] = UInt8(truncatingIfNeeded: 48 + year / 1000)
    bytes[1] = UInt8(truncatingIfNeeded: 48 + year / 100 % 10)
    put(year % 100, at: 2, "-")
    put(month, at: 5, "-")
    put(day, at: 8, isSQLite ? " " : "T")
    put(seconds / 3600, at: 11, ":")
    put(seconds / 60 % 60, at: 14, ":")
    put(seconds % 60, at: 17, ".")
    bytes[20] = UInt8(truncatingIfNeeded: 48 + fraction / 100)
    put(fraction % 100, at: 21, "Z")
    return isSQLite ? capacity - 1 : capacity
  }

  /// Returns the date in UTC, rounded to the millisecond. Returns nil for years outside 0000 to 9999.
  static func text(secondsSince1970 seconds: Double, inSQLitesForm isSQLite: Bool = false) -> String? {
    let text = String(unsafeUninitializedCapacity: capacity) {
      write(secondsSince1970: seconds, inSQLitesForm: isSQLite, to: $0)
    }
    return text.isEmpty ? nil : text
  }

  /// Parses `2013-01-01T06:00:00Z`, with an optional fraction of a second, without the seconds, or with an offset such
  /// as `+01:00`, `+0100` or `+01`. Also parses the output of SQLite's `datetime()`, `2013-01-01 06:00:00` in UTC.
  /// With `assumingUTC`, also parses other text without a zone, and `2013-01-01` as midnight. Returns nil for other
  /// text.
  static func secondsSince1970(_ text: String, assumingUTC: Bool = false) -> Double? {
    var text = text
    return text.withUTF8 { secondsSince1970(UnsafeRawBufferPointer($0), assumingUTC: assumingUTC) }
  }

  /// Parses a date in any of these forms from UTF-8 bytes.
  static func secondsSince1970(_ bytes: UnsafeRawBufferPointer, assumingUTC: Bool) -> Double? {
    var reader = Reader(bytes: bytes[...])
    guard let year = reader.number(4), reader.skip("-"), let month = reader.number(2), reader.skip("-"),
      let day = reader.number(2), (1...12).contains(month), (1...days(inMonth: month, of: year)).contains(day)
    else { return nil }
    let midnight = dayNumber(year, month, day) * 86_400
    if assumingUTC, reader.bytes.isEmpty { return Double(midnight) }
    let isSQLite = reader.skip(" ")
    guard isSQLite || reader.skip("T"), let time = reader.time() else { return nil }
    if reader.bytes.isEmpty, isSQLite || assumingUTC { return Double(midnight + time.seconds) + time.fraction }
    guard let offset = reader.offset(), reader.bytes.isEmpty else { return nil }
    return Double(midnight + time.seconds - offset) + time.fraction
  }

  /// Parses the texts of 24 and 23 bytes that `text(secondsSince1970:inSQLitesForm:)` writes, and the 19 bytes of
  /// SQLite's `datetime()`. Returns nil for other text.
  ///
  /// Eight bytes are parsed at a time. XOR with the template `0000-00-00T00:00:00.000Z` turns each digit into its
  /// number and each separator into 0.
  static func secondsSince1970(ofCanonicalForm bytes: UnsafeRawBufferPointer) -> Double? {
    let count = bytes.count
    guard count == 24 || count == 23 || count == 19 else { return nil }
    func word(_ index: Int) -> UInt64 {
      UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
    }
    let end =
      switch count {
      case 24: word(16)
      case 23: word(15) >> 8 | 0x5a00_0000_0000_0000  // with Z
      default: word(11) >> 40 | 0x5a30_3030_2e00_0000  // with .000Z
      }
    let date = word(0) ^ 0x2d30_302d_3030_3030  // 0000-00-
    let time = word(8) ^ (count == 24 ? 0x3030_3a30_3054_3030 : 0x3030_3a30_3020_3030)  // 00T00:00 or 00 00:00
    let rest = end ^ 0x5a30_3030_2e30_303a  // :00.000Z
    // Each byte is now a digit's number or, for the right separator, 0. The sums set the highest bit of a byte if a
    // digit's number is above 9, or if a separator's byte is above 0.
    let wrong =
      date | time | rest | (date &+ 0x7f76_767f_7676_7676) | (time &+ 0x7676_7f76_767f_7676)
      | (rest &+ 0x7f76_7676_7f76_767f)
    guard wrong & 0x8080_8080_8080_8080 == 0 else { return nil }
    // Adding ten times each digit to the digit after it gives numbers of two digits, which fit into a byte.
    func number(_ word: UInt64, _ first: UInt64) -> Int {
      Int(truncatingIfNeeded: (word &* 10 &+ (word >> 8)) >> (first &* 8) & 0xff)
    }
    let (year, month, day) = (number(date, 0) * 100 + number(date, 2), number(date, 5), number(time, 0))
    let (hour, minute, second) = (number(time, 3), number(time, 6), number(rest, 1))
    guard month >= 1, month <= 12, day >= 1, day <= 28 || day <= days(inMonth: month, of: year),
      hour < 24, minute < 60, second < 60
    else { return nil }
    let milliseconds = number(rest, 4) * 10 + Int(truncatingIfNeeded: rest >> 48 & 15)
    let wholeSeconds = (dayNumber(year, month, day) * 24 + hour) * 3600 + minute * 60 + second
    return Double(wholeSeconds) + Double(milliseconds) / 1000
  }

  private struct Reader {
    var bytes: UnsafeRawBufferPointer.SubSequence

    mutating func skip(_ scalar: Unicode.Scalar) -> Bool {
      guard bytes.first == UInt8(ascii: scalar) else { return false }
      bytes.removeFirst()
      return true
    }

    private mutating func digit() -> Int? {
      guard let byte = bytes.first, (48...57).contains(byte) else { return nil }
      bytes.removeFirst()
      return Int(byte) - 48
    }

    mutating func number(_ digits: Int) -> Int? {
      var number = 0
      for _ in 0..<digits {
        guard let digit = digit() else { return nil }
        number = number * 10 + digit
      }
      return number
    }

    mutating func fraction() -> Double? {
      guard var numerator = digit().map(Double.init) else { return nil }
      var denominator = 10.0
      while let digit = digit() {
        // Ignore further digits of the fraction. With more than 15 digits the Double would be rounded twice, and a Date
        // is not that precise.
        guard denominator < 1e15 else { continue }
        numerator = numerator * 10 + Double(digit)
        denominator *= 10
      }
      return numerator / denominator
    }

    /// Parses the time of day, with or without seconds, and an optional fraction of a second.
    mutating func time() -> (seconds: Int, fraction: Double)? {
      guard let hour = number(2), skip(":"), let minute = number(2), hour < 24, minute < 60 else { return nil }
      let seconds = hour * 3600 + minute * 60
      guard skip(":") else { return (seconds, 0) }
      guard let second = number(2), second < 60 else { return nil }
      guard skip(".") else { return (seconds + second, 0) }
      return fraction().map { (seconds + second, $0) }
    }

    mutating func offset() -> Int? {
      if skip("Z") { return 0 }
      let isNegative = skip("-")
      guard isNegative || skip("+"), let hours = number(2), hours < 24 else { return nil }
      var minutes = 0
      if !bytes.isEmpty {
        _ = skip(":")
        guard let number = number(2), number < 60 else { return nil }
        minutes = number
      }
      return (hours * 3600 + minutes * 60) * (isNegative ? -1 : 1)
    }
  }

  // MARK: The proleptic Gregorian calendar

  // Years start in March, so that the leap day is the last day of a year.

  private static func dayNumber(_ year: Int, _ month: Int, _ day: Int) -> Int {
    // The calendar repeats after 400 years of 146,097 days. The added 400 years keep the dividends positive.
    let year = year + 400 - (month <= 2 ? 1 : 0)
    let century = year / 100
    let dayOfYear = (153 * (month <= 2 ? month + 9 : month - 3) + 2) / 5 + day - 1
    return year * 365 + year / 4 - century + century / 4 + dayOfYear - 146_097 - 719_468
  }

  private static func date(ofDay day: Int) -> (year: Int, month: Int, day: Int) {
    let shifted = day + 719_468
    let era = Int(floorDivided(Int64(shifted), by: 146_097))
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
  }

  private static func days(inMonth month: Int, of year: Int) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  private static func floorDivided(_ number: Int64, by divisor: Int64) -> Int64 {
    let (quotient, remainder) = number.quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? quotient - 1 : quotient
  }
}
