import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

/// The struct of the first release.
private struct FirstSettings: Codable, Equatable, SqlJSON {
  var pageSize: Int
  var theme: String
  var beta = false
}

private struct Settings: Codable, Equatable, SqlJSON {
  var theme: String
  var rowCount: Int  // pageSize in the first release
  var language = "en"  // new
  var font: String?  // new
}

extension Settings {
  enum CodingKeys: String, CodingKey {
    case theme, language, font
    case rowCount = "pageSize"
  }

  init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    theme = try values.decode(String.self, forKey: .theme)
    rowCount = try values.decode(Int.self, forKey: .rowCount)
    language = try values.decodeIfPresent(String.self, forKey: .language) ?? "en"
    font = try values.decodeIfPresent(String.self, forKey: .font)
  }
}

/// The struct without code for the rows of the first release.
private struct PlainSettings: Codable, Equatable, SqlJSON {
  var theme: String
  var rowCount: Int
  var language = "en"
  var font: String?
}

private struct Palette: Codable, SqlJSON {
  enum Color: String, Codable { case red, green }
  var color: Color
}

private struct Visitor: Codable, Equatable {
  var id: Int?
  var settings: Settings
}

extension Visitor: SqlCodable {
  static let id = column("id", Int.self, PrimaryKey(autoincrement: true))
  static let settings = column("settings", Settings.self)
  static let tableLayout = [id.column, settings.column]
}

private struct PlainVisitor: Codable, Equatable {
  var id: Int?
  var settings: PlainSettings
}

extension PlainVisitor: SqlCodable {
  static let tableName = "visitor"
  static let id = column("id", Int.self, PrimaryKey(autoincrement: true))
  static let settings = column(
    "settings", PlainSettings.self, Default(PlainSettings(theme: "dark", rowCount: 20)))
  static let tableLayout = [id.column, settings.column]
}

/// The examples of Docs/ChangingJSON.md.
@Suite struct ChangingJSONGuide {
  let first = #"{"beta":true,"pageSize":20,"theme":"dark"}"#

  let rewritten = Migration("settings of release 2") { db in
    let visitors = try db.table("visitor")
    for var visitor in try visitors.read().run(db) {
      var settings = try visitor.get("settings", as: JSON.self)
      settings["rowCount"] = settings["pageSize"]
      settings["pageSize"] = nil
      settings["beta"] = nil
      settings["language"] = settings["language"] ?? "en"
      visitor.set("settings", settings)
      try visitors.update(visitor).run(db)
    }
  }

