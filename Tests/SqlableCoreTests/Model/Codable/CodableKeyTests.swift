import Foundation
import SqlableCodable
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Key types of unusual sizes: an enum with a single key, which has no bytes, and a struct of one byte. Reading by
/// these keys must return the same values and errors as reading by hand, in the first row and in later rows.
@Suite struct CodableKeyTests {
  private struct Name: SqlCodable, Equatable {
    var name: String?
    static let name = column("name", String?.self)
    static let tableLayout = [name.column]
  }

  @Test func aModelMayHaveASingleKey() throws {
    try withDatabase { db in
      try db.createTable(Name.self)
      let names = ["Fram", nil, "Gjøa", "Maud"].map { Name(name: $0) }
      for _ in 1...2 {
        try Name.insert(names).run(db)
        #expect(try Name.read().run(db) == names)
        try Name.deleteAll().run(db)
      }
    }
  }

  fileprivate typealias Format = ColumnType.DateFormat

  /// One key for each date format.
  private struct FormatKey: CodingKey {
    let index: UInt8
    var stringValue: String { Format.allCases[Int(index)].rawValue }
    var intValue: Int? { nil }
    init(index: Int) { self.index = UInt8(index) }
    init?(stringValue: String) { nil }
    init?(intValue: Int) { nil }

    static let all = Format.allCases.indices.map { FormatKey(index: $0) }
  }

  /// Columns without types store any value unchanged.
  private static let layout =
    [Column("id", .integer, PrimaryKey())] + Format.allCases.map { Column($0.rawValue, .nullable(.date($0))) }

  private struct Moments: SqlCodable {
    var dates: [String]
    static let tableName = "moments"
    static let tableLayout = CodableKeyTests.layout

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: FormatKey.self)
      dates = FormatKey.all.flatMap { key in
        [
          outcome { try container.decode(Date.self, forKey: key) },
          outcome { try container.decodeIfPresent(Date.self, forKey: key) },
        ]
      }
    }

    func encode(to encoder: any Encoder) throws { throw CancellationError() }
  }

  private struct MomentsByHand: Sqlable {
    var dates: [String]
    static let tableName = "moments"
    static let tableLayout = CodableKeyTests.layout

    init(row: ReadRow) throws {
      row.skip(CodableKeyTests.layout[0])
      dates = CodableKeyTests.layout.dropFirst().flatMap { column in
        [outcome { try row.get(column) as Date }, outcome { try row.get(column) as Date? }]
      }
    }
  }

  @Test func datesOfEachFormatAreReadAsByHand() throws {
    let stored = [
      "NULL", "0", "1400000000", "1400000000250", "1400000000.25", "9e300", "x'00'", "''", "'tomorrow'",
      "'2014-05-13T16:53:20.000Z'", "'2014-05-13 16:53:20'", "'2014-05-13'", "CAST(x'ff' AS TEXT)",
    ]
    try withDatabase { db in
      let names = Format.allCases.map(\.rawValue).joined(separator: ", ")
      try db.execute(SQL(verbatim: "CREATE TABLE moments (id INTEGER PRIMARY KEY, \(names))"))
      for value in stored {
        let values = Format.allCases.map { _ in value }.joined(separator: ", ")
        try db.execute(SQL(verbatim: "INSERT INTO moments (\(names)) VALUES (\(values))"))
      }
      let coded = try Moments.read().orderBy(CodableKeyTests.layout[0]).run(db).map(\.dates)
      #expect(try MomentsByHand.read().orderBy(CodableKeyTests.layout[0]).run(db).map(\.dates) == coded)
      #expect(coded.count == stored.count)
      // 1400000000 as REAL in seconds, and as INTEGER in milliseconds.
      #expect(coded[2][0] == "1400000000.0")
      #expect(coded[3][4] == "1400000000.25")
    }
  }
}

private func outcome(_ read: () throws -> Date?) -> String {
  do { return try read().map { "\($0.timeIntervalSince1970)" } ?? "nil" } catch {
    guard let error = error as? SqlError else { return "\(error)" }
    return "\(error.kind) \(error.message) \(error.table ?? "") \(error.column ?? "") \(error.rowId ?? 0)"
  }
}
