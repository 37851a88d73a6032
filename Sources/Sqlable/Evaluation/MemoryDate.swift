// SQLite's date functions. Like SQLite's own code, a date keeps the parts that it was made of, and computes the others
// when they are needed: the seconds of a text keep all their digits.

/// A moment, as milliseconds of its Julian day number or as parts of a date and a time.
struct MemoryDate {
  private var milliseconds: Int64?
  private var day: (year: Int, month: Int, day: Int)?
  private var time: (hour: Int, minute: Int, seconds: Double)?
  /// Minutes east of UTC, until they are subtracted.
  private var zone = 0
  /// A number that is not known to be a Julian day or seconds since 1970.
  private var number: Double?

  /// The greatest Julian day number: 9999-12-31 23:59:59.999.
  private static let maximum: Int64 = 464_269_060_799_999
  private static let epoch: Int64 = 210_866_760_000_000
  private static let ofDay: Int64 = 86_400_000

  /// Reads a number or a text; nil for anything else.
  init?(_ value: MemoryValue) {
    switch value {
    case .integer, .real: set(number: value.realValue)
    case .null: return nil
    case .text, .blob:
      let text = Array(value.cString ?? [])
      if parseDay(text[...]) || parseTime(text[...]) { return }
      // `now` is the only word; the columns of dates do not hold it.
      let decimal = DecimalText(text)
      guard decimal.form == .integer || decimal.form == .fraction else { return nil }
      set(number: decimal.real)
    }
  }

  private mutating func set(number: Double) {
    self.number = number
    if number >= 0, number < 5_373_484.5 { milliseconds = Int64(number * 86_400_000 + 0.5) }
  }

  /// The modifier `unixepoch`: the number counts seconds since 1970.
  mutating func countFromEpoch() -> Bool {
    guard let number else { return false }
    let real = number * 1000 + Double(MemoryDate.epoch)
    guard real >= 0, real < 464_269_060_800_000 else { return false }
    (day, time, zone) = (nil, nil, 0)
    milliseconds = Int64(real + 0.5)
    self.number = nil
    return true
  }

  /// The modifier `+3 months`. Returns false if the result is not a date.
  mutating func add(_ count: Int64, _ unit: DateUnit) -> Bool {
    guard "\(count)".utf8.count < 30, Double(count).magnitude < MemoryDate.limit(of: unit) else { return false }
    guard computeMilliseconds() else { return false }
    var rest = Double(count)
    switch unit {
    case .month, .year:
      guard computeParts(), var day else { return false }
      if unit == .month {
        let month = day.month + Int(count)
        let years = month > 0 ? (month - 1) / 12 : (month - 12) / 12
        day = (day.year + years, month - years * 12, day.day)
      } else {
        day.year += Int(count)
      }
      self.day = day
      milliseconds = nil
      rest = 0
    case .second, .minute, .hour, .day, .week: break
    }
    guard computeMilliseconds(), let own = milliseconds else { return false }
    let (sum, overflow) = own.addingReportingOverflow(
      Int64(clamping: rest * 1000 * Double(unit.seconds ?? 0) + (count < 0 ? -0.5 : 0.5)))
    if overflow { return false }
    milliseconds = sum
    (day, time, zone, number) = (nil, nil, 0, nil)
    return true
  }

  private static func limit(of unit: DateUnit) -> Double {
    switch unit {
    case .second: 4.6427e+14
    case .minute: 7.7379e+12
    case .hour: 1.2897e+11
    case .day: 5_373_485
    case .week: 767_640
    case .month: 176546
    case .year: 14713
    }
  }

  // MARK: Parsing

  private static func digits(_ text: inout ArraySlice<UInt8>, _ count: Int, _ range: ClosedRange<Int>) -> Int? {
    guard text.count >= count, text.prefix(count).allSatisfy(\.isDecimalDigit) else { return nil }
    let value = text.prefix(count).reduce(0) { $0 * 10 + Int($1 - 0x30) }
    guard range.contains(value) else { return nil }
    text = text.dropFirst(count)
    return value
  }

