import Foundation
import Testing

@testable import Flights

/// What a field becomes as a value, and what it is refused as.
@Suite struct CSVValueTests {
  /// The value of the first field of a record, or what is wrong with it.
  private func value<Value>(
    _ field: String, _ read: (borrowing CSVReader<Letters>) throws(CSVError) -> Value
  ) throws -> Result<Value, CSVError> {
    try withFile(Array("a,b_b,c\n\(field),1,1\n".utf8)) { path in
      var reader = try CSVReader<Letters>.open(path)
      try #require(try reader.advance())
      do throws(CSVError) {
        return .success(try read(reader))
      } catch {
        return .failure(error)
      }
    }
  }

  private func refused<Value>(_ problem: CSVError.Problem) -> Result<Value, CSVError> {
    .failure(CSVError(line: 2, column: "a", problem: problem))
  }

  private func int(_ field: String) throws -> Result<Int, CSVError> {
    try value(field) { line throws(CSVError) in try line.int(.a) }
  }

  private func double(_ field: String) throws -> Result<Double, CSVError> {
    try value(field) { line throws(CSVError) in try line.double(.a) }
  }

  private func date(_ field: String) throws -> Result<Date, CSVError> {
    try value(field) { line throws(CSVError) in try line.date(.a) }
  }

  // MARK: Numbers

  @Test(arguments: [
    ("0", 0), ("-0", 0), ("+5", 5), ("007", 7), ("-12", -12), ("\"34\"", 34),
    ("9223372036854775807", .max), ("+9223372036854775807", .max), ("-9223372036854775808", .min),
    ("0000000000000000000000000000001", 1),
  ])
  func wholeNumbersOf64BitsAreRead(field: String, expected: Int) throws {
    #expect(try int(field) == .success(expected))
  }

  @Test(arguments: [
    "9223372036854775808", "-9223372036854775809", "18446744073709551616", "18446744073709551617",
    "-18446744073709551616", "99999999999999999999999999999999999",
  ])
  func aNumberBeyond64BitsIsOutOfRange(field: String) throws {
    #expect(try int(field) == refused(.outOfRange))
  }

  @Test(arguments: [
    "", "\"\"", "-", "+", "--1", "+-1", "1-", "1.0", "1e3", " 1", "1 ", "0x1F", "1_000", "\"1,000\"", "١", "a", "Na",
    "\"NA\"", "99999999999999999999999x",
  ])
  func whatIsNoWholeNumberIsRefused(field: String) throws {
    #expect(try int(field) == refused(.notAnInteger))
    #expect(try value(field) { line throws(CSVError) in try line.optionalInt(.a) } == refused(.notAnInteger))
  }

  @Test func aMissingNumberIsNilOrRefused() throws {
    #expect(try int("NA") == refused(.missing))
    #expect(try double("NA") == refused(.missing))
    #expect(try value("NA") { line throws(CSVError) in try line.optionalInt(.a) } == .success(nil))
    #expect(try value("7") { line throws(CSVError) in try line.optionalInt(.a) } == .success(7))
    #expect(try value("NA") { line throws(CSVError) in try line.optionalDouble(.a) } == .success(nil))
    #expect(try value("0.5") { line throws(CSVError) in try line.optionalDouble(.a) } == .success(0.5))
    #expect(try value("NA") { line in line.isMissing(.a) } == .success(true))
    #expect(try value("\"NA\"") { line in line.isMissing(.a) } == .success(false))
  }

  @Test(arguments: [("1", 1), ("-80.6195833", -80.6195833), ("1e3", 1000), (".5", 0.5), ("\"2.5\"", 2.5), ("-0", 0)])
  func decimalNumbersAreRead(field: String, expected: Double) throws {
    #expect(try double(field) == .success(expected))
  }

  @Test(arguments: ["", "x", "inf", "-infinity", "nan", "1e999", " 1", "1 ", "1.2.3", "\"1,5\"", "-"])
  func whatIsNoFiniteNumberIsRefused(field: String) throws {
    #expect(try double(field) == refused(.notANumber))
    #expect(try value(field) { line throws(CSVError) in try line.optionalDouble(.a) } == refused(.notANumber))
  }

  // MARK: Text

