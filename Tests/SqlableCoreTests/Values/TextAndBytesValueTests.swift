import Foundation
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

@Suite struct TextAndBytesValueTests {
  @Test func textsKeepEveryByte() throws {
    try expectRoundTrip([
      "", " ", "a", "a\0b", "\0", "\0\0\0", "👩‍👩‍👧‍👦🏳️‍🌈", "e\u{301}", "\u{e9}", "ﷺ", "'; DROP TABLE stored; --",
      "\"", "\\", "%_", "line\r\nbreak", "\u{FEFF}bom", "\u{10FFFF}", String(repeating: "x", count: 1 << 20),
      String(repeating: "é", count: 1 << 19) + "\0",
    ])
  }

  /// Swift compares by canonical equivalence, SQLite by bytes. The table stores the bytes.
  @Test func composedAndDecomposedLettersAreNotNormalized() throws {
    try withDatabase { db in
      typealias Row = Stored<String, TextForm>
      try db.createTable(Row.self)
      try Row.insert([Row("e\u{301}"), Row("\u{e9}")]).run(db)
      #expect(try Row.read().run(db).map { Array($0.value.utf8) } == [[0x65, 0xcc, 0x81], [0xc3, 0xa9]])
      #expect(try Row.read().filter(Row.value == "\u{e9}").run(db).map(\.id) == [2])
    }
  }

  @Test func bridgedAndSlicedTextsAreStoredWhole() throws {
    let long = String(repeating: "0123456789", count: 10)
    try expectRoundTrip([String(long.dropFirst(3).prefix(70)), String(NSString(string: "ünï\0cödé"))])
  }

  @Test func bytesKeepEveryByte() throws {
    let all = Data((0...255).map { UInt8($0) })
    try expectRoundTrip([Data(), Data([0]), Data([0, 0]), all, Data(repeating: 0xab, count: 1 << 20), all[10..<20]])
  }

  @Test func emptyBytesAreNotNull() throws {
    try withDatabase { db in
      try db.createTable(Stored<Data, BlobForm>.self)
      try Stored<Data, BlobForm>(Data()).insert().run(db)
      #expect(try db.query("SELECT typeof(value) || length(value) FROM stored", as: String.self) == ["blob0"])
      #expect(try db.query("SELECT \(Data())", as: Data.self) == [Data()])
      #expect(try db.query("SELECT typeof(\("")) || typeof(\(Data()))", as: String.self) == ["textblob"])
    }
  }