  private static func skip(_ text: inout ArraySlice<UInt8>, _ letter: Character) -> Bool {
    guard text.first == letter.asciiValue else { return false }
    text = text.dropFirst()
    return true
  }

  private mutating func parseDay(_ text: ArraySlice<UInt8>) -> Bool {
    var text = text
    let isNegative = MemoryDate.skip(&text, "-")
    guard let year = MemoryDate.digits(&text, 4, 0...9999), MemoryDate.skip(&text, "-"),
      let month = MemoryDate.digits(&text, 2, 1...12), MemoryDate.skip(&text, "-"),
      let day = MemoryDate.digits(&text, 2, 1...31)
    else { return false }
    text = text.drop { $0.isSqliteSpace || $0 == UInt8(ascii: "T") }
    guard parseTime(text) || text.isEmpty else { return false }
    milliseconds = nil
    self.day = (isNegative ? -year : year, month, day)
    return zone == 0 || computeMilliseconds()
  }

  private mutating func parseTime(_ text: ArraySlice<UInt8>) -> Bool {
    var text = text
    guard let hour = MemoryDate.digits(&text, 2, 0...24), MemoryDate.skip(&text, ":"),
      let minute = MemoryDate.digits(&text, 2, 0...59)
    else { return false }
    var seconds = 0.0
    if MemoryDate.skip(&text, ":") {
      guard let whole = MemoryDate.digits(&text, 2, 0...59) else { return false }
      var fraction = 0.0
      if text.first == UInt8(ascii: "."), text.dropFirst().first?.isDecimalDigit == true {
        text = text.dropFirst()
        var scale = 1.0
        while let digit = text.first, digit.isDecimalDigit {
          fraction = fraction * 10 + Double(digit - 0x30)
          scale *= 10
          text = text.dropFirst()
        }
        fraction /= scale
      }
      seconds = Double(whole) + fraction
    }
    (milliseconds, number, time) = (nil, nil, (hour, minute, seconds))
    return parseZone(text)
  }

  private mutating func parseZone(_ text: ArraySlice<UInt8>) -> Bool {
    var text = text.drop(while: \.isSqliteSpace)
    zone = 0
    guard let sign = text.first else { return true }
    text = text.dropFirst()
    switch sign {
    case UInt8(ascii: "Z"), UInt8(ascii: "z"): break
    case UInt8(ascii: "+"), UInt8(ascii: "-"):
      guard let hours = MemoryDate.digits(&text, 2, 0...14), MemoryDate.skip(&text, ":"),
        let minutes = MemoryDate.digits(&text, 2, 0...59)
      else { return false }
      zone = (sign == UInt8(ascii: "-") ? -1 : 1) * (minutes + hours * 60)
    default: return false
    }
    return text.allSatisfy(\.isSqliteSpace)
  }

  // MARK: Computing

  private mutating func computeMilliseconds() -> Bool {
    if milliseconds != nil { return true }
    var (year, month, day) = self.day ?? (2000, 1, 1)
    guard (-4713...9999).contains(year), number == nil else { return false }
    if month <= 2 {
      year -= 1
      month += 12
    }
    let century = year / 100
    let leap = 2 - century + century / 4
    let (years, months) = (36_525 * (year + 4716) / 100, 306_001 * (month + 1) / 10_000)
    var sum = Int64((Double(years + months + day + leap) - 1524.5) * 86_400_000)
    if let time {
      sum += Int64(time.hour * 3_600_000 + time.minute * 60_000) + Int64(time.seconds * 1000 + 0.5)
      if zone != 0 {
        sum -= Int64(zone * 60_000)
        (self.day, self.time, zone) = (nil, nil, 0)
      }
    }
    milliseconds = sum
    return true
  }

