import Foundation
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// A form in which a column stores its values.
private protocol Form: Sendable {
  associatedtype Value: SqlValue & Sendable
  static var type: ColumnType { get }
}

private enum Integers: Form {
  typealias Value = Int
  static let type = ColumnType.integer
}
private enum Reals: Form {
  typealias Value = Double
  static let type = ColumnType.real
}
private enum Texts: Form {
  typealias Value = String
  static let type = ColumnType.text
}
private enum Bytes: Form {
  typealias Value = Data
  static let type = ColumnType.blob
}
private enum Truths: Form {
  typealias Value = Bool
  static let type = ColumnType.boolean
}
private enum Dates: Form {
  typealias Value = Date
  static let type = ColumnType.date
}
private enum Seconds: Form {
  typealias Value = Date
  static let type = ColumnType.date(.unixSeconds)
}
private enum Milliseconds: Form {
  typealias Value = Date
  static let type = ColumnType.date(.unixMilliseconds)
}
private enum ISODates: Form {
  typealias Value = Date
  static let type = ColumnType.date(.iso8601)
}
private enum Units: Form {
  typealias Value = Decimal
  static let type = ColumnType.decimal(scale: 0)
}
private enum Cents: Form {
  typealias Value = Decimal
  static let type = ColumnType.decimal(scale: 2)
}

private struct FormRow<F: Form>: Sqlable {
  var id: Int
  var a: F.Value?

  static var tableName: String { "t" }
  static var idColumn: Column { Column("id", .integer, PrimaryKey()) }
  static var aColumn: Column { Column("a", .nullable(F.type)) }
  static var tableLayout: [Column] { [idColumn, aColumn] }

  init(row: ReadRow) throws {
    id = try row.get(FormRow.idColumn)
    a = try row.get(FormRow.aColumn)
  }
}

/// Tests that a plan converts every value to its new column's form, or refuses with the row's id.
@Suite struct PlanFormTests {
  private static let forms: [any Form.Type] = [
    Integers.self, Reals.self, Texts.self, Bytes.self, Truths.self, Dates.self, Seconds.self, Milliseconds.self,
    ISODates.self, Units.self, Cents.self,
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
            DROP TABLE IF EXISTS t; CREATE TABLE t (id INTEGER PRIMARY KEY, a \(type));
            INSERT INTO t VALUES (4, NULL), (7, \(value))
            """))
      let before = try db.query("SELECT a FROM t", as: DynamicRow.self).map(\.values)
      let plan = try Schema(FormRow<F>.self).plan(db)
      // The plan is empty if the schema does not show the change of form.
      guard !plan.isEmpty else { return }
      if let error = sqlError({ try plan.apply(db) }) {
        refused += 1
        #expect(error.rowId == 7, "\(type) \(value) as \(form): \(error.message)")
        let after = try db.query("SELECT a FROM t", as: DynamicRow.self).map(\.values)
        #expect(before == after)
        return
      }
      changed += 1
      let rows = Result { try FormRow<F>.read().run(db) }
      #expect((try? rows.get())?.map { $0.a == nil } == [true, false], "\(type) \(value) as \(form): \(rows)")
    }
    for value in PlanFormTests.values {
      for form in PlanFormTests.forms { try check(form, value) }
    }
    #expect(changed > 0)
    #expect(refused > 0)
  }
}
