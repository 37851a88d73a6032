import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

private struct Docket: Equatable {
  var id: Int
  var body: JSON
  var tags: [String]
  var other: JSON?
  var point: Dot
}

private struct Dot: Codable, Equatable, SqlJSON {
  var x: Int
  var name: String
}

extension Docket: Sqlable {
  static let id = column("id", Int.self, PrimaryKey())
  static let body = column("body", JSON.self)
  static let tags = column("tags", [String].self, as: .blob, Default([String]()))
  static let other = column("other", JSON?.self, as: .blob)
  static let point = column("point", Dot.self, as: .blob)
  static let tableLayout = [id.column, body.column, tags.column, other.column, point.column]

  func write(to row: inout RowWriter) throws {
    row.set(Docket.id, id)
    row.set(Docket.body, body)
    row.set(Docket.tags, tags)
    row.set(Docket.other, other)
    row.set(Docket.point, point)
  }

  init(row: ReadRow) throws {
    id = try row.get(Docket.id)
    body = try row.get(Docket.body)
    tags = try row.get(Docket.tags)
    other = try row.get(Docket.other)
    point = try row.get(Docket.point)
  }

  init(_ id: Int, _ body: JSON, tags: [String] = [], other: JSON? = nil) {
    (self.id, self.body, self.tags, self.other) = (id, body, tags, other)
    point = Dot(x: id, name: "p\(id)")
  }
}