  /// Calls `body` with a database that has one row of the first release.
  private func withOldRow(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.execute(
        """
        CREATE TABLE visitor (id INTEGER PRIMARY KEY AUTOINCREMENT,
          settings TEXT NOT NULL DEFAULT '{"pageSize":20,"theme":"dark"}')
        """)
      let settings = FirstSettings(pageSize: 20, theme: "dark", beta: true)
      try db.execute("INSERT INTO visitor (settings) VALUES (\(settings))")
      #expect(try texts(db) == [first])
      try body(db)
    }
  }

  private func texts(_ db: SqliteDatabase) throws -> [String] {
    try db.query("SELECT settings FROM visitor ORDER BY id", as: String.self)
  }

  @Test func oldRowsAreReadWithDefaults() throws {
    let old = try Settings(databaseValue: .text(#"{"beta":true,"pageSize":20,"theme":"dark"}"#))
    #expect(old == Settings(theme: "dark", rowCount: 20, language: "en", font: nil))
    try withOldRow { db in
      var visitor = try #require(try Visitor.read().first().run(db))
      #expect(visitor.settings == old)
      visitor.settings.theme = "light"
      try visitor.update().run(db)
      #expect(try texts(db) == [#"{"language":"en","pageSize":20,"theme":"light"}"#])
    }
  }

  @Test func missingKeyIsNamed() throws {
    try withOldRow { db in
      let error = sqlError { _ = try PlainVisitor.read().run(db) }
      #expect(
        error?.description == """
          SqlError.decoding: visitor.settings should hold the JSON of PlainSettings, but holds TEXT that lacks the key \
          rowCount (at visitor.settings, row 1); in: SELECT "id", "settings" FROM "visitor"
          """)
      #expect(error?.rowId == 1)
      do {
        _ = try JSONDecoder().decode(PlainSettings.self, from: Data(first.utf8))
        Issue.record("the text has every key")
      } catch let error as DecodingError {
        guard case .keyNotFound(let key, _) = error else { throw error }
        #expect(key.stringValue == "rowCount")
      }
    }
  }

  @Test func errorsNameTheExpectedType() {
    func problem(_ text: String) -> String? {
      sqlError { _ = try Settings(databaseValue: .text(text)) }?.message
    }
    #expect(
      problem(#"{"pageSize":"20","theme":"dark"}"#)
        == "expected the JSON of Settings, found TEXT that holds another type where Int is expected, at key pageSize")
    #expect(
      problem(#"{"pageSize":null,"theme":"dark"}"#)
        == "expected the JSON of Settings, found TEXT that holds null where Int is expected, at key pageSize")
  }

  @Test func keysOfADictionaryAreNotNamed() {
    let error = sqlError { _ = try [String: Int](databaseValue: .text(#"{"secret":"x"}"#)) }
    #expect(error?.message.hasSuffix("found TEXT that holds another type where Int is expected") == true)
  }

  @Test func unknownCaseOfAnEnumIsReportedAsARefusedValue() throws {
    let error = sqlError { _ = try Palette(databaseValue: .text(#"{"color":"blue"}"#)) }
    #expect(
      error?.message
        == "expected the JSON of Palette, found TEXT that holds a value that its type refuses, at key color")
  }

  @Test func rowsWithoutAKeyAreFound() throws {
    try withOldRow { db in
      let old = try Visitor.select(Visitor.id).filter(Visitor.settings.jsonType("language").isNull).run(db)  // [Int]
      #expect(old == [1])
      #expect(
        Visitor.select(Visitor.id).filter(Visitor.settings.jsonType("language").isNull).sql
          == #"SELECT "id" FROM "visitor" WHERE json_type("settings", '$.language') IS NULL"#)
    }
  }

  @Test func migrationRewritesOldRows() throws {
    try withOldRow { db in
      try Migrations([rewritten]).apply(db)
      #expect(try texts(db) == [#"{"language":"en","rowCount":20,"theme":"dark"}"#])
      let settings = PlainSettings(theme: "dark", rowCount: 20)
      #expect(try PlainVisitor.read().filter(PlainVisitor.settings == settings).run(db).map(\.settings) == [settings])
    }
  }

  @Test func migrationInSQLAppendsItsKeys() throws {
    try withOldRow { db in
      let migration = Migration(
        "settings of release 2",
        sql: """
          UPDATE visitor SET settings =
            json_remove(json_set(settings, '$.rowCount', json_extract(settings, '$.pageSize')), '$.pageSize', '$.beta');
          UPDATE visitor SET settings = json_insert(settings, '$.language', 'en')
          """)
      try Migrations([migration]).apply(db)
      #expect(try texts(db) == [#"{"theme":"dark","rowCount":20,"language":"en"}"#])
      let settings = PlainSettings(theme: "dark", rowCount: 20)
      let equal = PlainVisitor.read().filter(PlainVisitor.settings == settings)
      #expect(try PlainVisitor.read().run(db).map(\.settings) == [settings])
      #expect(try equal.run(db).isEmpty)
      for visitor in try PlainVisitor.read().run(db) { try visitor.update().run(db) }
      #expect(try equal.run(db).count == 1)
    }
  }

  @Test func jsonSetKeepsUnknownKeys() throws {
    try withOldRow { db in
      let light = Visitor.settings.jsonSet("theme", to: "light")
      try Visitor.update(Visitor.settings.set(to: light)).filter(Visitor.id == 1).run(db)
      #expect(try texts(db) == [#"{"beta":true,"pageSize":20,"theme":"light"}"#])
      #expect(
        Visitor.update(Visitor.settings.set(to: light)).filter(Visitor.id == 1).sql
          == #"UPDATE "visitor" SET "settings" = json_set("settings", '$.theme', ?) WHERE "id" = ?"#)
    }
  }

  @Test func defaultOfTheColumnIsComparedAsText() throws {
    try withOldRow { db in
      #expect(
        sqlError { try Schema(PlainVisitor.self).verify(db) }?.message == """
          the database differs from the models: visitor.settings: the default is \
          '{"pageSize":20,"theme":"dark"}', and should be '{"language":"en","rowCount":20,"theme":"dark"}'
          """)
      try Schema(PlainVisitor.self).plan(db).apply(db)
      try Schema(PlainVisitor.self).verify(db)
      #expect(try texts(db) == [first])
    }
  }
}
