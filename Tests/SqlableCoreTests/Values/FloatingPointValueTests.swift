import Foundation
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

@Suite struct FloatingPointValueTests {
  private static let doubles: [Double] = [
    0, 1, -1, 0.1, -0.1, .pi, 1e15, 9_007_199_254_740_992, -9_007_199_254_740_994, 1e18, 1e19, -1e300, .infinity,
    -.infinity, .greatestFiniteMagnitude, -.greatestFiniteMagnitude, .leastNormalMagnitude, .leastNonzeroMagnitude,
    -.leastNonzeroMagnitude, .leastNormalMagnitude / 3, .ulpOfOne, 1.nextUp, 1.nextDown,
  ]

  @Test func doublesKeepEveryBit() throws {
    let random = (0..<300).map { _ in Double(bitPattern: .random(in: 0...(.max))) }.filter { !$0.isNaN }
    try expectRoundTrip(Self.doubles + random)
  }

  @Test func floatsKeepEveryBit() throws {
    let random = (0..<300).map { _ in Float(bitPattern: .random(in: 0...(.max))) }.filter { !$0.isNaN }
    try expectRoundTrip(
      random + [
        0, 0.1, -0.1, .infinity, -.infinity, .greatestFiniteMagnitude, .leastNonzeroMagnitude,
        .leastNormalMagnitude / 3,
      ])
  }

  /// SQLite stores whole numbers of a REAL column as integers, which have no negative zero.
  @Test func negativeZeroComesBackAsZero() throws {
    try expectRoundTrip([-0.0])
    try withDatabase { db in
      try db.createTable(Stored<Double, RealForm>.self)
      try Stored<Double, RealForm>(-0.0).insert().run(db)
      #expect(try Stored<Double, RealForm>.read().run(db).map(\.value.sign) == [.plus])
    }
  }

  @Test func notANumberIsRefusedInsteadOfStoredAsNull() throws {
    for error in [
      try errorStoring(Double.nan, in: RealForm.self), try errorStoring(Double.nan, in: OrNull<RealForm>.self),
      try errorStoring(Double.signalingNaN, in: RealForm.self), try errorStoring(Float.nan, in: RealForm.self),
      try errorStoring(Double?.some(.nan), in: OrNull<RealForm>.self),
      try errorStoring(Date(timeIntervalSince1970: .nan), in: RealForm.self),
      try errorStoring(Celsius(degrees: .nan), in: RealForm.self),
      try errorStoring(Celsius(degrees: .nan), in: OrNull<RealForm>.self),
    ] {
      #expect(error?.isEncoding == true)
      #expect(error?.mismatch?.found.contains("NaN") == true)
      #expect(error?.table == "stored")
      #expect(error?.column == "value")
    }
  }

  /// JSON has no NaN. A column and a parameter refuse NaN too.
  @Test func encodedValuesAreDecodedAndNotANumberIsRefused() throws {
    for real in Self.doubles + [-0.0] {
      let data = try JSONEncoder().encode(DatabaseValue.real(real))
      #expect(try JSONDecoder().decode(DatabaseValue.self, from: data) == .real(real))
    }
    let error = sqlError { _ = try JSONEncoder().encode([DatabaseValue.real(.nan)]) }
    #expect(error?.mismatch?.found == "NaN, which SQLite can't store")
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(DatabaseValue.self, from: Data(#"{"real":"nan"}"#.utf8))
    }
  }

  @Test func notANumberIsRefusedInFiltersAssignmentsAndRawSQL() throws {
    try withDatabase { db in
      try db.createTable(Car.self)
      typealias Row = Stored<Celsius, OrNull<RealForm>>
      try db.createTable(Row.self)
      let attempts: [() throws -> Void] = [
        { _ = try Car.read().filter(Car.price == .nan).run(db) },
        { _ = try Car.read().filter(Car.price * .nan > 3).run(db) },
        { _ = try Car.read().filter(Car.price.in([1, .nan])).run(db) },
        { try Car.updateAll(Car.price.set(to: .nan)).run(db) },
        { try db.execute("UPDATE car SET price = \(Double.nan)") },
        { try db.execute("UPDATE car SET price = \(DatabaseValue.real(.nan))") },
        { _ = try Row.read().filter(Row.value == Celsius(degrees: .nan)).run(db) },
        { _ = try Row.read().filter(Row.value.in([Celsius(degrees: .nan)])).run(db) },
        { _ = try Row.read().filter(Row.value + Celsius(degrees: .nan) > 1).run(db) },
        { try db.execute("UPDATE car SET price = \(Celsius(degrees: .nan))") },
      ]
      for (index, attempt) in attempts.enumerated() {
        let error = sqlError(attempt)
        #expect(error?.mismatch?.found.contains("NaN") == true, "attempt \(index)")
      }
    }
  }

  @Test func integersAreReadAsDoublesOnlyWhenExact() throws {
    try withDatabase { db in
      let exact = try db.query("SELECT 9007199254740992", as: Double.self)
      #expect(exact == [9_007_199_254_740_992])
      let error = sqlError { _ = try db.query("SELECT 9007199254740993", as: Double.self) }
      #expect(error?.mismatch?.expected == "REAL")
      let three = try db.query("SELECT 3", as: Float.self)
      #expect(three == [3])
    }
  }

  @Test(arguments: ["1e39", "-1e39", "1.7976931348623157e308"])
  func aRealBeyondFloatIsRefused(sql: String) throws {
    let error = try errorReading(sql, as: Float.self, in: RealForm.self)
    #expect(error?.kind == .decoding(.init(expected: "Float", found: "a REAL out of range")))
    #expect(error?.rowId == 7)
  }
}

/// The example of `SqlValue`'s documentation.
struct Celsius: SqlValue, Sendable, Equatable {
  var degrees: Double
  static let columnType = ColumnType.real
  var databaseValue: DatabaseValue { get throws { .real(degrees) } }

  init(degrees: Double) { self.degrees = degrees }
  init(databaseValue: DatabaseValue) throws { degrees = try Double(databaseValue: databaseValue) }
}