/// JSON of unknown shape, and JSON in BLOB columns.
@Suite struct JSONValueTests {
  private func withNotes(_ notes: [Docket], _ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.createTable(Docket.self)
      try Docket.insert(notes).run(db)
      try body(db)
    }
  }

  @Test func equalValuesHaveEqualText() throws {
    let value: JSON = ["b": [1, 2.5, true, nil, "é\"\n"], "a": ["z": [:], "y": []], "max": 9_223_372_036_854_775_807]
    let same: JSON = ["max": .integer(.max), "a": ["y": [], "z": [:]], "b": [1.0, 2.5, true, nil, "é\"\n"]]
    #expect(value == same)
    #expect(value.hashValue == same.hashValue)
    let text = #"{"a":{"y":[],"z":{}},"b":[1,2.5,true,null,"é\"\n"],"max":9223372036854775807}"#
    #expect(try value.text == text)
    #expect(try same.text == text)
    try withNotes([Docket(1, value)]) { (db: SqliteDatabase) throws in
      #expect(try db.query("SELECT body FROM docket", as: String.self) == [text])
      #expect(try Docket.read(Docket.body == same).run(db) == [Docket(1, same)])
      #expect(try Docket.select(Docket.body.jsonValue("b", 1, as: Double.self)).run(db) == [2.5])
    }
    #expect(value["b"]?[1]?.number == 2.5)
    #expect(value["b"]?[9] == nil)
    #expect(value["c"] == nil)
    #expect(value[0] == nil)
    #expect(value["max"]?.integer == .max)
    #expect(value["b"]?[2]?.bool == true)
    #expect(value["b"]?[3]?.isNull == true)
    var changed = value
    changed["b"] = "new"
    changed["a"] = nil
    #expect(changed == ["b": "new", "max": .integer(.max)])
  }

  @Test func jsonNullDiffersFromSQLNull() throws {
    try withNotes([Docket(1, nil, other: JSON.null), Docket(2, 1, other: nil)]) { (db: SqliteDatabase) throws in
      #expect(try db.query("SELECT typeof(other) FROM docket ORDER BY id", as: String.self) == ["blob", "null"])
      #expect(try Docket.read().orderBy(Docket.id).run(db).map(\.other) == [.some(.null), nil])
    }
  }

  @Test func textThatIsNoJSONIsRefused() throws {
    try withNotes([Docket(1, 0)]) { (db: SqliteDatabase) throws in
      let nested = String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000)
      let deep = String(repeating: #"{"a":"#, count: 101) + "1" + String(repeating: "}", count: 101)
      for text in [
        "", "{", "nul", "[1,]", "01", "'a'", #"{"a":1,"a":2}"#, #"{"é":1,"e\u0301":2}"#, nested, deep, "1e999",
      ] {
        try db.execute("UPDATE docket SET body = \(text)")
        let error = sqlError { _ = try Docket.read().run(db) }
        guard case .decoding = error?.kind else {
          Issue.record("\(text.prefix(20)): \(String(describing: error))")
          continue
        }
        #expect(error?.table == "docket")
        #expect(error?.column == "body")
        #expect(error?.rowId == 1)
        #expect(!"\(error!)".contains("[[["))
      }
      try db.execute("UPDATE docket SET body = x'ff'")
      #expect(throws: SqlError.self) { try Docket.read().run(db) }
    }
  }

  @Test func deepValuesNeedLittleStack() throws {
    let text = String(repeating: #"[{"a":"#, count: 50) + "1" + String(repeating: "}]", count: 50)
    try onThread(stackSize: smallStack) {
      let value = try JSON(text: text)
      let (found, copy) = (try value.text, try JSON(databaseValue: .text(text)))
      #expect(found == text)
      #expect(copy == value)
      var deep = value
      for _ in 0..<10 { deep = [deep] }
      let error = sqlError { _ = try deep.databaseValue }
      #expect(error?.message.contains("nested too deeply") == true)
      for count in [102, 250, 450, 600, 100_000] {
        let list = String(repeating: "[", count: count) + String(repeating: "]", count: count)
        #expect(throws: SqlError.self) { try [JSON](databaseValue: .text(list)) }
      }
      let list = "[[[[1]]]]"
      #expect(try [JSON](databaseValue: .text(list)) == [[[[1]]]])
    }
    #expect(throws: SqlError.self) { try JSON.number(.infinity).databaseValue }
  }

  @Test func randomValuesComeBack() throws {
    var random = SeededGenerator(seed: SeededGenerator.seed)
    func value(_ depth: Int) -> JSON {
      switch Int.random(in: 0..<(depth > 4 ? 5 : 7), using: &random) {
      case 0: .null
      case 1: .bool(random.chance(50))
      case 2: .integer(Int64(bitPattern: random.next()))
      case 3:
        .number(
          {
            let number = Double(bitPattern: random.next())
            return number.isFinite ? number : 0x1p60
          }())
      case 4: .string(random.pick(["", "a\u{0}b", "é", "\u{1F600}\\", "\"\u{7F}\u{1F}"]))
      case 5: .array((0..<random.pick([0, 1, 3])).map { _ in value(depth + 1) })
      default: .object(Dictionary((0..<random.pick([0, 1, 4])).map { ("k\($0)", value(depth + 1)) }) { $1 })
      }
    }
    let notes = (0..<300).map { Docket($0, value(0), other: value(3)) }
    try withNotes(notes) { (db: SqliteDatabase) throws in
      #expect(try Docket.read().orderBy(Docket.id).run(db) == notes)
      for note in notes.prefix(50) {
        let found = try Docket.read(Docket.body == note.body).run(db)
        #expect(found.contains(note))
        #expect(found.allSatisfy { $0.body == note.body })
        #expect(try JSONDecoder().decode(JSON.self, from: JSONEncoder().encode(["a": note.body]))["a"] == note.body)
      }
    }
  }

  @Test func jsonCanBeStoredAsBytes() throws {
    let note = Docket(1, [:], tags: ["red", "é"], other: ["a": [1, 2]])
    try withNotes([note, Docket(2, [:])]) { (db: SqliteDatabase) throws in
      let rows = try db.query("SELECT typeof(tags) || typeof(point) || CAST(tags AS TEXT) FROM docket", as: String.self)
      #expect(rows == [#"blobblob["red","é"]"#, "blobblob[]"])
      #expect(try Docket.read(Docket.id == 1).run(db) == [note])
      #expect(try Docket.read(Docket.tags == ["red", "é"] && Docket.point == Dot(x: 1, name: "p1")).run(db) == [note])
      #expect(try Docket.read(Docket.tags.in([["red", "é"], ["x"]])).evaluate(over: [note]) == [note])
      try db.execute("INSERT INTO docket (id, body, point) VALUES (3, '1', CAST('{\"name\":\"q\",\"x\":7}' AS BLOB))")
      #expect(try Docket.read(Docket.id == 3).run(db).map { "\($0.point.x)\($0.tags)" } == ["7[]"])
      // Another program may have stored text.
      try db.execute(#"UPDATE docket SET point = '{"name":"t","x":8}' WHERE id = 3"#)
      #expect(try Docket.read(Docket.id == 3).run(db).map(\.point.x) == [8])
      try db.execute("UPDATE docket SET point = x'ff' WHERE id = 3")
      #expect(throws: SqlError.self) { try Docket.read().run(db) }
    }
  }

  @Test func functionsOfJSONReadBytesAsText() throws {
    try withNotes([Docket(1, [:], tags: ["red", "é"], other: ["a": [1, 2]]), Docket(2, [:], tags: ["x"])]) {
      (db: SqliteDatabase) throws in
      let select = Docket.select(Docket.point.jsonValue("name", as: String.self)).orderBy(Docket.id)
      #expect(select.sql == #"SELECT CAST("point" AS TEXT) ->> '$.name' FROM "docket" ORDER BY "id""#)
      #expect(try select.run(db) == ["p1", "p2"])
      #expect(try Docket.select(Docket.tags.jsonArrayLength()).orderBy(Docket.id).run(db) == [2, 1])
      #expect(try Docket.select(Docket.other.jsonExtract("a", 1, as: Int.self)).orderBy(Docket.id).run(db) == [2, nil])
      #expect(try Docket.select(Docket.tags.json(0)).orderBy(Docket.id).run(db) == [#""red""#, #""x""#])
      #expect(try Docket.select(Docket.point.jsonType("x")).orderBy(Docket.id).run(db) == ["integer", "integer"])
      #expect(try Docket.read(Docket.tags.jsonContains("é")).run(db).map(\.id) == [1])
      let tag = JSONEach(Docket.tags, as: "tag")
      #expect(try Docket.select(tag.value(as: String.self)).joining(tag).run(db) == ["red", "é", "x"])
    }
  }
}

/// A color of the palette, or one of the user.
private enum Paint: Hashable, RawRepresentable, SqlValue {
  case black, red
  case custom(String)

  init?(rawValue: String) {
    switch rawValue {
    case "": return nil
    case "black": self = .black
    case "red": self = .red
    default: self = .custom(rawValue)
    }
  }

  var rawValue: String {
    switch self {
    case .black: "black"
    case .red: "red"
    case .custom(let name): name
    }
  }
}

private enum Shape: Codable, Hashable, SqlJSON {
  case circle(radius: Double)
  case polygon([Int])
  case none
}

private struct Drawing: Equatable {
  var id: Int
  var paint: Paint
  var shape: Shape
}

extension Drawing: Sqlable {
  static let id = column("id", Int.self, PrimaryKey())
  static let paint = column("paint", Paint.self, Default(Paint.red))
  static let shape = column("shape", Shape.self)
  static let tableLayout = [id.column, paint.column, shape.column]

  func write(to row: inout RowWriter) throws {
    row.set(Drawing.id, id)
    row.set(Drawing.paint, paint)
    row.set(Drawing.shape, shape)
  }

  init(row: ReadRow) throws {
    id = try row.get(Drawing.id)
    paint = try row.get(Drawing.paint)
    shape = try row.get(Drawing.shape)
  }

  init(_ id: Int, _ paint: Paint, _ shape: Shape) { (self.id, self.paint, self.shape) = (id, paint, shape) }
}

/// Enums with associated values.
@Suite struct PayloadEnumTests {
  private let drawings = [
    Drawing(1, .black, .circle(radius: 1.5)), Drawing(2, .custom("#0a0b0c"), .polygon([1, 2])), Drawing(3, .red, .none),
  ]

  @Test func enumsWithValuesAreStored() throws {
    try withDatabase { db in
      try db.createTable(Drawing.self)
      try Drawing.insert(drawings).run(db)
      #expect(try Drawing.read().orderBy(Drawing.id).run(db) == drawings)
      #expect(
        try db.query("SELECT paint || ' ' || shape FROM drawing ORDER BY id", as: String.self) == [
          #"black {"circle":{"radius":1.5}}"#,
          ##"#0a0b0c {"polygon":{"_0":[1,2]}}"##,
          #"red {"none":{}}"#,
        ])
      #expect(try Drawing.read(Drawing.paint == .custom("#0a0b0c")).run(db).map(\.id) == [2])
      #expect(try Drawing.read(Drawing.shape.in([.none, .circle(radius: 1.5)])).run(db).map(\.id) == [1, 3])
      // The case `red` and `custom("red")` have the same text, which is read as the case.
      #expect(try Drawing.read(Drawing.paint == .custom("red")).run(db).map(\.paint) == [.red])
      try db.execute("UPDATE drawing SET paint = '' WHERE id = 1")
      expectDecoding("a raw value of Paint", "an unknown raw value") { _ = try Drawing.read().run(db) }
      try db.execute(#"UPDATE drawing SET paint = 'red', shape = '{"square":{}}' WHERE id = 1"#)
      #expect(throws: SqlError.self) { try Drawing.read().run(db) }
    }
  }
}

extension JSONValueTests {
  /// SQLite's functions read such a number as infinity.
  @Test func aNumberTooLargeForADoubleIsRefusedWithItsReason() throws {
    for text in ["1e400", "-1e400", #"{"a":[1e309]}"#] {
      let error = sqlError { _ = try JSON(text: text) }
      #expect(error?.message.contains("number too large") == true, "\(String(describing: error))")
      #expect(sqlError { _ = try [Double](databaseValue: .text("[\(text)]")) } != nil)
    }
    #expect(throws: SqlError.self) { try JSON.number(.infinity).text }
  }
}
