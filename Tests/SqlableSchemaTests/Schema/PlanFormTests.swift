import Foundation
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// A form of a column with the Swift type of its values.
private protocol Form: ColumnForm { associatedtype Value: SqlValue & Sendable }

extension IntegerForm: Form { fileprivate typealias Value = Int }
extension RealForm: Form { fileprivate typealias Value = Double }
extension TextForm: Form { fileprivate typealias Value = String }
extension BlobForm: Form { fileprivate typealias Value = Data }
extension BooleanForm: Form { fileprivate typealias Value = Bool }
extension OwnForm: Form {}
extension UnixSeconds: Form { fileprivate typealias Value = Date }
extension UnixMilliseconds: Form { fileprivate typealias Value = Date }
extension ISO8601: Form { fileprivate typealias Value = Date }

private enum Units: Form {
  typealias Value = Decimal
  static let type = ColumnType.decimal(scale: 0)
}
private enum Cents: Form {
  typealias Value = Decimal
  static let type = ColumnType.decimal(scale: 2)
}

/// Tests that a plan converts every value to its new column's form, or refuses with the row's id.
@Suite struct PlanFormTests {
  private static let forms: [any Form.Type] = [
    IntegerForm.self, RealForm.self, TextForm.self, BlobForm.self, BooleanForm.self, OwnForm<Date>.self,
    UnixSeconds.self, UnixMilliseconds.self, ISO8601.self, Units.self, Cents.self,
  ]

  private static let values = [
    "0", "1", "2", "-1", "1.0", "0.5", "1700000000", "1700000000.5", "1700000000123", "9e999", "9223372036854775807",
    "x'31'", "x'ff'", "''", "'0'", "'1'", "'1.0'", "'1 '", "'0x1'", "'yes'", "'now'", "'007'", "'1700000000.5'",
    "'2013-01-01'", "'06:00:00'", "'2013-01-01T06:00:00'", "'2013-01-01T06:00:00Z'", "'2013-01-01 06:00:00'",
    "'2013-01-01T06:00:00.25+01:00'", "'2013-02-30T06:00:00Z'", "'2013-01-01T24:00:00Z'", "'2013-01-01T06:00:00 Z'",
    "'2013-01-01T06:00:00Z '", "'2013-01-01T06:00:00z'", "'2013-01-01T06:00:00.Z'", "'2013-01-01T06:00:60Z'",
    "'2013-01-01T06:00:00+15:00'", "'2013-13-01T06:00:00Z'", "'2456293.75'", "'9999-12-31T23:59:59.999Z'",
    "'0000-01-01T00:00:00.000Z'",
  ]

  @Test(arguments: ["INTEGER", "REAL", "TEXT", "BLOB", "NUMERIC", "VARCHAR(40)"])
  func planConvertsEveryValueOrNamesItsRow(_ type: String) throws {
    let db = try SqliteDatabase.inMemory()
    var (changed, refused) = (0, 0)
    func check<F: Form>(_ form: F.Type, _ value: String) throws {
      try db.execute(
        SQL(
          verbatim: """
            DROP TABLE IF EXISTS stored; CREATE TABLE stored (id INTEGER PRIMARY KEY, value \(type));
            INSERT INTO stored VALUES (4, NULL), (7, \(value))
            """))
      let before = try db.query("SELECT value FROM stored", as: DynamicRow.self).map(\.values)
      let plan = try Schema(Stored<F.Value?, OrNull<F>>.self).plan(db)
      // The plan is empty if the schema does not show the change of form.
      guard !plan.isEmpty else { return }
      if let error = sqlError({ try plan.apply(db) }) {
        refused += 1
        #expect(error.rowId == 7, "\(type) \(value) as \(form): \(error.message)")
        let after = try db.query("SELECT value FROM stored", as: DynamicRow.self).map(\.values)
        #expect(before == after)
        return
      }
      changed += 1
      let rows = Result { try Stored<F.Value?, OrNull<F>>.read().run(db) }
      #expect((try? rows.get())?.map { $0.value == nil } == [true, false], "\(type) \(value) as \(form): \(rows)")
    }
    for value in PlanFormTests.values {
      for form in PlanFormTests.forms { try check(form, value) }
    }
    #expect(changed > 0)
    #expect(refused > 0)
  }
}
