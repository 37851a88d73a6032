import Foundation
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Mismatched values on reads and writes: every error names its place and both types, and no error quotes the value.
@Suite struct MismatchTests {
  private static let marker = "m4rk3r"

  /// SQL values of several storage classes, each of which contains the marker.
  private static let texts = [
    "'\(marker)'", "'{\"\(marker)\":\"\(marker)\"}'", "'[\"\(marker)\"]'", "'[{\"name\":\"\(marker)\"'",
    "CAST('\(marker)' || x'ff' AS TEXT)", "CAST('\(marker)' AS BLOB)", "'2013-01-01T06:00:00Z\(marker)'",
    "'http://[\(marker)'", "'1\(marker)'", "'\(marker)' || char(0) || '\(marker)'",
  ]

  private func expectNoValue<Value: SqlValue>(
    _ type: Value.Type, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    for sql in Self.texts {
      guard let error = try errorReading(sql, as: type, in: OwnForm<Value>.self) else { continue }
      #expect(error.isDecoding, sourceLocation: sourceLocation)
      #expect(error.table == "stored", sourceLocation: sourceLocation)
      #expect(error.column == "value", sourceLocation: sourceLocation)
      #expect(error.rowId == 7, sourceLocation: sourceLocation)
      #expect(error.mismatch?.expected.isEmpty == false, sourceLocation: sourceLocation)
      #expect(error.mismatch?.found.isEmpty == false, sourceLocation: sourceLocation)
      for text in ["\(error)", String(reflecting: error), error.localizedDescription, error.message] {
        #expect(!text.contains(Self.marker), "\(sql)", sourceLocation: sourceLocation)
      }
    }
  }

  @Test func readErrorsDoNotQuoteTheValue() throws {
    try expectNoValue(Int.self)
    try expectNoValue(UInt8.self)
    try expectNoValue(Bool.self)
    try expectNoValue(Double.self)
    try expectNoValue(Float.self)
    try expectNoValue(String.self)
    try expectNoValue(Data.self)
    try expectNoValue(Date.self)
    try expectNoValue(UUID.self)
    try expectNoValue(URL.self)
    try expectNoValue(Decimal.self)
    try expectNoValue(Null.self)
    try expectNoValue(Gender.self)
    try expectNoValue(Size.self)
    try expectNoValue(Pet.self)
    try expectNoValue([Int].self)
    try expectNoValue([String: Int].self)
    try expectNoValue([Int: Int].self)
    try expectNoValue(Set<Date>.self)
    try expectNoValue([Pet]?.self)
    try expectNoValue([UUID: URL].self)
  }

  @Test func writeErrorsDoNotQuoteTheValue() throws {
    try withDatabase { db in
      try db.createTables(Bicycle.self, Person.self)
      try Bicycle(id: 1, name: Self.marker, color: Self.marker).insert().run(db)
      let attempts: [() throws -> Void] = [
        { try Bicycle(name: Self.marker, color: Self.marker).insert().run(db) },
        { try Bicycle(id: 1, name: Self.marker, color: "x").insert().run(db) },
        { try Bicycle(name: Self.marker, color: Self.marker, ownerId: 99).insert().run(db) },
        { _ = try Bicycle.read().filter(Bicycle.id == Self.marker).run(db) },
        { _ = try Bicycle.read().filter(Bicycle.id.in([Self.marker])).run(db) },
        { _ = try Bicycle.byId(Self.marker).run(db) },
        { try Bicycle.updateAll(Bicycle.ownerId.set(to: Self.marker)).run(db) },
        { try db.execute("INSERT INTO bicycle (name, color) VALUES (\(Self.marker), \(Self.marker))") },
        { _ = try db.query("SELECT json_extract(\(Self.marker), '$')", as: String.self) },
        { _ = try db.query("SELECT json_extract('{}', \(Self.marker))", as: String.self) },
        { _ = try db.query("SELECT abs(\(Int.min)), \(Self.marker)", as: Int.self) },
        { _ = try db.query("SELECT \(Self.marker)", as: Int.self) },
        { try Stored<[Double], TextForm>([.nan]).insert().run(db) },
      ]
      for (index, attempt) in attempts.enumerated() {
        let error = sqlError(attempt)
        #expect(error != nil, "attempt \(index)")
        #expect(error.map { "\($0) \(String(reflecting: $0))".contains(Self.marker) } == false, "attempt \(index)")
      }
    }
  }

