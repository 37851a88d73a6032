// Join conditions on columns of the same name, like USING in SQL.

import SqlableCore

extension Sqlable {
  /// Returns the condition that columns of the same name have equal values in this table and in another table.
  ///
  /// ```swift
  /// Order.join(Customer.self, on: Customer.using(Order.tenant, Order.customerId))
  /// // … JOIN "customer" ON "order"."tenant" = "customer"."tenant"
  /// //   AND "order"."customer_id" = "customer"."customer_id"
  /// ```
  ///
  /// Pass columns of the other table. The condition works in any join, and is never true for a NULL, not even for two
  /// NULLs. Running the statement throws `.schema(.missingColumn)` if this table has no column of the same name, and
  /// `.invalidStatement` if the columns can't be compared.
  public static func using(_ first: any ColumnConvertible, _ others: any ColumnConvertible...) -> SqlExpression {
    let table = TableInfo.unchecked(Self.self)
    return .using([first] + others, table) { column in
      guard !table.columns.contains(where: { $0.definition === column.definition }) else {
        return SqlExpression(
          invalid: SqlError.invalidStatement(
            "using(_:) needs columns of the other joined table, not columns of the model itself"
          )
          .at(table: table.name, column: column.name))
      }
      return table.position(named: column.name).map { SqlExpression(.column(ColumnReference(table.columns[$0]))) }
    }
  }
}

extension Alias {
  /// Returns the condition that columns of the same name have equal values in this table and in another table.
  ///
  /// ```swift
  /// Worker.join(other, on: other.using(Worker.bossId))     // … ON "worker"."boss_id" = "other"."boss_id"
  /// ```
  public func using(_ first: any ColumnConvertible, _ others: any ColumnConvertible...) -> SqlExpression {
    let table = source.table
    return .using([first] + others, table) { column in
      table.position(named: column.name).map {
        SqlExpression(.qualified(alias: name, ColumnReference(table.columns[$0])))
      }
    }
  }
}

extension SqlExpression {
  fileprivate static func using(
    _ columns: [any ColumnConvertible], _ table: TableInfo, _ qualifiedTerm: (Column) -> SqlExpression?
  ) -> SqlExpression {
    var condition: SqlExpression?
    for column in columns.map(\.column) {
      let reference = ColumnReference(column)
      let term = qualifiedTerm(column) ?? SqlExpression(invalid: SqlError.missing(reference, in: [table]))
      condition.and(SqlExpression(.column(reference)).combined(.equal, with: term))
    }
    return condition ?? SqlExpression(invalid: SqlError.invalidStatement("using(_:) needs at least one column"))
  }
}