  @Test func uuidsAreStoredAsBytesOrText() throws {
    let uuids = [UUID(), UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)), UUID()]
    try expectRoundTrip(uuids)
    try expectRoundTrip(uuids, in: TextForm.self)
    try withDatabase { db in
      typealias Row = Stored<UUID, TextForm>
      try db.createTable(Row.self)
      try Row(uuids[0]).insert().run(db)
      #expect(try db.query("SELECT value FROM stored", as: String.self) == [uuids[0].uuidString])
      #expect(try Row.count().filter(Row.value.in(uuids)).run(db) == 1)
      // Reading accepts both forms, whatever the column's type.
      try db.execute("UPDATE stored SET value = \(uuids[1])")
      #expect(try Row.read().run(db).map(\.value) == [uuids[1]])
    }
  }

  @Test func uuidsOfAnotherFormAreRefused() throws {
    for sql in ["x''", "x'00'", "zeroblob(15)", "zeroblob(17)"] {
      let error = try errorReading(sql, as: UUID.self, in: BlobForm.self)
      #expect(
        error?.kind == .decoding(.init(expected: "a UUID as a BLOB of 16 bytes", found: "a BLOB of another length")))
      #expect(error?.rowId == 7)
    }
    for text in ["", "x", "550e8400-e29b-41d4-a716-44665544000", "550e8400e29b41d4a716446655440000"] {
      let error = try errorReading("'\(text)'", as: UUID.self, in: TextForm.self)
      #expect(error?.kind == .decoding(.init(expected: "a UUID", found: "TEXT in another format")), "\(text)")
    }
    let number = try errorReading("5", as: UUID.self, in: BlobForm.self)
    #expect(number?.kind == .decoding(.init(expected: "a UUID as BLOB or TEXT", found: "INTEGER")))
  }

  @Test func urlsAreStoredAsText() throws {
    let urls = try [
      "https://example.com/a?b=c#d", "file:///tmp/a%20b", "mailto:a@example.com", "relative/path", "http://[::1]:80/",
    ].map { try #require(URL(string: $0)) }
    try expectRoundTrip(urls)
    let error = try errorReading("''", as: URL.self, in: TextForm.self)
    #expect(error?.kind == .decoding(.init(expected: "a URL", found: "TEXT that is not a URL")))
  }

  @Test func decimalsKeepEveryDigit() throws {
    let texts = [
      "0", "-1", "0.1", "-0.001", "123456789.123456789", "99999999999999999999999999999999999999",
      "0.12345678901234567890123456789012345678", "-12345678901234567890.123456789012345678", "1e127", "1e-127",
    ]
    let decimals = try texts.map { try #require(Decimal(string: $0)) }
    try expectRoundTrip(decimals + [.greatestFiniteMagnitude, .leastFiniteMagnitude, .leastNonzeroMagnitude])
    #expect(try errorStoring(Decimal.nan, in: TextForm.self)?.isEncoding == true)
  }

  @Test func decimalsAreReadFromOtherSpellings() throws {
    try withDatabase { db in
      let sql: SQL = "SELECT * FROM (VALUES ('1.50'), ('007'), ('+3'), ('-0'), ('.5'), ('5.'), (-9223372036854775807))"
      let expected = ["1.5", "7", "3", "0", "0.5", "5", "-9223372036854775807"].compactMap { Decimal(string: $0) }
      let read = try db.query(sql, as: Decimal.self)
      #expect(read == expected)
    }
  }

  /// The time of `Decimal(string:)` grows with the square of the zeros, so the library skips them first.
  @Test func aDecimalMayHaveAMillionInsignificantZeros() throws {
    let zeros = String(repeating: "0", count: 1_000_000)
    for (text, expected) in [(zeros + "1.5" + zeros, "1.5"), ("-" + zeros + "." + zeros, "0"), ("1." + zeros, "1")] {
      #expect(try Decimal(databaseValue: .text(text)) == Decimal(string: expected))
    }
    let nines = String(repeating: "9", count: 1_000_000)
    for text in ["1" + zeros, "0." + zeros + "1", nines, "0." + nines, zeros + ".." + zeros, zeros + "x"] {
      let error = sqlError { _ = try Decimal(databaseValue: .text(text)) }
      #expect(error?.mismatch?.expected == "a decimal number")
    }
    #expect(try Decimal(databaseValue: .text("1" + zeros.prefix(127))) == Decimal(string: "1e127"))
    #expect(try Decimal(databaseValue: .text("0." + zeros.prefix(126) + "1")) == Decimal(string: "1e-127"))
  }

  @Test(arguments: [
    "", ".", "-", "+", "x", "1x", "1e5", "1,5", "1.2.3", " 1", "1 ", "NaN", "0x10", "٣", "--1", "+-1",
    "123456789012345678901234567890123456789012",
  ])
  func textThatIsNoDecimalIsRefused(text: String) throws {
    let error = try errorReading("'\(text)'", as: Decimal.self, in: TextForm.self)
    #expect(error?.mismatch?.expected == "a decimal number")
    #expect(error?.column == "value")
  }

  /// Invalid UTF-8: lone, truncated, overlong, a surrogate, or above the last scalar.
  @Test(arguments: ["80", "ff", "61c3", "c080", "eda080", "f4908080", "61ff62", "e282", "00ff"])
  func invalidUTF8IsRefused(bytes: String) throws {
    let error = try errorReading("CAST(x'\(bytes)' AS TEXT)", as: String.self, in: TextForm.self)
    #expect(error?.kind == .decoding(.init(expected: "TEXT", found: "TEXT that is not valid UTF-8")))
    #expect(error?.table == "stored")
    #expect(error?.column == "value")
    #expect(error?.rowId == 7)
    try withDatabase { db in
      let sql = SQL(verbatim: "SELECT CAST(x'\(bytes)' AS TEXT)")
      for read in [{ _ = try db.query(sql, as: [Int].self) }, { _ = try db.query(sql, as: Decimal?.self) }] {
        #expect(sqlError(read)?.mismatch?.found == "TEXT that is not valid UTF-8")
      }
    }
  }

  /// Short ASCII, text with NUL bytes, and other text are read in different ways.
  @Test func textOfAnyBytesIsReadUnchangedOrRefused() throws {
    var random = SeededGenerator(seed: SeededGenerator.seed)
    let pieces = ["a", "\u{7f}", "\0", "é", "👩", "\u{FFFD}"].map { Array($0.utf8) } + [[0xff]]
    try withDatabase { db in
      for _ in 0..<5_000 {
        let known = Int.random(in: 1...pieces.count, using: &random)
        let bytes = (0..<Int.random(in: 0...24, using: &random)).flatMap { _ in
          pieces[Int.random(in: 0..<known, using: &random)]
        }
        var read: [String] = []
        let error = sqlError { read = try db.query("SELECT CAST(\(Data(bytes)) AS TEXT)", as: String.self) }
        if let text = String(validating: bytes, as: UTF8.self) {
          #expect(read.map { Array($0.utf8) } == [Array(text.utf8)])
        } else {
          #expect(error?.mismatch?.found == "TEXT that is not valid UTF-8", "\(bytes)")
        }
      }
    }
  }

  @Test func theReplacementCharacterItselfIsValid() throws {
    try expectRoundTrip(["\u{FFFD}", "a\u{FFFD}b", "\u{FFFE}\u{FFFF}"])
  }
}