  private mutating func computeParts() -> Bool {
    if day == nil {
      if let milliseconds {
        guard (0...MemoryDate.maximum).contains(milliseconds) else { return false }
        let number = Int((milliseconds + 43_200_000) / MemoryDate.ofDay)
        var a = Int((Double(number) - 1_867_216.25) / 36_524.25)
        a = number + 1 + a - a / 4
        let b = a + 1524
        let c = Int((Double(b) - 122.1) / 365.25)
        let d = 36_525 * (c & 32_767) / 100
        let e = Int(Double(b - d) / 30.6001)
        let month = e < 14 ? e - 1 : e - 13
        day = (month > 2 ? c - 4716 : c - 4715, month, b - d - Int(30.6001 * Double(e)))
      } else {
        day = (2000, 1, 1)
      }
    }
    if time == nil {
      guard computeMilliseconds(), let milliseconds else { return false }
      let rest = Double((milliseconds + 43_200_000) % MemoryDate.ofDay) / 1000
      let whole = Int(rest)
      let (hour, minute) = (whole / 3600, whole % 3600 / 60)
      time = (hour, minute, rest - Double(whole) + Double(whole % 60))
    }
    return true
  }

  // MARK: Results

  /// The milliseconds of the Julian day number; nil if they are out of range.
  private var checked: Int64? {
    mutating get {
      guard computeMilliseconds(), let milliseconds, (0...MemoryDate.maximum).contains(milliseconds) else { return nil }
      return milliseconds
    }
  }

  /// `julianday(a)`
  var julianDay: Double? { mutating get { checked.map { Double($0) / 86_400_000 } } }

  /// `strftime(format, a)`; nil for a format that SQLite does not know.
  mutating func text(_ format: ArraySlice<UInt8>) -> [UInt8]? {
    guard let milliseconds = checked, computeParts(), let day, let time else { return nil }
    var (result, place) = ([UInt8](), format.startIndex)
    while place < format.endIndex {
      let byte = format[place]
      place += 1
      guard byte == UInt8(ascii: "%") else {
        result.append(byte)
        continue
      }
      guard place < format.endIndex else { return nil }
      let letter = Character(UnicodeScalar(format[place]))
      place += 1
      let part: String?
      switch letter {
      case "d": part = day.day.padded(2)
      case "f":
        let seconds = Swift.min(time.seconds, 59.999).sqliteText(places: 3)
        part = String(repeating: "0", count: Swift.max(0, 6 - seconds.utf8.count)) + seconds
      case "H": part = time.hour.padded(2)
      case "j": part = (dayOfYear(milliseconds, day.year) + 1).padded(3)
      case "W":
        let weekday = Int((milliseconds + 43_200_000) / MemoryDate.ofDay % 7)
        part = ((dayOfYear(milliseconds, day.year) + 7 - weekday) / 7).padded(2)
      case "J": part = (Double(milliseconds) / 86_400_000).sqliteText(significant: 16)
      case "m": part = day.month.padded(2)
      case "M": part = time.minute.padded(2)
      case "s": part = "\(milliseconds / 1000 - MemoryDate.epoch / 1000)"
      case "S": part = Int(time.seconds).padded(2)
      case "w": part = "\((milliseconds + 129_600_000) / MemoryDate.ofDay % 7)"
      case "Y": part = day.year.padded(4)
      case "%": part = "%"
      default: part = nil
      }
      guard let part else { return nil }
      result += Array(part.utf8)
    }
    return result
  }

  private func dayOfYear(_ milliseconds: Int64, _ year: Int) -> Int {
    var start = self
    start.milliseconds = nil
    start.day = (year, 1, 1)
    guard start.computeMilliseconds(), let first = start.milliseconds else { return 0 }
    return Int((milliseconds - first + 43_200_000) / MemoryDate.ofDay)
  }
}

extension Int {
  /// The number with zeros in front, as `%04d` writes it.
  fileprivate func padded(_ width: Int) -> String {
    let digits = "\(magnitude)"
    let zeros = String(repeating: "0", count: Swift.max(0, width - digits.utf8.count - (self < 0 ? 1 : 0)))
    return (self < 0 ? "-" : "") + zeros + digits
  }
}
