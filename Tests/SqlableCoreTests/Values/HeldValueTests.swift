import Foundation
import SqlableCore
import Testing

@testable import SqlableTestSupport

/// Values whose storage class differs from the column's type, as other programs write them.
@Suite struct HeldValueTests {
  private struct ForeignRow: Sqlable {
    let id: Int
    var number: HeldValue?
    var note: HeldValue?
    var price: HeldValue?

    static let tableName = "foreign_row"
    static let id = column("id", Int.self, PrimaryKey())
    static let number = column("number", HeldValue?.self, as: .integer)
    static let note = column("note", HeldValue?.self, as: .text)
    static let price = column("price", HeldValue?.self, as: .real)
    static let tableLayout = [id.column, number.column, note.column, price.column]

    init(row: ReadRow) throws {
      (id, number) = (try row.get(ForeignRow.id), try row.get(ForeignRow.number))
      (note, price) = (try row.get(ForeignRow.note), try row.get(ForeignRow.price))
    }

    func write(to row: inout RowWriter) throws {
      row.set(ForeignRow.id, id)
      row.set(ForeignRow.number, number)
      row.set(ForeignRow.note, note)
      row.set(ForeignRow.price, price)
    }
  }

  @Test func aRowIsWrittenBackUnchanged() throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE foreign_row (id INTEGER PRIMARY KEY, number INTEGER, note TEXT, price REAL)")
      try db.execute(
        """
        INSERT INTO foreign_row VALUES (1, 'many', x'00ff', 'free'), (2, 1.5, CAST(x'ff41' AS TEXT), x''),
          (3, x'31', 7, NULL), (4, NULL, '', 1)
        """)
      let shown = SQL(
        "SELECT id, typeof(number), hex(number), typeof(note), hex(note), typeof(price), hex(price) FROM foreign_row")
      let before = try db.query(shown, as: DynamicRow.self).map(\.values)
      let rows = try ForeignRow.read().run(db)
      #expect(rows.count == 4)
      for row in rows {
        try row.update().run(db)
        try row.update(ForeignRow.number, ForeignRow.note).run(db)
      }
      #expect(try db.query(shown, as: DynamicRow.self).map(\.values) == before)
      try ForeignRow.deleteAll().run(db)
      try ForeignRow.insert(rows).run(db)
      #expect(try db.query(shown, as: DynamicRow.self).map(\.values) == before)
    }
  }

  @Test func aValueThatReplacesInvalidTextIsWritten() throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE foreign_row (id INTEGER PRIMARY KEY, number INTEGER, note TEXT, price REAL)")
      try db.execute("INSERT INTO foreign_row VALUES (1, 1, CAST(x'ff41' AS TEXT), 1)")
      var row = try #require(try ForeignRow.read().first(db))
      row.note?.databaseValue = .text("a")
      try row.update().run(db)
      #expect(try db.query("SELECT note FROM foreign_row", as: String.self) == ["a"])
      row.price?.databaseValue = .real(.nan)
      let error = sqlError { try row.update().run(db) }
      guard case .encoding = error?.kind else { throw try #require(error) }
    }
  }
}

/// The type that `sqlable models` prints.
private struct HeldValue: SqlValue {
  var databaseValue: DatabaseValue { didSet { textBytes = nil } }
  /// The bytes of a text that is not UTF-8.
  private var textBytes: [UInt8]?

  static var columnType: ColumnType { .blob }

  init(databaseValue: DatabaseValue) { self.databaseValue = databaseValue }

  static func read(from cell: ReadCell) throws -> HeldValue {
    guard cell.storageClass == .text else { return HeldValue(databaseValue: try cell.databaseValue()) }
    let bytes = try cell.textBytes()
    if let text = String(validating: bytes, as: UTF8.self) { return HeldValue(databaseValue: .text(text)) }
    var value = HeldValue(databaseValue: .blob(Data(bytes)))
    value.textBytes = bytes
    return value
  }

  func write(to cell: inout WriteCell) throws {
    if let textBytes { cell.set(storedText: textBytes) } else { try cell.set(stored: databaseValue) }
  }
}
