import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

private enum Sex: Int, SqlValue { case female, male, other }

private struct Companion: Codable, Equatable, SqlJSON {
  var name: String
  var age: Int
}

private struct BodyHeat: Equatable {
  var degrees: Double
}

extension BodyHeat: SqlValue {
  static let columnType = ColumnType.real

  var databaseValue: DatabaseValue {
    get throws { try degrees.databaseValue }
  }

  init(databaseValue: DatabaseValue) throws {
    degrees = try Double(databaseValue: databaseValue)
    guard degrees >= -273.15 else {
      let mismatch = SqlError.Mismatch(expected: "a temperature", found: "a REAL below absolute zero")
      throw SqlError(.decoding(mismatch), message: "expected a temperature, found a REAL below absolute zero")
    }
  }
}

private struct RepairedText {
  var text: String
}

extension RepairedText: SqlValue {
  static let columnType = ColumnType.text
  var databaseValue: DatabaseValue { .text(text) }

  init(databaseValue: DatabaseValue) throws {
    text = try String(databaseValue: databaseValue)
  }

  static func read(from cell: ReadCell) throws -> RepairedText {
    RepairedText(text: String(decoding: try cell.textBytes(), as: UTF8.self))
  }
}

private struct Patient {
  var id: Int?
  var gender: Sex
  var pets: [Companion]
  var temperature: BodyHeat?
  var admittedAt: Date
  var token: UUID
}

extension Patient: Sqlable {
  static let id = column("id", Int?.self, PrimaryKey(autoincrement: true))
  static let gender = column("gender", Sex.self)
  static let pets = column("pets", [Companion].self, Default([Companion]()))
  static let temperature = column("temperature", BodyHeat?.self)
  static let admittedAt = column("admitted_at", Date.self, as: .date(.iso8601))
  static let token = column("token", UUID.self, as: .text)
  static let tableLayout = [
    id.column, gender.column, pets.column, temperature.column, admittedAt.column, token.column,
  ]

  func write(to row: inout RowWriter) throws {
    row.set(Patient.id, id)
    row.set(Patient.gender, gender)
    row.set(Patient.pets, pets)
    row.set(Patient.temperature, temperature)
    row.set(Patient.admittedAt, admittedAt)
    row.set(Patient.token, token)
  }

  init(row: ReadRow) throws {
    id = try row.get(Patient.id)
    gender = try row.get(Patient.gender)
    pets = try row.get(Patient.pets)
    temperature = try row.get(Patient.temperature)
    admittedAt = try row.get(Patient.admittedAt)
    token = try row.get(Patient.token)
  }
}

@Suite struct ValuesGuide {
  private let patient = Patient(
    id: 1, gender: .other, pets: [Companion(name: "Rex", age: 3)], temperature: BodyHeat(degrees: 36.6),
    admittedAt: Date(timeIntervalSince1970: 1_357_020_000.25), token: UUID())

