import SqlableCore

/// A row that a committed transaction changed, with its values before and after the change.
public struct ModelChange<Model: Sqlable>: Sendable {
  /// The kind of change, and the row's id and key.
  public let row: RowChange
  private let reader: ImageReader

  init(_ row: RowChange, _ reader: ImageReader) {
    self.row = row
    self.reader = reader
  }

  /// The kind of change: insert, update or delete.
  public var change: Change { row.change }
  /// The row's id; see ``RowChange/id``.
  public var id: Int { row.id }

  /// Returns the row before the change; nil for an insert.
  ///
  /// Throws `.decoding` if the values do not fit the struct. Throws `.misuse` if SQLite does not report the values:
  ///
  /// - The table has VIRTUAL generated columns.
  /// - SQLite was compiled without the pre-update hook.
  /// - A text is not UTF-8.
  /// - The change is a write of a part of a blob.
  /// - A column with a default is NULL: SQLite 3.40 also reports NULL for rows that are older than the column.
  public func old() throws -> Model? {
    row.change == .insert ? nil : try model(row.images?.old, row.images?.isWhole)
  }

  /// Returns the row after the change; nil for a delete.
  public func new() throws -> Model? {
    row.change == .delete ? nil : try model(row.images?.new, row.images?.isNewWhole)
  }

  private func model(_ values: [DatabaseValue]?, _ isWhole: Bool?) throws -> Model {
    guard let images = row.images, isWhole == true, let values else {
      throw SqlError.misuse("SQLite did not report all values of the row, or a text is not UTF-8")
        .at(table: row.table)
    }
    return try reader.model(images.columns, values)
  }
}

/// A decoder that makes a struct of a changed row's values. A query returns the values, so that `init(row:)` can read
/// them.
final class ImageReader: Sendable {
  private let database = LockedValue<SqliteDatabase?>(nil)

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
      throw SqlError.misuse("the query for the values of the changed row returned no row")
    }
    return model
  }
}
