/// A row that a committed transaction changed, with what it was before and what it is now.
public struct ModelChange<Model: Sqlable>: Sendable {
  /// The change, the row's id and key.
  public let row: RowChange
  private let reader: ImageReader

  init(_ row: RowChange, _ reader: ImageReader) {
    self.row = row
    self.reader = reader
  }

  /// Whether the row was inserted, updated or deleted.
  public var change: Change { row.change }
  /// The row's id; see ``RowChange/id``.
  public var id: Int { row.id }

  /// The row before the change; nil for an insert.
  ///
  /// Throws `.decoding` when the values do not fit the struct, and `.misuse` where SQLite does not tell them: for a
  /// table with columns that are computed when they are read, without SQLite's pre-update hook, and for NULL in a
  /// column with a default: SQLite 3.40 tells NULL of rows from before the column was added, too. It throws `.misuse`
  /// also where a text is not UTF-8.
  public func old() throws -> Model? {
    row.change == .insert ? nil : try model(row.images?.old, row.images?.isWhole)
  }

  /// The row after the change; nil for a delete.
  public func new() throws -> Model? {
    row.change == .delete ? nil : try model(row.images?.new, row.images?.isNewWhole)
  }

  private func model(_ values: [DatabaseValue]?, _ isWhole: Bool?) throws -> Model {
    guard let images = row.images, isWhole == true, let values else {
      throw SqlError.misuse("SQLite does not tell all values of the row, or one is a text that is not UTF-8")
        .at(table: row.table)
    }
    return try reader.model(images.columns, values)
  }
}

/// Makes structs of values as `init(row:)` makes them of rows: by having SQLite give them as a row.
final class ImageReader: Sendable {
  private let database = Guarded<SqliteDatabase?>(nil)

  func model<Model: Sqlable>(_ columns: [String], _ values: [DatabaseValue]) throws -> Model {
    let db = try database.withLock { database in
      let db = try database ?? .inMemory()
      database = db
      return db
    }
    var sql = SQL.StringInterpolation(literalCapacity: 0, interpolationCount: columns.count)
    for (index, (column, value)) in zip(columns, values).enumerated() {
      sql.appendLiteral(index == 0 ? "SELECT " : ", ")
      sql.appendInterpolation(value)
      sql.appendLiteral(" AS \(column.quotedName)")
    }
    guard let model = try db.query(SQL(stringInterpolation: sql), as: Model.self).first else {
      throw SqlError.misuse("there is no row")
    }
    return model
  }
}
