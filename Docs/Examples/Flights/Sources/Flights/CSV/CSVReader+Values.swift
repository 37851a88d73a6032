import Foundation

/// The fields of the current record as values. `NA` stands for a missing value, a quoted `"NA"` for the two letters:
/// programs that write such files distinguish them like this.
extension CSVReader {
  func isMissing(_ column: Column) -> Bool { isMissing(field(column)) }

  func int(_ column: Column) throws(CSVError) -> Int { try int(field(column), column) }

  func optionalInt(_ column: Column) throws(CSVError) -> Int? {
    let field = field(column)
    return isMissing(field) ? nil : try int(field, column)
  }

  func double(_ column: Column) throws(CSVError) -> Double { try double(field(column), column) }

  func optionalDouble(_ column: Column) throws(CSVError) -> Double? {
    let field = field(column)
    return isMissing(field) ? nil : try double(field, column)
  }

  func text(_ column: Column) throws(CSVError) -> String {
    let field = field(column)
    guard !isMissing(field) else { throw error(.missing, in: column) }
    guard let text = text(of: field) else { throw error(.invalidUTF8, in: column) }
    return text
  }

  func optionalText(_ column: Column) throws(CSVError) -> String? {
    isMissing(column) ? nil : try text(column)
  }

  /// A time in UTC, `2013-01-31T23:00:00Z`.
  func date(_ column: Column) throws(CSVError) -> Date {
    let field = field(column)
    guard !isMissing(field) else { throw error(.missing, in: column) }
    guard let date = Date(utc: bytes(of: field)) else { throw error(.notADate, in: column) }
    return date
  }

  /// The bytes of a field, valid until the next `advance()`.
  private func bytes(of field: Field) -> UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(start: window.bytes + field.start, count: field.count)
  }

  private func isMissing(_ field: Field) -> Bool {
    let bytes = bytes(of: field)
    return bytes.count == 2 && bytes[0] == UInt8(ascii: "N") && bytes[1] == UInt8(ascii: "A") && !field.isQuoted
  }

  private func double(_ field: Field, _ column: Column) throws(CSVError) -> Double {
    guard !isMissing(field) else { throw error(.missing, in: column) }
    // Swift parses "inf" and "nan" as numbers, but a coordinate is neither.
    guard let text = text(of: field), let number = Double(text), number.isFinite else {
      throw error(.notANumber, in: column)
    }
    return number
  }

  private func int(_ field: Field, _ column: Column) throws(CSVError) -> Int {
    guard !isMissing(field) else { throw error(.missing, in: column) }
    var digits = bytes(of: field)[...]
    let isNegative = digits.first == UInt8(ascii: "-")
    if isNegative || digits.first == UInt8(ascii: "+") { digits.removeFirst() }
    guard !digits.isEmpty else { throw error(.notAnInteger, in: column) }
    var number = 0
    var hasOverflowed = false
    for byte in digits {
      let digit = Int(byte) - 48
      guard 0...9 ~= digit else { throw error(.notAnInteger, in: column) }
      // Counted downwards, since the smallest integer has no positive counterpart.
      let (tenfold, overflow) = number.multipliedReportingOverflow(by: 10)
      let (sum, overflow2) = tenfold.subtractingReportingOverflow(digit)
      hasOverflowed = hasOverflowed || overflow || overflow2
      number = sum
    }
    guard !hasOverflowed, isNegative || number > .min else { throw error(.outOfRange, in: column) }
    return isNegative ? number : -number
  }

  /// The text of a field with doubled quotes replaced by single ones; nil if it is not UTF-8.
  func text(of field: Field) -> String? {
    let bytes = bytes(of: field)
    guard field.hasDoubledQuotes else {
      // `String(validating:)` is not specialized in the standard library and costs 60 ns more than this for a tail
      // number.
      let isASCII = bytes.allSatisfy { $0 < 0x80 }
      return isASCII ? String(decoding: bytes, as: UTF8.self) : String(validating: bytes, as: UTF8.self)
    }
    var single: [UInt8] = []
    single.reserveCapacity(bytes.count)
    var index = 0
    while index < bytes.count {
      single.append(bytes[index])
      index += bytes[index] == Byte.quote ? 2 : 1
    }
    return String(validating: single, as: UTF8.self)
  }
}
