/// A column of a result: the column's identity, and the type of its values if known.
package struct ResultColumn {
  package let identity: UnsafeRawPointer
  package let type: ColumnType?
}

/// The columns of a result, stored at fixed addresses.
///
/// `@unchecked Sendable` is sound: the memory is written only in `init`.
@usableFromInline
package final class ResultLayout: @unchecked Sendable {
  /// The identities of the columns, by position. The list ends with ``RowState/noColumn``.
  let identities: UnsafePointer<UnsafeRawPointer>
  /// The types in which the values of the columns are stored, by position; nil if unknown.
  @usableFromInline package let types: UnsafePointer<ColumnType?>
  let count: Int

  /// The tables of models in a result of SQL text, with the positions of their first columns.
  let tables: [(start: Int, table: TableInfo)]

  /// True if a result is allowed to have more columns than the layout.
  let takesRest: Bool

  package init(_ columns: [ResultColumn], tables: [(start: Int, table: TableInfo)] = [], takesRest: Bool = false) {
    (self.tables, self.takesRest) = (tables, takesRest)
    count = columns.count
    let identities = UnsafeMutablePointer<UnsafeRawPointer>.allocate(capacity: count + 1)
    let types = UnsafeMutablePointer<ColumnType?>.allocate(capacity: count + 1)
    for (position, column) in columns.enumerated() {
      (identities + position).initialize(to: column.identity)
      (types + position).initialize(to: column.type)
    }
    (identities + count).initialize(to: RowState.noColumn)
    (types + count).initialize(to: nil)
    (self.identities, self.types) = (UnsafePointer(identities), UnsafePointer(types))
  }

  deinit {
    identities.deallocate()
    types.deallocate()
  }
}

extension ResultLayout {
  /// Returns a layout of `count` columns: these columns, then `column` for each remaining column.
  func extended(to count: Int, by column: ResultColumn) -> ResultLayout {
    guard count > self.count else { return self }
    let described = (0..<self.count).map { ResultColumn(identity: identities[$0], type: types[$0]) }
    return ResultLayout(
      described + Array(repeating: column, count: count - self.count), tables: tables, takesRest: takesRest)
  }

  /// Returns the layout with the columns of each model in the order of the result's names.
  ///
  /// `SELECT note.*` returns the columns in the order of the table, which can differ from the model's order. If the names
  /// are other names than the columns', the order is the model's. Throws if the result has another column of the model at
  /// the position of a column.
  func ordered(by names: [String]) throws -> ResultLayout {
    var columns = (0..<count).map { ResultColumn(identity: identities[$0], type: types[$0]) }
    var isReordered = false
    for (start, table) in tables where start + table.columns.count <= names.count {
      let found = names[start..<start + table.columns.count].map { name in
        table.columns.firstIndex { $0.name.isSameName(as: name) }
      }
      guard let misplaced = found.indices.first(where: { found[$0] ?? $0 != $0 }) else { continue }
      guard Set(found).count == found.count, !found.contains(nil) else {
        throw SqlError.misuse(
          "the result has column \(names[start + misplaced]) where \(table.name).\(table.columns[misplaced].name) is read; "
            + "select the columns of the model in the order of its layout, or all by their names"
        ).at(table: table.name, column: table.columns[misplaced].name)
      }
      for case (let position, let index?) in found.enumerated() {
        columns[start + position] = ResultColumn(table.columns[index])
      }
      isReordered = true
    }
    return isReordered ? ResultLayout(columns, tables: tables, takesRest: takesRest) : self
  }

  static func mismatch(_ columnCount: Int, _ read: Int) -> SqlError {
    .misuse("the result has \(columnCount) columns, but \(read) \(read == 1 ? "is" : "are") read")
  }

  /// Throws if a result has fewer or more columns than will be read.
  func checkExactly(_ columnCount: Int) throws {
    guard columnCount == count || (takesRest && columnCount > count) else {
      throw ResultLayout.mismatch(columnCount, count)
    }
  }
}

extension PreparedStatement {
  func check(_ layout: ResultLayout) throws {
    try checkColumns { count in
      guard count >= layout.count else { throw ResultLayout.mismatch(count, layout.count) }
    }
  }

  func checkColumns(_ check: (Int) throws -> Void) throws {
    do { try check(columnCount) } catch var error as SqlError {
      error.sql = sql
      throw error
    }
  }
}
