import Foundation
import SqlableCodable
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Errors of reading and writing by `Codable`, which name the place and never the value.
@Suite struct CodableRefusalTests {
  private struct Misnamed: SqlCodable {
    var id = 1
    var colorName: String
    static let id = column("id", Int.self, PrimaryKey())
    static let color = column("color", String?.self)
    static let tableLayout = [id.column, color.column]
  }

  @Test func aKeyWithoutAColumnIsReported() throws {
    try withDatabase { db in
      try db.createTable(Misnamed.self)
      let message = """
        the model of table misnamed has the coding key colorName, but no column colorName or color_name; declare the \
        column, or remove the key from CodingKeys
        """
      for _ in 1...2 {
        let written = expectMisuse { try Misnamed(colorName: "red").insert().run(db) }
        #expect(written?.message == message)
        #expect(written?.table == "misnamed")
        #expect(written?.column == "colorName")
      }
      try db.execute("INSERT INTO misnamed VALUES (1, 'red')")
      for _ in 1...2 {
        let read = expectMisuse { _ = try Misnamed.read().run(db) }
        #expect(read?.message == message)
        #expect(read?.table == "misnamed")
        #expect(read?.column == "colorName")
      }
      #expect(try Misnamed.count().run(db) == 1)
    }
  }

  private struct Doubled: SqlCodable {
    var ownerId = 1
    var ownerID = 2
    static let ownerId = column("owner_id", Int.self)
    static let tableLayout = [ownerId.column]
  }

