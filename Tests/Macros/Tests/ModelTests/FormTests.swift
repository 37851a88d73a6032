import Foundation
import Sqlable
import Testing

@Sqlable final class Anchor {
  let id: Int?
  let weight: Double
  @Transient let polish: String = "none"
}

@Sqlable(naming: .verbatim) public struct HTTPLog: Equatable {
  @PrimaryKey public var logID: UUID
  public var statusCode = 200
  private var note: String?
  public static let tableIndexes = [Index(note)]

  public init(logID: UUID, note: String?) { (self.logID, self.note) = (logID, note) }
}

@Sqlable public struct Open: Equatable {
  @PrimaryKey public let id: Int?
  public var name = "open"
  var count: Int?
}

@Sqlable(options: [.fullText(tokenizer: .porter)]) struct Note: Equatable {
  @PrimaryKey var rowid: Int?
  var text: String
  @Unindexed var source: String
}

enum Outer {
  @Sqlable fileprivate struct Index: Equatable {
    @Index var text: String
  }
}

@Sqlable private struct Twice: Equatable {
  var value: Int
  var scaled: Double { Double(value) / 100 }

  init(row: ReadRow) throws { value = try row.get(Twice.value) / 100 }
  init(value: Int) { self.value = value }
  func write(to row: inout RowWriter) throws { row.set(Twice.value, value * 100) }
}

@Sqlable struct Boss: Equatable {
  @PrimaryKey var id: Int?
  @ForeignKey<Boss>(column: \.name) var above: String?
  @Unique var name: String
}

/// Tests of every form of type that the macro accepts.
@Suite struct FormTests {
  @Test func finalClassIsAModel() throws {
    try withDatabase { db in
      try db.createTable(Anchor.self)
      try Anchor(id: 1, weight: 2.5).insert().run(db)
      let anchor = try #require(try Anchor.read().first().run(db))
      #expect(anchor.id == 1)
      #expect(anchor.weight == 2.5)
      #expect(anchor.polish == "none")
      #expect(Anchor.read().sql == #"SELECT "id", "weight" FROM "anchor""#)
    }
  }

  @Test func columnsMayKeepTheNamesOfTheProperties() throws {
    try withDatabase { db in
      try db.createTable(HTTPLog.self)
      let log = HTTPLog(logID: UUID(), note: "x")
      try log.insert().run(db)
      #expect(try HTTPLog.read().filter(HTTPLog.statusCode == 200).run(db) == [log])
      #expect(HTTPLog.read().sql == #"SELECT "logID", "statusCode", "note" FROM "http_log""#)
      #expect(try db.query("SELECT name FROM pragma_index_list('http_log')", as: String.self).contains("http_log_note"))
    }
  }

  @Test func aPublicStructHasAnInitializer() {
    var open = Open(id: 5)
    #expect(open == Open(id: 5, name: "open"))
    open.count = 1
    #expect(Open().id == nil)
  }

  @Test func fullTextTableIsAModel() throws {
    try withDatabase { db in
      try db.createTable(Note.self)
      try Note(text: "running", source: "a").insert().run(db)
      #expect(
        try Note.read().filter(Note.matches(.words("run"))).run(db) == [Note(rowid: 1, text: "running", source: "a")])
    }
  }

  @Test func nestedModelMayShareTheNameOfAType() throws {
    try withDatabase { db in
      try db.createTable(Outer.Index.self)
      try Outer.Index(text: "a").insert().run(db)
      #expect(try Outer.Index.read().filter(Outer.Index.text == "a").run(db) == [Outer.Index(text: "a")])
      #expect(try db.query("SELECT name FROM pragma_index_list('index')", as: String.self) == ["index_text"])
    }
  }

  @Test func manualReadingAndWritingIsUsed() throws {
    try withDatabase { db in
      try db.createTable(Twice.self)
      try Twice(value: 5).insert().run(db)
      #expect(try Twice.select(Twice.value).run(db).map { $0 } == [500])
      #expect(try Twice.read().run(db) == [Twice(value: 5)])
    }
  }

  @Test func modelReferencesItsOwnColumn() throws {
    try withDatabase { db in
      try db.createTable(Boss.self)
      #expect(
        try db.query("SELECT sql FROM sqlite_schema WHERE name = 'boss'", as: String.self) == [
          """
          CREATE TABLE "boss" ("id" INTEGER PRIMARY KEY, "above" TEXT REFERENCES "boss" ("name"), \
          "name" TEXT NOT NULL UNIQUE)
          """
        ])
    }
  }

  @Test func aMistakeOfTheModelIsFoundWhenItIsUsed() throws {
    // The macro can't see the columns of an embedded struct.
    try withDatabase { db in
      let error = sqlError { try db.createTable(Clash.self) }
      #expect(error?.message == "the model Clash of table clash has two columns named home_street")
    }
  }
}

@Sqlable struct Clash: Equatable {
  var homeStreet: String
  @Embedded var home: Drawn.Place
}
