/// A column of a result: the column's identity, and the type of its values if known.
package struct ResultColumn {
  package let identity: UnsafeRawPointer
  package let type: ColumnType?
}

/// The columns of a model in a result of SQL text.
package struct ModelColumns: Sendable {
  /// The position of the first column.
  let start: Int
  let table: String
  /// The columns' names, in the order of the model's layout.
  let names: [String]

  package init(start: Int, table: String, names: [String]) {
    (self.start, self.table, self.names) = (start, table, names)
  }
}

/// The columns of a result, stored at fixed addresses.
///
/// `@unchecked Sendable` is sound: the memory is written only in `init`.
@usableFromInline
package final class ResultLayout: @unchecked Sendable {
  /// The addresses that identify the columns, by position. The list ends with ``RowState/noColumn``.
  let identities: UnsafePointer<UnsafeRawPointer>
  /// The types in which the values of the columns are stored, by position; nil if unknown.
  @usableFromInline package let types: UnsafePointer<ColumnType?>
  let count: Int

  /// The models in a result of SQL text.
  let models: [ModelColumns]

  /// True if a result is allowed to have more columns than the layout.
  let takesRest: Bool

  package init(_ columns: [ResultColumn], models: [ModelColumns] = [], takesRest: Bool = false) {
    (self.models, self.takesRest) = (models, takesRest)
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
  /// Returns a layout of `count` columns: the columns of this layout, then `column` for each remaining column.
  func extended(to count: Int, by column: ResultColumn) -> ResultLayout {
    guard count > self.count else { return self }
    let described = (0..<self.count).map { ResultColumn(identity: identities[$0], type: types[$0]) }
    return ResultLayout(
      described + Array(repeating: column, count: count - self.count), models: models, takesRest: takesRest)
  }

  /// Returns the layout with the columns of each model in the order of the result's names.
  ///
  /// `SELECT note.*` returns the columns in the order of the table, which can differ from the model's order. If the
  /// result has exactly the model's names, in any order, the layout gets the result's order. Otherwise the model reads
  /// its columns by position. Throws `.misuse` if a result column then has the name of a different column of the model.
  func ordered(by names: [String]) throws -> ResultLayout {
    var moved: [(from: Int, to: Int)] = []
    for model in models where model.start + model.names.count <= names.count {
      let names = names[model.start..<model.start + model.names.count]
      if zip(names, model.names).allSatisfy({ $0.isSameName(as: $1) }) { continue }
      let found = names.map { name in model.names.firstIndex { $0.isSameName(as: name) } }
      guard let misplaced = found.indices.first(where: { found[$0] ?? $0 != $0 }) else { continue }
      guard Set(found).count == found.count, !found.contains(nil) else {
        let (name, column) = (names[model.start + misplaced], model.names[misplaced])
        throw SqlError.misuse(
          "the result has column \(name) in the position of \(model.table).\(column); select the columns in the order "
            + "of the model's layout, or give every column its name in the model"
        ).at(table: model.table, column: column)
      }
      moved += found.enumerated().map { (model.start + ($1 ?? $0), model.start + $0) }
    }
    guard !moved.isEmpty else { return self }
    let columns = (0..<count).map { ResultColumn(identity: identities[$0], type: types[$0]) }
    var ordered = columns
    for (from, to) in moved { ordered[to] = columns[from] }
    return ResultLayout(ordered, models: models, takesRest: takesRest)
  }

  static func mismatch(_ columnCount: Int, _ read: Int) -> SqlError {
    .misuse("the result has \(columnCount) columns, but \(read) \(read == 1 ? "is" : "are") read")
  }

  /// Throws if a result has fewer columns than will be read. Also throws if the result has more columns, unless
  /// `takesRest`.
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