  @Test func twoKeysOfOneColumnAreRefused() throws {
    try withDatabase { db in
      try db.createTable(Doubled.self)
      for _ in 1...2 {
        let error = expectMisuse { try Doubled().insert().run(db) }
        #expect(
          error?.message
            == "the model of table doubled has two coding keys for the column owner_id: ownerId and ownerID")
      }
      try db.execute("INSERT INTO doubled VALUES (1)")
      let error = expectMisuse { _ = try Doubled.read().run(db) }
      #expect(error?.table == "doubled")
      #expect(error?.column == "owner_id")
    }
  }

  // MARK: Shapes that a row does not have

  enum Shape {
    case list, single, nested, nestedList, superclass, superclassKey
  }

  @TaskLocal private static var shape = Shape.list

  private class Base: Codable {
    init() {}
  }

  private struct Shaped: SqlCodable {
    static let id = column("id", Int.self)
    static let tableLayout = [id.column]
    enum CodingKeys: CodingKey { case id }
    init() {}
    init(from decoder: any Decoder) throws {
      switch CodableRefusalTests.shape {
      case .list:
        var list = try decoder.unkeyedContainer()
        _ = try list.decode(Int.self)
      case .single: _ = try decoder.singleValueContainer().decode(Int.self)
      case .nested:
        _ = try decoder.container(keyedBy: CodingKeys.self).nestedContainer(keyedBy: CodingKeys.self, forKey: .id)
      case .nestedList: _ = try decoder.container(keyedBy: CodingKeys.self).nestedUnkeyedContainer(forKey: .id)
      case .superclass: _ = try Base(from: decoder.container(keyedBy: CodingKeys.self).superDecoder())
      case .superclassKey: _ = try Base(from: decoder.container(keyedBy: CodingKeys.self).superDecoder(forKey: .id))
      }
    }
    func encode(to encoder: any Encoder) throws {
      switch CodableRefusalTests.shape {
      case .list:
        var list = encoder.unkeyedContainer()
        try list.encode(1)
      case .single:
        var container = encoder.singleValueContainer()
        // The library throws the error although the model catches it.
        try? container.encode(1)
      case .nested:
        var container = encoder.container(keyedBy: CodingKeys.self)
        var nested = container.nestedContainer(keyedBy: CodingKeys.self, forKey: .id)
        try nested.encode(1, forKey: .id)
      case .nestedList:
        var container = encoder.container(keyedBy: CodingKeys.self)
        _ = container.nestedUnkeyedContainer(forKey: .id)
      case .superclass:
        var container = encoder.container(keyedBy: CodingKeys.self)
        try Base().encode(to: container.superEncoder())
      case .superclassKey:
        var container = encoder.container(keyedBy: CodingKeys.self)
        try Base().encode(to: container.superEncoder(forKey: .id))
      }
    }
  }

  @Test(arguments: [
    (Shape.list, "an unkeyed container"), (.single, "a single-value container"), (.nested, "a nested container"),
    (.nestedList, "a nested container"), (.superclass, ", which a row does not have"),
    (.superclassKey, ", which a row does not have"),
  ]) func modelsThatAreNotCodedByKeysAreRefused(_ shape: Shape, _ says: String) throws {
    try withDatabase { db in
      try db.createTable(Shaped.self)
      try db.execute("INSERT INTO shaped VALUES (1)")
      CodableRefusalTests.$shape.withValue(shape) {
        let read = expectMisuse { _ = try Shaped.read().run(db) }
        #expect(read?.message.contains(says) == true, "\(String(describing: read))")
        #expect(read?.table == "shaped", "\(String(describing: read))")
        let written = expectMisuse { try Shaped().insert().run(db) }
        #expect(written?.message.contains(says) == true, "\(String(describing: written))")
        #expect(written?.table == "shaped", "\(String(describing: written))")
      }
      #expect(try Shaped.count().run(db) == 1)
    }
  }

  // MARK: Values that do not fit

  private enum Rig: String, Codable { case sloop, ketch }

  private struct Sailor: Codable {
    var name: String
    var weight = 1.5
  }

  private struct Craft: SqlCodable {
    var id: Int?
    var small: Int8 = 1
    var big: UInt64 = 1
    var real = 1.5
    var date: Date?
    var rig = Rig.sloop
    var sailor = Sailor(name: "Anna")
    var tally: [String: [Int]]?

    static let id = column("id", Int.self, PrimaryKey())
    static let small = column("small", Int8.self)
    static let big = column("big", UInt64.self)
    static let real = column("real", Double.self)
    static let date = column("date", Date?.self, as: .date(.unixSeconds))
    static let rig = Column("rig", .text)
    static let sailor = Column("sailor", .text)
    static let tally = Column("tally", .nullable(.integer))
    static let tableLayout = [
      id.column, small.column, big.column, real.column, date.column, rig, sailor, tally,
    ]
  }

  @Test(arguments: [
    ("small", "300", "Int8", "an INTEGER out of range"), ("small", "'secret'", "INTEGER", "TEXT"),
    ("big", "-1", "UInt64", "an INTEGER out of range"), ("real", "x'00'", "REAL", "BLOB"),
    ("rig", "'secret'", "a raw value of Rig", "an unknown raw value"), ("rig", "x'01'", "TEXT", "BLOB"),
    ("sailor", "'{\"name\":\"secret\"}'", "the JSON of Sailor", "TEXT that lacks the key weight"),
    ("sailor", "'secret'", "the JSON of Sailor", "TEXT that is not valid JSON"),
    ("sailor", "x'01'", "TEXT", "BLOB"),
    ("date", "'secret'", "a date in ISO 8601 with a zone", "TEXT in another format"),
  ])
  func mismatchedValuesAreReportedWhenRead(
    _ column: String, _ value: String, _ expected: String, _ found: String
  ) throws {
    try withDatabase { db in
      // Columns without types let SQLite store any value unchanged.
      try db.execute("CREATE TABLE craft (id INTEGER PRIMARY KEY, small, big, real, date, rig, sailor, tally)")
      try Craft(id: 7).insert().run(db)
      #expect(try Craft.byId(7).run(db)?.sailor.name == "Anna")
      try db.execute(SQL(verbatim: "UPDATE craft SET \(column) = \(value)"))
      let error = expectDecoding(expected, found) { _ = try Craft.read().run(db) }
      #expect(error?.table == "craft")
      #expect(error?.column == column)
      #expect(error?.rowId == 7)
      #expect(error?.message == "craft.\(column) should hold \(expected), but holds \(found)")
      #expect(error.map { "\($0)".contains("secret") } == false)
      try db.execute(SQL(verbatim: "UPDATE craft SET \(column) = NULL"))
      if column != "date" { #expect(sqlError { _ = try Craft.read().run(db) }?.column == column) }
    }
  }

  @Test func mismatchedValuesAreReportedWhenWritten() throws {
    try withDatabase { db in
      try db.createTable(Craft.self)
      let crafts: [(String, Craft)] = [
        ("big", Craft(big: .max)), ("real", Craft(real: .nan)),
        ("date", Craft(date: Date(timeIntervalSince1970: 0.5))),
        ("sailor", Craft(sailor: Sailor(name: "secret", weight: .infinity))), ("tally", Craft(tally: ["secret": [1]])),
      ]
      for (column, craft) in crafts {
        let error = sqlError { try craft.insert().run(db) }
        guard case .encoding = error?.kind else {
          Issue.record("\(column): \(String(describing: error))")
          continue
        }
        #expect(error?.table == "craft")
        #expect(error?.column == column)
        #expect(error.map { "\($0)".contains("secret") } == false)
      }
      #expect(try Craft.count().run(db) == 0)
    }
  }

  private struct Picky: SqlCodable {
    var id: Int
    var word: String
    static let id = column("id", Int.self, PrimaryKey())
    static let word = column("word", String.self)
    static let tableLayout = [id.column, word.column]
    enum CodingKeys: CodingKey { case id, word }
    init(id: Int, word: String) { (self.id, self.word) = (id, word) }
    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      (id, word) = (try container.decode(Int.self, forKey: .id), try container.decode(String.self, forKey: .word))
      guard id > 0 else {
        throw DecodingError.dataCorruptedError(forKey: .word, in: container, debugDescription: "\(word) is wrong")
      }
    }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      guard id < 100 else {
        throw EncodingError.invalidValue(
          word, .init(codingPath: [CodingKeys.word], debugDescription: "\(word) is wrong"))
      }
      guard id < 90 else { throw CancellationError() }
      try container.encode(id, forKey: .id)
      try container.encode(word, forKey: .word)
    }
  }

  @Test func errorsOfTheModelNameThePlaceAndNotTheValue() throws {
    try withDatabase { db in
      try db.createTable(Picky.self)
      try Picky(id: -5, word: "secret").insert().run(db)
      let read = expectDecoding("Picky", "a value that init(from:) refuses") { _ = try Picky.read().run(db) }
      #expect(read?.table == "picky")
      #expect(read?.column == "word")
      #expect(read?.rowId == -5)
      let written = sqlError { try Picky(id: 100, word: "secret").insert().run(db) }
      #expect(written?.table == "picky")
      #expect(written?.column == "word")
      #expect("\(String(describing: read)) \(String(describing: written))".contains("secret") == false)
      #expect(throws: CancellationError.self) { try Picky(id: 95, word: "x").insert().run(db) }
      #expect(try Picky.count().run(db) == 1)
    }
  }

  // MARK: Containers that are kept

  private final class Kept: @unchecked Sendable {
    // Sound: a single test uses it, on one thread.
    static let shared = Kept()
    var read: (() throws -> String)?
    var write: ((String) throws -> Void)?
  }

  private struct Keeping: SqlCodable {
    var word: String
    static let word = column("word", String.self)
    static let tableLayout = [word.column]
    enum CodingKeys: CodingKey { case word }
    init(word: String) { self.word = word }
    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      word = try container.decode(String.self, forKey: .word)
      if Kept.shared.read == nil { Kept.shared.read = { try container.decode(String.self, forKey: .word) } }
    }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(word, forKey: .word)
      if Kept.shared.write == nil { Kept.shared.write = { try container.encode($0, forKey: .word) } }
    }
  }

  @Test func useOfAContainerAfterItsRowIsMisuse() throws {
    try withDatabase { db in
      try db.createTable(Keeping.self)
      try Keeping.insert([Keeping(word: "first"), Keeping(word: "second")]).run(db)
      expectMisuse { try Kept.shared.write?("third") }
      let words = try Keeping.read().run(db).map(\.word)
      #expect(words == ["first", "second"])
      expectMisuse { _ = try Kept.shared.read?() }
      // The container stays invalid while a later row is current.
      try Keeping.read().forEach(db) { _ in expectMisuse { _ = try Kept.shared.read?() } }
      #expect(try Keeping.count().run(db) == 2)
    }
  }
}
