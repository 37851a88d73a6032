import Foundation

extension Date {
  /// Parses `2013-01-31T23:00:00Z`; nil for any other format and for a day that does not exist.
  ///
  /// Without Foundation's formatters, which take 500 ns: this is done for every flight.
  init?(utc bytes: UnsafeBufferPointer<UInt8>) {
    guard bytes.count == 20 else { return nil }
    func number(_ range: Range<Int>) -> Int? {
      var number = 0
      for index in range {
        let digit = Int(bytes[index]) - 48
        guard 0...9 ~= digit else { return nil }
        number = number * 10 + digit
      }
      return number
    }
    guard
      bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"), bytes[10] == UInt8(ascii: "T"),
      bytes[13] == UInt8(ascii: ":"), bytes[16] == UInt8(ascii: ":"), bytes[19] == UInt8(ascii: "Z"),
      let year = number(0..<4), let month = number(5..<7), let day = number(8..<10),
      let hour = number(11..<13), let minute = number(14..<16), let second = number(17..<19),
      1...12 ~= month, 1...Date.days(in: month, of: year) ~= day, hour < 24, minute < 60, second < 60
    else { return nil }
    let seconds = Date.daysSince1970(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second
    self.init(timeIntervalSince1970: Double(seconds))
  }

  private static func days(in month: Int, of year: Int) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// Years are counted from March, so that the leap day is the last one and a month's start is a linear function.
  private static func daysSince1970(_ year: Int, _ month: Int, _ day: Int) -> Int {
    let year = month < 3 ? year - 1 : year
    let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
    // 1970-01-01 is day 719468 counted from 0000-03-01; year 0 in January is the year -1, whose quotient must round
    // down.
    let leapDays = year >= 0 ? year / 4 - year / 100 + year / 400 : -1
    return year * 365 + leapDays + dayOfYear - 719_468
  }
}