  @Test func columnsTakeTheirTypesFromTheirValues() throws {
    try withDatabase { db in
      try db.createTable(Patient.self)
      #expect(
        try db.query("SELECT sql FROM sqlite_schema WHERE name = 'patient'", as: String.self) == [
          """
          CREATE TABLE "patient" ("id" INTEGER PRIMARY KEY AUTOINCREMENT, "gender" INTEGER NOT NULL, \
          "pets" TEXT NOT NULL DEFAULT '[]', "temperature" REAL, "admitted_at" TEXT NOT NULL, "token" TEXT NOT NULL)
          """
        ])
      try patient.insert().run(db)
      let stored = try db.query("SELECT gender || pets || temperature || admitted_at FROM patient", as: String.self)
      #expect(stored == [#"2[{"age":3,"name":"Rex"}]36.62013-01-01T06:00:00.250Z"#])
      let read = try #require(try Patient.byId(1).run(db))
      #expect(read.pets == patient.pets)
      #expect(read.token == patient.token)
      #expect(read.admittedAt == patient.admittedAt)
    }
  }

  @Test func filtersFollowTheColumn() throws {
    let dawn = Date(timeIntervalSince1970: 1_357_020_000)
    let statement = Patient.read().filter(Patient.admittedAt >= dawn && Patient.gender == .other)
    // bindings: .text("2013-01-01T06:00:00.000Z"), .integer(2)
    #expect(statement.bindings == [.text("2013-01-01T06:00:00.000Z"), .integer(2)])
  }

  @Test func valuesOfAnotherTypeThrow() throws {
    try withDatabase { db in
      try db.createTable(Patient.self)
      try patient.insert().run(db)
      try db.execute("UPDATE patient SET gender = 7")
      let error = sqlError {
        _ = try Patient.read().run(db)
      }
      #expect(error?.kind == .decoding(.init(expected: "a raw value of Sex", found: "an unknown raw value")))
      #expect(error?.table == "patient")
      #expect(error?.column == "gender")
      #expect(error?.rowId == 1)
      #expect(
        error?.message == "patient.gender should hold a raw value of Sex, but holds an unknown raw value")
      try db.execute("UPDATE patient SET gender = 0, temperature = -300.5")
      #expect(
        sqlError { _ = try Patient.read().run(db) }?.message
          == "patient.temperature should hold a temperature, but holds a REAL below absolute zero")
    }
  }

  @Test func untypedFiltersAreCheckedWhenTheyRun() throws {
    try withDatabase { db in
      try db.createTable(Bicycle.self)
      let error = sqlError {
        _ = try Bicycle.read().filter(Bicycle.id == "1").run(db)
      }
      #expect(error?.kind == .encoding(.init(expected: "INTEGER", found: "TEXT")))
      #expect(error?.message == "column id takes INTEGER, but was given TEXT")
    }
  }

  @Test func valuesWithoutAStoredFormAreRefused() throws {
    try withDatabase { db in
      try db.createTable(Car.self)
      let error = sqlError {
        try Car(id: nil, name: "Nano", price: .nan, isElectric: false, soldAt: nil).insert().run(db)
      }
      #expect(error?.kind == .encoding(.init(expected: "REAL", found: "NaN, which SQLite can't store")))
      #expect(throws: SqlError.self) { try UInt64.max.databaseValue }
      #expect(try Car.count().run(db) == 0)
    }
  }

  @Test func invalidUTF8IsRefusedOrRepaired() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      try db.execute("INSERT INTO person (name) VALUES (CAST(x'41FF' AS TEXT))")
      #expect(sqlError { _ = try Person.read().run(db) }?.message.hasSuffix("TEXT that is not valid UTF-8") == true)
      let names = try db.query("SELECT name FROM person", as: RepairedText.self).map(\.text)
      #expect(names == ["A\u{FFFD}"])
    }
  }

  @Test func datesAreStoredInEveryForm() throws {
    let date = Date(timeIntervalSince1970: 1_357_020_000.5)
    #expect(try date.databaseValue(in: .date) == .real(1_357_020_000.5))
    #expect(throws: SqlError.self) { try date.databaseValue(in: .date(.unixSeconds)) }
    #expect(try date.databaseValue(in: .date(.unixMilliseconds)) == .integer(1_357_020_000_500))
    #expect(try date.databaseValue(in: .date(.iso8601)) == .text("2013-01-01T06:00:00.500Z"))
    #expect(try [UInt8](1...3).databaseValue == .text("[1,2,3]"))
    #expect(try Decimal(string: "0.10").map { try $0.databaseValue } == .text("0.1"))
    #expect(try Int(databaseValue: .integer(3)) == 3)
    #expect(throws: SqlError.self) { try Int(databaseValue: .real(3)) }
    #expect(try Double(databaseValue: .integer(3)) == 3)
    #expect(throws: SqlError.self) { try Bool(databaseValue: .integer(2)) }
    #expect(throws: SqlError.self) { try [Double.infinity].databaseValue }
    #expect(try Date(databaseValue: .text("2013-01-01 06:00:00")) == Date(timeIntervalSince1970: 1_357_020_000))
    #expect(try Date(databaseValue: .text("2013-01-01T07:00:00+01:00")) == Date(timeIntervalSince1970: 1_357_020_000))
    #expect(throws: SqlError.self) { try Date(databaseValue: .text("2013-02-30T06:00:00Z")) }
  }
}
