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

  /// True if a result is allowed to have more columns than the layout.
  let takesRest: Bool

  package init(_ columns: [ResultColumn], takesRest: Bool = false) {
    self.takesRest = takesRest
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
    return ResultLayout(described + Array(repeating: column, count: count - self.count), takesRest: takesRest)
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
