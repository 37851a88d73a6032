import Foundation
import Sqlable
import Testing

enum Gender: Int, SqlValue {
  case female, male
  case other = -7
}

enum Size: String, SqlValue {
  case small
  case large = "l'arge \"🚲\""
  case empty = ""
}

enum Priority: UInt64, SqlValue {
  case low = 1
  case unstorable = 0xFFFF_FFFF_FFFF_FFFF
}

struct Tags: OptionSet, SqlValue { let rawValue: Int }

struct Pet: Codable, SqlJSON, Equatable {
  var name: String
  var age: Int
  var born: Date?
  var friends: [Pet]?
}

@Suite struct CodableValueTests {
  @Test func enumsAreTheirRawValues() throws {
    try expectRoundTrip([Gender.female, .male, .other])
    try expectRoundTrip([Size.small, .large, .empty])
    try expectRoundTrip([Tags(rawValue: 0), Tags(rawValue: 5)])
    try expectRoundTrip([Priority.low])
    try withDatabase { db in
      try db.createTable(Stored<Gender, IntegerForm>.self)
      try Stored<Gender, IntegerForm>(.other).insert().run(db)
      #expect(try db.query("SELECT value FROM stored", as: Int.self) == [-7])
      let less = Stored<Gender, IntegerForm>.value < Gender.male
      #expect(try Stored<Gender, IntegerForm>.count().filter(less).run(db) == 1)
    }
  }

  @Test func aRawValueThatDoesNotFitIsRefused() throws {
    let error = try errorStoring(Priority.unstorable, in: IntegerForm.self)
    #expect(error?.isEncoding == true)
    #expect(error?.column == "value")
  }

  @Test func anUnknownRawValueIsRefused() throws {
    let integer = try errorReading("3", as: Gender.self, in: IntegerForm.self)
    #expect(integer?.kind == .decoding(.init(expected: "a raw value of Gender", found: "an unknown raw value")))
    #expect(integer?.rowId == 7)
    let text = try errorReading("'medium'", as: Size.self, in: TextForm.self)
    #expect(text?.kind == .decoding(.init(expected: "a raw value of Size", found: "an unknown raw value")))
    #expect(try errorReading("'0'", as: Gender.self, in: IntegerForm.self)?.mismatch?.found == "TEXT")
    #expect(try errorReading("NULL", as: Size.self, in: TextForm.self)?.mismatch?.found == "NULL")
  }

  @Test func codableStructsAreJSON() throws {
    let rex = Pet(name: "Rex \"\0🐕\\", age: 3, born: Date(timeIntervalSince1970: 1_357_020_000.5))
    try expectRoundTrip([rex, Pet(name: "", age: .min), Pet(name: "Pack", age: .max, friends: [rex, rex])])
    try withDatabase { db in
      try db.createTable(Stored<Pet, TextForm>.self)
      try Stored<Pet, TextForm>(Pet(name: "a/b", age: 3)).insert().run(db)
      #expect(try db.query("SELECT value FROM stored", as: String.self) == [#"{"age":3,"name":"a/b"}"#])
    }
  }

  @Test func arraysSetsAndDictionariesAreJSON() throws {
    try expectRoundTrip([[Int](), [1, 2, .max, .min]])
    try expectRoundTrip([["", "a", "\0", "🚲"], []])
    try expectRoundTrip([[1.5, -0.25], [.greatestFiniteMagnitude, .leastNonzeroMagnitude]])
    try expectRoundTrip([[[1], []], [[Int]]()])
    try expectRoundTrip([[1, nil, 3], [Int?]()])
    try expectRoundTrip([Set<String>(["a"]), []])
    try expectRoundTrip([["b": 1, "a": 2], [:]])
    try expectRoundTrip([[1: "one", 2: "two"], [:]])
    try expectRoundTrip([[[UUID()]: Date(timeIntervalSinceReferenceDate: 5)]])
    try expectRoundTrip([["nested": ["list": [true, false]]]])
    let large = Set((0..<1000).map { "element \($0)" })
    try withDatabase { db in
      typealias Row = Stored<Set<String>, TextForm>
      try db.createTable(Row.self)
      try Row(large).insert().run(db)
      #expect(try Row.read().run(db).map(\.value) == [large])
    }
  }

  @Test(arguments: [
    "", "{", "[1,2", "nul", #"{"name":"x"}"#, #"{"name":1,"age":2}"#, "[]", "null", #"{"age":1e99,"name":""}"#,
  ])
  func malformedJSONIsRefused(text: String) throws {
    let error = try errorReading("'\(text)'", as: Pet.self, in: TextForm.self)
    #expect(error?.isDecoding == true)
    #expect(error?.mismatch?.expected == "the JSON of Pet")
    #expect(error?.table == "stored")
    #expect(error?.column == "value")
    #expect(error?.rowId == 7)
  }

  @Test func otherClassesAreNoJSON() throws {
    #expect(try errorReading("5", as: [Int].self, in: TextForm.self)?.mismatch?.found == "INTEGER")
    #expect(try errorReading("x'5b5d'", as: [Int].self, in: TextForm.self)?.mismatch?.found == "BLOB")
    #expect(try errorReading("NULL", as: [Int].self, in: TextForm.self)?.mismatch?.found == "NULL")
  }

  @Test func whatJSONCanNotHoldIsRefused() throws {
    for numbers in [[Double.nan], [.infinity], [1, -.infinity]] {
      let error = try errorStoring(numbers, in: TextForm.self)
      #expect(error?.kind == .encoding(.init(expected: "a value that JSON can represent", found: "another value")))
      #expect(error?.column == "value")
    }
  }

  @Test func deepJSONEndsInAnErrorNotInACrash() throws {
    let deep = String(repeating: "[", count: 100_000)
    #expect(try errorReading("'\(deep)'", as: [Int].self, in: TextForm.self)?.isDecoding == true)
  }

  @Test func nullIsNullAndNothingElse() throws {
    try withDatabase { db in
      typealias Row = Stored<Null, OwnForm<Null>>
      try db.createTable(Row.self)
      try Row(Null()).insert().run(db)
      #expect(try Row.read().run(db).map(\.value) == [Null()])
      #expect(try db.query("SELECT typeof(value) FROM stored", as: String.self) == ["null"])
    }
    let error = try errorReading("0", as: Null.self, in: OwnForm<Null>.self)
    #expect(error?.kind == .decoding(.init(expected: "NULL", found: "INTEGER")))
  }
}
