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

  @Test func sqlitesFunctionsWriteAndReadTheSameDates() throws {
    var random = SeededGenerator(seed: SeededGenerator.seed)
    try withDatabase { db in
      for _ in 0..<3_000 {
        // SQLite knows no dates outside these years, and a zone shifts a date by less than a day.
        let milliseconds = Int.random(in: -62_167_132_800_000...253_402_214_399_999, using: &random)
        let seconds = Double(milliseconds) / 1000
        let (second, day) = (seconds.rounded(.down), (seconds / 86_400).rounded(.down) * 86_400)
        let written = try db.query(
          """
          SELECT strftime('%Y-%m-%d %H:%M:%f', \(seconds), 'unixepoch') UNION ALL
          SELECT datetime(\(second), 'unixepoch') UNION ALL SELECT date(\(second), 'unixepoch')
          """, as: String.self)
        func rounded(_ seconds: Double?) -> Double? { seconds.map { ($0 * 1000).rounded() } }
        #expect(ISO8601Date.text(secondsSince1970: seconds, inSQLitesForm: true) == written.first)
        #expect(
          written.map { rounded(ISO8601Date.secondsSince1970($0, assumingUTC: true)) }
            == [Double(milliseconds), second * 1000, day * 1000])
        #expect(written.map { rounded(quick($0)) } == [Double(milliseconds), second * 1000, nil])
        let zone = ["", "Z", "+01:00", "-09:30"].randomElement(using: &random) ?? ""
        let text = try #require(written.first).dropLast(Int.random(in: 0...2, using: &random)) + zone
        let read = try db.query("SELECT (julianday(\(String(text))) - 2440587.5) * 86400000.0", as: Double.self)
        let found = ISO8601Date.secondsSince1970(String(text), assumingUTC: true)
        #expect(rounded(found) == read.first?.rounded(), "\(text)")
      }
    }
  }
}
