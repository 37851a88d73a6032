import SqlableCore

/// An insert that returns the new row, or the existing row with the same values in unique columns; see
/// ``Statement/orFind(by:_:where:)``.
public struct InsertOrFind<Model: Sqlable>: Sendable, Hashable {
  let insert: Statement<Model, Int>
  let find: Statement<Model, Model?>
}

extension Statement where Output == Int {
  /// Returns the row that has the struct's values in these columns. If there is no such row, inserts the struct and
  /// returns the new row.
  ///
  /// ```swift
  /// let anna = try Person(id: nil, name: "Anna").insert().orFind(by: Person.name).run(db)     // Person
  /// // SELECT "id", "name" FROM "person" WHERE "name" = ? LIMIT ?
  /// // INSERT INTO "person" ("name") VALUES (?) ON CONFLICT ("name") DO NOTHING
  /// ```
  ///
  /// Several threads and processes that run this statement at the same time get the same row. The insert and the read
  /// of the new row are one transaction. Observers are notified only of a row that was inserted. An existing row does
  /// not change, and no trigger fires.
  ///
  /// The columns need a unique index; for a partial index, pass the index's condition. Without such an index, running
  /// the statement throws `.schema(.mismatch)`; over a ``SqlTransport``, the statement throws only if the row does not
  /// exist. Running the statement throws `.misuse` if a value is nil, because a unique index allows several NULLs.
  /// Running the statement throws `.constraint` if the row conflicts with another row in other columns.
  public consuming func orFind(
    by first: any ColumnConvertible, _ others: any ColumnConvertible..., where index: (any SqlCondition)? = nil
  ) -> InsertOrFind<Model> {
    let columns = ([first] + others).map(\.column)
    var insert = self
    if case .insert(let query) = insert.tree, query.form == .row {
      insert.tree.onConflict(
        Upsert(target: columns.map { ColumnReference($0) }, index: index?.expression, columns: []))
    } else {
      insert.tree.refuse("orFind(by:), which needs an insert of one struct")
    }
    var query = SelectQuery(of: insert.tree.tableInfo)
    for condition in insert.conditions(of: columns) { query.filter(condition) }
    if let index { query.filter(index.expression) }
    query.limit = 1
    return InsertOrFind(insert: insert, find: Statement<Model, Model?>(.select(query)))
  }

  private func conditions(of columns: [Column]) -> [SqlExpression] {
    let row = Result { try storedRows().first }
    let chosen: [ColumnReference]? = if case .insert(let query) = tree { query.rest.value.columns } else { nil }
    return columns.map { column in
      do {
        let isWritten = chosen?.contains { $0.name.isExactly(column.name) } ?? true
        guard let value = try row.get()?[column.name], value != .null, isWritten else {
          throw SqlError.misuse(
            "orFind(by:) needs a value of \(tree.tableInfo.name).\(column.name), but the insert writes none"
          ).at(table: tree.tableInfo.name, column: column.name)
        }
        return column.expression.compared(.equal, in: value)
      } catch {
        return SqlExpression(invalid: error, column: column)
      }
    }
  }
}