  @Test func missingTextIsNilOrRefusedAndEmptyTextIsText() throws {
    #expect(try value("NA") { line throws(CSVError) in try line.text(.a) } == refused(.missing))
    #expect(try value("NA") { line throws(CSVError) in try line.optionalText(.a) } == .success(nil))
    #expect(try value("\"NA\"") { line throws(CSVError) in try line.text(.a) } == .success("NA"))
    #expect(try value("") { line throws(CSVError) in try line.text(.a) } == .success(""))
    #expect(try value("") { line throws(CSVError) in try line.optionalText(.a) } == .success(""))
  }

  // MARK: Dates

  @Test(arguments: [
    ("1970-01-01T00:00:00Z", 0), ("1969-12-31T23:59:59Z", -1), ("2013-01-01T10:00:00Z", 1_357_034_400),
    ("2000-02-29T23:59:59Z", 951_868_799), ("1900-03-01T00:00:00Z", -2_203_891_200),
    ("0000-01-01T00:00:00Z", -62_167_219_200), ("9999-12-31T23:59:59Z", 253_402_300_799),
  ])
  func timesInUTCAreRead(field: String, seconds: Double) throws {
    #expect(try date(field) == .success(Date(timeIntervalSince1970: seconds)))
  }

  @Test(arguments: [
    "", "x", "2013-01-01", "2013-01-01T10:00:00", "2013-01-01T10:00:00z", "2013-01-01 10:00:00Z",
    "2013-01-01T10:00:00+00:00", "2013-01-01T10:00:00.0Z", "13-01-01T10:00:00Z", "2013-1-01T10:00:00Z",
    "2013-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2013-04-31T00:00:00Z", "2013-00-01T00:00:00Z",
    "2013-13-01T00:00:00Z", "2013-01-00T00:00:00Z", "2013-01-32T00:00:00Z", "2013-01-01T24:00:00Z",
    "2013-01-01T00:60:00Z", "2013-01-01T00:00:60Z", "-013-01-01T00:00:00Z", "2013-01-01T0 :00:00Z", "\"NA\"",
  ])
  func whatIsNoTimeInUTCIsRefused(field: String) throws {
    #expect(try date(field) == refused(.notADate))
  }

  @Test func aMissingTimeIsRefused() throws {
    #expect(try date("NA") == refused(.missing))
  }

  @Test(arguments: [0...4, 98...101, 1599...1601, 1890...2110, 9996...9999])
  func everyDayFollowsTheDayBefore(years: ClosedRange<Int>) throws {
    func digits(_ number: Int, _ count: Int) -> String {
      String(repeating: "0", count: count - String(number).count) + String(number)
    }
    func seconds(_ year: Int, _ month: Int, _ day: Int) -> Double? {
      let text = "\(digits(year, 4))-\(digits(month, 2))-\(digits(day, 2))T00:00:00Z"
      return Array(text.utf8).withUnsafeBufferPointer { Date(utc: $0) }?.timeIntervalSince1970
    }
    var expected = try #require(seconds(years.lowerBound, 1, 1))
    for year in years {
      let isLeap = year % 400 == 0 || (year % 4 == 0 && year % 100 != 0)
      for (month, days) in [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31].enumerated() {
        for day in 1...days {
          if seconds(year, month + 1, day) != expected { Issue.record("\(year)-\(month + 1)-\(day)") }
          expected += 86_400
        }
        #expect(seconds(year, month + 1, days + 1) == nil)
      }
    }
  }

  // MARK: Words

  @Test func aWordThatNoCaseStandsForIsRefused() throws {
    let header = "tailnum,year,type,manufacturer,model,engines,seats,speed,engine\n"
    try withFile(Array((header + "N1,NA,Rotorcraft,a,b,1,2,NA,c\nN2,NA,Zeppelin,a,b,1,2,NA,c\n").utf8)) { path in
      var reader = try CSVReader<Plane.CSV>.open(path)
      try #require(try reader.advance())
      #expect(try Plane(csv: reader).kind == .rotorcraft)
      try #require(try reader.advance())
      #expect(throws: CSVError(line: 3, column: "type", problem: .unknownWord)) { try Plane(csv: reader) }
    }
  }
}