  private func expect<Value: SqlValue>(
    _ type: Value.Type, _ expected: String, refuses found: [String: String],
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    for (sql, storageClass) in found {
      let error = try errorReading(sql, as: type, in: OwnForm<Value>.self)
      #expect(error?.kind == .decoding(.init(expected: expected, found: storageClass)), sourceLocation: sourceLocation)
      #expect(error?.message == "stored.value should hold \(expected), but holds \(storageClass)")
      #expect(error?.sql == #"SELECT "id", "value" FROM "stored""#, sourceLocation: sourceLocation)
      #expect(error?.rowId == 7, sourceLocation: sourceLocation)
    }
  }

  @Test func valuesOfAnotherStorageClassAreNotRead() throws {
    let (integer, real, text, blob, null) =
      (("3", "INTEGER"), ("1.5", "REAL"), ("'3'", "TEXT"), ("x'33'", "BLOB"), ("NULL", "NULL"))
    func classes(_ pairs: (String, String)...) -> [String: String] { .init(uniqueKeysWithValues: pairs) }
    try expect(Int.self, "INTEGER", refuses: classes(real, text, blob, null))
    try expect(UInt8.self, "INTEGER", refuses: classes(real, text, blob, null))
    try expect(Bool.self, "INTEGER", refuses: classes(real, text, blob, null))
    try expect(Gender.self, "INTEGER", refuses: classes(real, text, blob, null))
    try expect(Double.self, "REAL", refuses: classes(text, blob, null))
    try expect(Float.self, "REAL", refuses: classes(text, blob, null))
    try expect(Date.self, "REAL", refuses: classes(text, blob, null))
    try expect(String.self, "TEXT", refuses: classes(integer, real, blob, null))
    try expect(Size.self, "TEXT", refuses: classes(integer, real, blob, null))
    try expect(Pet.self, "TEXT", refuses: classes(integer, real, blob, null))
    try expect(URL.self, "TEXT", refuses: classes(integer, real, blob, null))
    try expect([Int].self, "TEXT", refuses: classes(integer, real, blob, null))
    try expect(Data.self, "BLOB", refuses: classes(integer, real, text, null))
    try expect(Decimal.self, "a decimal number", refuses: classes(real, blob, null))
    try expect(UUID.self, "a UUID as BLOB or TEXT", refuses: classes(integer, real, null))
  }

  @Test func valuesOfAnotherStorageClassAreNotWritten() throws {
    func found<Value: SqlValue, Form: ColumnForm>(_ value: Value, _ form: Form.Type) throws -> String? {
      let error = try errorStoring(value, in: form)
      guard error?.isEncoding == true, error?.table == "stored", error?.column == "value" else { return nil }
      return error?.message
    }
    #expect(try found("3", IntegerForm.self) == "stored.value takes INTEGER, but was given TEXT")
    #expect(try found(3.0, IntegerForm.self) == "stored.value takes INTEGER, but was given REAL")
    #expect(try found(Data(), IntegerForm.self) == "stored.value takes INTEGER, but was given BLOB")
    #expect(try found(3, TextForm.self) == "stored.value takes TEXT, but was given INTEGER")
    #expect(try found(Data(), TextForm.self) == "stored.value takes TEXT, but was given BLOB")
    #expect(try found("3", RealForm.self) == "stored.value takes REAL, but was given TEXT")
    #expect(try found("3", BlobForm.self) == "stored.value takes BLOB, but was given TEXT")
    #expect(try found("1", BooleanForm.self) == "stored.value takes INTEGER 0 or 1, but was given TEXT")
    #expect(try found(1, ISO8601.self) == "stored.value takes TEXT (date as iso8601), but was given INTEGER")
  }

  @Test func nullInANotNullColumnViolatesTheConstraint() throws {
    let error = try errorStoring(Null(), in: TextForm.self)
    #expect(error?.kind == .constraint(.notNull))
    #expect(error?.table == "stored")
    #expect(error?.column == "value")
  }
}
