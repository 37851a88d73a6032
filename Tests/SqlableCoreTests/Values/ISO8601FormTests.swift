import Foundation
import Testing

@testable import SqlableCore
@testable import SqlableTestSupport

/// The fast parser of the library's date format, compared with the general parser.
@Suite struct ISO8601FormTests {
  private func quick(_ text: String) -> Double? {
    var text = text
    return text.withUTF8 { ISO8601Date.secondsSince1970(ofCanonicalForm: UnsafeRawBufferPointer($0)) }
  }

  @Test func bothParsersAgreeOnDatesOfAllYears() {
    var random = SeededGenerator(seed: SeededGenerator.seed)
    for _ in 0..<20_000 {
      let seconds = Double(Int.random(in: -62_167_219_200_000...253_402_300_799_999, using: &random)) / 1000
      for isSQLite in [false, true] {
        guard let text = ISO8601Date.text(secondsSince1970: seconds, inSQLitesForm: isSQLite) else { continue }
        #expect(quick(text) != nil, "\(text)")
        #expect(quick(text) == ISO8601Date.secondsSince1970(text), "\(text)")
      }
    }
    for text in [
      "0000-01-01T00:00:00.000Z", "2000-02-29T23:59:59.999Z", "9999-12-31T23:59:59.999Z", "0000-01-01 00:00:00.000",
      "2000-02-29 23:59:59.999", "9999-12-31 23:59:59.999", "0000-01-01 00:00:00", "9999-12-31 23:59:59",
    ] {
      #expect(quick(text) != nil, "\(text)")
      #expect(quick(text) == ISO8601Date.secondsSince1970(text), "\(text)")
    }
  }

  /// With any byte replaced, the fast parser returns the general parser's date or none.
  @Test func theFastParserRefusesOrAgreesAfterAByteChanges() {
    for text in [
      "2013-01-01T06:00:00.000Z", "2024-02-29T23:59:59.999Z", "2023-02-28T19:38:47.120Z", "2013-01-01 06:00:00.000",
      "2024-02-29 23:59:59.999", "2024-02-29 23:59:59",
    ] {
      let bytes = Array(text.utf8)
      for position in bytes.indices {
        for byte in UInt8.min...UInt8.max {
          var changed = bytes
          changed[position] = byte
          let found = changed.withUnsafeBytes { ISO8601Date.secondsSince1970(ofCanonicalForm: $0) }
          let expected = byte < 128 ? ISO8601Date.secondsSince1970(String(decoding: changed, as: UTF8.self)) : nil
          // The general parser accepts other separators too.
          if let found { #expect(found == expected, "\(position) \(byte)") }
          if byte >= 48, byte <= 57 { #expect(found == expected, "\(position) \(byte)") }
        }
      }
    }
    for text in [
      "", "2013-01-01T06:00:00Z", "2013-01-01 06:00:00.0000", "2013-02-30T06:00:00.000Z", "2023-02-29T06:00:00.000Z",
      "2013-01-01 06:00:00.000Z", "2013-01-01T06:00:00.000", "2013-01-01T06:00:00", "2013-02-30 06:00:00.000",
    ] {
      #expect(quick(text) == nil)
    }
  }
}
