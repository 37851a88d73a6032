import Foundation
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

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

private struct Point: Codable, Hashable, SqlJSON {
  var x: Int
  var y: Int
}

private enum Direction: Int, Codable, SqlValue { case north, south }

@Suite struct CodableValueTests {
  private func text(_ value: some SqlValue) throws -> String { try String(databaseValue: value.databaseValue) }

  /// Expects one text of equal sets or dictionaries. Different capacities give their elements different orders.
  private func expectOneText<Value: SqlValue & Equatable>(
    _ expected: String? = nil, sourceLocation: SourceLocation = #_sourceLocation, _ make: (Int) -> Value
  ) throws {
    let values = (0..<40).map { make($0 * 7) }
    #expect(values.allSatisfy { $0 == values[0] }, sourceLocation: sourceLocation)
    let texts = try Set(values.map(text))
    #expect(texts.count == 1, "\(texts)", sourceLocation: sourceLocation)
    #expect(texts.first == expected ?? texts.first, "\(texts)", sourceLocation: sourceLocation)
    #expect(try Value(databaseValue: values[0].databaseValue) == values[0], sourceLocation: sourceLocation)
  }

  private func set<Element: Hashable>(_ capacity: Int, _ elements: [Element]) -> Set<Element> {
    var set = Set<Element>(minimumCapacity: capacity)
    for element in elements.shuffled() { set.insert(element) }
    return set
  }

  private func dictionary<Key: Hashable, Value>(_ capacity: Int, _ pairs: [(Key, Value)]) -> [Key: Value] {
    var dictionary = [Key: Value](minimumCapacity: capacity)
    for (key, value) in pairs.shuffled() { dictionary[key] = value }
    return dictionary
  }

  @Test func equalSetsAndDictionariesHaveEqualText() throws {
    let points = (0..<9).map { Point(x: $0, y: 9 - $0) }
    try expectOneText(#"["blue","green","red"]"#) { set($0, ["red", "blue", "green"]) }
    try expectOneText("[1,10,2,3]") { set($0, [1, 2, 3, 10]) }
    try expectOneText { set($0, points) }
    try expectOneText { Optional(set($0, points)) }
    try expectOneText("[[1,2],[3,4],null]") { capacity in
      set(capacity, [set(capacity, [1, 2]), set(capacity, [3, 4]), nil])
    }
    try expectOneText { capacity in [set(capacity, points), set(capacity, points)] }
    try expectOneText(#"{"a":[1,2,3],"b":[]}"#) { capacity in
      dictionary(capacity, [("a", set(capacity, [1, 2, 3])), ("b", [])])
    }
    try expectOneText(#"{"1":["a","b"],"12":[]}"#) { capacity in
      dictionary(capacity, [(1, set(capacity, ["a", "b"])), (12, [])])
    }
    try expectOneText(#"[{"x":1,"y":2},"one",{"x":3,"y":4},"three"]"#) { capacity in
      dictionary(capacity, [(Point(x: 1, y: 2), "one"), (Point(x: 3, y: 4), "three")])
    }
    try expectOneText("[0,1,1,2]") { capacity in dictionary(capacity, [(Direction.north, 1), (.south, 2)]) }
    try expectOneText { capacity in [dictionary(capacity, points.map { ($0, set(capacity, points)) })] }
    #expect(try text(Set<Int>()) == "[]")
    #expect(try text([Point: Int]()) == "[]")
    #expect(try text([String: Set<Int>]()) == "{}")
    #expect(throws: SqlError.self) { try text(Set([Double.infinity])) }
  }

  @Test func equalSetsAreFoundAndUnique() throws {
    try withDatabase { db in
      typealias Row = Stored<Set<String>, TextForm>
      try db.createTable(Row.self)
      try db.execute("CREATE UNIQUE INDEX one ON stored (value)")
      try Row(["red", "blue", "green"]).insert().run(db)
      for capacity in 0..<40 {
        let same = set(capacity * 7, ["red", "blue", "green"])
        #expect(try Row.count().filter(Row.value == same).run(db) == 1)
        expectError(.constraint(.unique)) { try Row(same).insert().run(db) }
      }
    }
  }

  @Test func aDictionaryWithTwoEntriesForOneKeyIsRefused() throws {
    let found = "TEXT with a duplicate key"
    func expectRefusal<Value: SqlValue>(
      _ sql: String, _ type: Value.Type, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
      let error = try errorReading(sql, as: type, in: TextForm.self)
      let expected = SqlError.Mismatch(expected: "the JSON of \(type)", found: found)
      #expect(error?.kind == .decoding(expected), "\(String(describing: error))", sourceLocation: sourceLocation)
    }
    try expectRefusal(#"'{"1":"one","01":"ONE"}'"#, [Int: String].self)
    try expectRefusal("'[0,1,0,2]'", [Direction: Int].self)
    try expectRefusal(#"'[{"x":1,"y":2},"a",{"y":2,"x":1},"b"]'"#, [Point: String].self)
    #expect(try [Int: String](databaseValue: .text(#"{"1":"one","2":"ONE"}"#)) == [1: "one", 2: "ONE"])
    #expect(try [Direction: Int](databaseValue: .text("[0,1,1,2]")) == [.north: 1, .south: 2])
    #expect(try [Direction: Int](databaseValue: .text("[]")).isEmpty)
    #expect(try [Int: Int](databaseValue: .text("{}")).isEmpty)
  }

  @Test func enumsAreStoredAsTheirRawValues() throws {
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

  @Test func codableStructsAreStoredAsJSON() throws {
    let rex = Pet(name: "Rex \"\0🐕\\", age: 3, born: Date(timeIntervalSince1970: 1_357_020_000.5))
    try expectRoundTrip([rex, Pet(name: "", age: .min), Pet(name: "Pack", age: .max, friends: [rex, rex])])
    try withDatabase { db in
      try db.createTable(Stored<Pet, TextForm>.self)
      try Stored<Pet, TextForm>(Pet(name: "a/b", age: 3)).insert().run(db)
      #expect(try db.query("SELECT value FROM stored", as: String.self) == [#"{"age":3,"name":"a/b"}"#])
    }
  }

  @Test func arraysSetsAndDictionariesAreStoredAsJSON() throws {
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

  @Test func jsonIsReadFromTextOnly() throws {
    #expect(try errorReading("5", as: [Int].self, in: TextForm.self)?.mismatch?.found == "INTEGER")
    #expect(try errorReading("x'5b5d'", as: [Int].self, in: TextForm.self)?.mismatch?.found == "BLOB")
    #expect(try errorReading("NULL", as: [Int].self, in: TextForm.self)?.mismatch?.found == "NULL")
  }

  @Test func numbersThatJSONCannotHoldAreRefused() throws {
    for numbers in [[Double.nan], [.infinity], [1, -.infinity]] {
      let error = try errorStoring(numbers, in: TextForm.self)
      let mismatch = SqlError.Mismatch(
        expected: "a value that JSON can represent", found: "a value that JSONEncoder can't encode")
      #expect(error?.kind == .encoding(mismatch))
      #expect(error?.column == "value")
    }
  }

  @Test func deepJSONThrowsAnError() throws {
    let deep = String(repeating: "[", count: 100_000)
    #expect(try errorReading("'\(deep)'", as: [Int].self, in: TextForm.self)?.isDecoding == true)
  }

  @Test func nullIsStoredAsNULLAndReadFromNULLOnly() throws {
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
