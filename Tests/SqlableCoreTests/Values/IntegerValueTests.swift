import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

@Suite struct IntegerValueTests {
  private func expectAllToFit<Value: FixedWidthInteger & SqlValue>(
    _ type: Value.Type, upTo greatest: Value = .max, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    var generator = SystemRandomNumberGenerator()
    let edges: [Value] = [.min, .min + 1, 0, 1, greatest - 1, greatest]
    let random = (0..<50).map { _ in Value.random(in: .min...greatest, using: &generator) }
    try expectRoundTrip(edges + random, sourceLocation: sourceLocation)
  }

  @Test func everyWidthKeepsItsWholeRange() throws {
    try expectAllToFit(Int.self)
    try expectAllToFit(Int8.self)
    try expectAllToFit(Int16.self)
    try expectAllToFit(Int32.self)
    try expectAllToFit(Int64.self)
    try expectAllToFit(UInt8.self)
    try expectAllToFit(UInt16.self)
    try expectAllToFit(UInt32.self)
    try expectAllToFit(UInt.self, upTo: UInt(Int64.max))
    try expectAllToFit(UInt64.self, upTo: UInt64(Int64.max))
  }

  @Test func valuesAboveInt64AreRefused() throws {
    for value in [UInt64(Int64.max) + 1, .max - 1, .max] {
      let error = try errorStoring(value, in: IntegerForm.self)
      #expect(error?.mismatch?.expected == "a 64-bit signed integer")
      #expect(error?.table == "stored")
      #expect(error?.column == "value")
      #expect(error?.isEncoding == true)
    }
    #expect(try errorStoring(UInt.max, in: IntegerForm.self)?.mismatch != nil)
    #expect(try errorStoring(UInt64?.some(.max), in: OrNull<IntegerForm>.self)?.mismatch != nil)
  }

  @Test func aFilterWithALargerValueNamesTableAndColumn() throws {
    try withDatabase { db in
      try db.createTable(Bicycle.self)
      let filter = Bicycle.ownerId == UInt64.max
      for statement in [Bicycle.count().filter(filter), Bicycle.delete(filter)] {
        let error = sqlError { _ = try statement.run(db) }
        #expect(error?.mismatch?.expected == "a 64-bit signed integer")
        #expect(error?.table == "bicycle")
        #expect(error?.column == "owner_id")
      }
      let list = sqlError { _ = try Bicycle.read().filter(Bicycle.id.in([1, UInt64.max])).run(db) }
      #expect(list?.mismatch?.expected == "a 64-bit signed integer")
      let raw = sqlError { _ = try db.query("SELECT \(UInt64.max)", as: Int.self) }
      #expect(raw?.mismatch?.expected == "a 64-bit signed integer")
    }
  }

  private func expectOutOfRange<Value: FixedWidthInteger & SqlValue>(
    _ type: Value.Type, _ sql: String..., sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    for sql in sql {
      let error = try errorReading(sql, as: type, in: IntegerForm.self)
      #expect(
        error?.kind == .decoding(.init(expected: "\(type)", found: "an INTEGER out of range")),
        sourceLocation: sourceLocation)
      #expect(error?.table == "stored", sourceLocation: sourceLocation)
      #expect(error?.column == "value", sourceLocation: sourceLocation)
      #expect(error?.rowId == 7, sourceLocation: sourceLocation)
      #expect(error.map { !"\($0)".contains(sql) } == true, sourceLocation: sourceLocation)
    }
  }

  @Test func valuesOutOfRangeAreRefusedNotTruncated() throws {
    try expectOutOfRange(Int8.self, "128", "-129")
    try expectOutOfRange(UInt8.self, "256", "-1")
    try expectOutOfRange(Int16.self, "32768", "-32769")
    try expectOutOfRange(UInt16.self, "65536", "-1")
    try expectOutOfRange(Int32.self, "2147483648", "-2147483649")
    try expectOutOfRange(UInt32.self, "4294967296", "-1")
    try expectOutOfRange(UInt64.self, "-9223372036854775807")
    try expectOutOfRange(UInt.self, "-9223372036854775807")
  }

  @Test func trueAndFalseAreStoredAsOneAndZero() throws {
    try expectRoundTrip([true, false])
    try withDatabase { db in
      try db.createTable(Stored<Bool, BooleanForm>.self)
      try Stored<Bool, BooleanForm>(true).insert().run(db)
      #expect(try db.query("SELECT value FROM stored", as: Int.self) == [1])
      #expect(try db.query("SELECT typeof(value) FROM stored", as: String.self) == ["integer"])
    }
  }

  @Test(arguments: ["2", "-1", "9223372036854775807"])
  func integersOtherThanZeroAndOneAreNoBool(sql: String) throws {
    let error = try errorReading(sql, as: Bool.self, in: BooleanForm.self)
    #expect(error?.kind == .decoding(.init(expected: "INTEGER 0 or 1", found: "another INTEGER")))
    #expect(error?.rowId == 7)
  }

  @Test func aBooleanColumnRefusesOtherIntegers() throws {
    let error = try errorStoring(2, in: BooleanForm.self)
    #expect(error?.mismatch?.expected == "INTEGER 0 or 1")
    #expect(error?.column == "value")
  }

  @Test func aRealColumnAcceptsAnIntegerOnlyWithoutLoss() throws {
    try withDatabase { db in
      typealias Row = Stored<Int, RealForm>
      try db.createTable(Row.self)
      try Row(1 << 53).insert().run(db)
      #expect(try db.query("SELECT value FROM stored", as: Double.self) == [9_007_199_254_740_992])
      let lossy = sqlError { try Row((1 << 53) + 1).insert().run(db) }
      #expect(lossy?.mismatch?.expected == "REAL")
      #expect(lossy?.column == "value")
      let assigned = sqlError { try Row.updateAll(Row.value.set(to: (1 << 53) + 1)).run(db) }
      #expect(assigned?.mismatch?.expected == "REAL")
    }
  }
}
