import Foundation
import SqlableCore
import SqlableSchema

/// A table of the property tests, with the columns in the order of `OracleGenerator.columns`.
protocol OracleModel: Sqlable {
  static var oracleColumns: [Column] { get }
  /// The id of the row.
  var oracleId: Int { get }
  init(oracleId: Int)
}

/// A rowid table with an integer key.
struct OraclePlain: OracleModel {
  static let id = Column("id", .integer, PrimaryKey())
  static let i = Column("i", .nullable(.integer))
  static let r = Column("r", .nullable(.real))
  static let t = Column("t", .nullable(.text))
  static let n = Column("n", .nullable(.text), Collate.nocase)
  static let b = Column("b", .nullable(.blob))
  static let oracleColumns = [id, i, r, t, n, b]
  static let tableLayout = oracleColumns
  let oracleId: Int

  init(oracleId: Int) { self.oracleId = oracleId }
  init(row: ReadRow) throws {
    oracleId = try row.get(Self.id)
    for column in Self.tableLayout.dropFirst() { row.skip(column) }
  }
}

/// A WITHOUT ROWID table whose key is a text and a number, in descending order.
struct OracleKeyed: OracleModel {
  static let id = Column("id", .integer)
  static let part = Column("part", .text, Collate.nocase)
  static let i = Column("i", .nullable(.integer))
  static let r = Column("r", .nullable(.real))
  static let t = Column("t", .nullable(.text))
  static let n = Column("n", .nullable(.text), Collate.nocase)
  static let b = Column("b", .nullable(.blob))
  static let oracleColumns = [id, i, r, t, n, b]
  static let tableLayout = [id, i, r, t, n, b, part]
  static let tableConstraints: [TableConstraint] = [PrimaryKeys(part, id.desc)]
  static let tableOptions: [TableOption] = [.withoutRowid]
  let oracleId: Int

  init(oracleId: Int) { self.oracleId = oracleId }
  init(row: ReadRow) throws {
    oracleId = try row.get(Self.id)
    for column in Self.tableLayout.dropFirst() { row.skip(column) }
  }
  func write(to row: inout RowWriter) throws {
    row.set(Self.id, oracleId)
    row.set(Self.part, oracleId % 2 == 0 ? "even" : "ODD")
    for column in Self.oracleColumns.dropFirst() { row.skip(column) }
  }
}

/// A rowid table without a key, with columns that hide two names of the rowid.
struct OracleHidden: OracleModel {
  static let id = Column("RowId", .integer)
  static let other = Column("_rowid_", .nullable(.integer))
  static let i = Column("i", .nullable(.integer))
  static let r = Column("r", .nullable(.real))
  static let t = Column("t", .nullable(.text))
  static let n = Column("n", .nullable(.text), Collate.nocase)
  static let b = Column("b", .nullable(.blob))
  static let oracleColumns = [id, i, r, t, n, b]
  static let tableLayout = [id, i, r, t, n, b, other]
  let oracleId: Int

  init(oracleId: Int) { self.oracleId = oracleId }
  init(row: ReadRow) throws {
    oracleId = try row.get(Self.id)
    for column in Self.tableLayout.dropFirst() { row.skip(column) }
  }
}

extension OracleModel {
  func write(to row: inout RowWriter) throws {
    row.set(Self.oracleColumns[0], oracleId)
    for column in Self.tableLayout.dropFirst() { row.skip(column) }
  }

  /// Creates the table and inserts the rows.
  static func fill(_ rows: [[OracleValue]], in db: SqliteDatabase) throws {
    try db.createTable(Self.self)
    try insert(rows, in: db)
  }

  static func insert(_ rows: [[OracleValue]], in db: SqliteDatabase) throws {
    try db.transaction { db in
      for row in rows {
        guard case .integer(let id) = row[0] else { continue }
        try Self(oracleId: Int(id)).insert().run(db)
        for (column, value) in zip(oracleColumns, row).dropFirst() {
          try db.execute(
            "UPDATE \(Self.self) SET \(column) = \(value.sqlValue) WHERE \(oracleColumns[0]) = \(id)")
        }
      }
    }
  }
}
