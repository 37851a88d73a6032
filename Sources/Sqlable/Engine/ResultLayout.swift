/// What is known of a column of a result.
struct ResultColumn {
  /// What the column is known by when it is read.
  let identity: UnsafeRawPointer
  /// How its values are stored, where something says so.
  let type: ColumnType?
}

/// What the columns of a result are, in memory that stays where it is.
///
/// Sound as `Sendable`: the memory is written once, here.
@usableFromInline
final class ResultLayout: @unchecked Sendable {
  /// The identities of the columns, by position; ``RowState/noColumn`` ends them.
  let identities: UnsafePointer<UnsafeRawPointer>
  /// How their values are stored, where a column says so.
  @usableFromInline let types: UnsafePointer<ColumnType?>
  let count: Int

  init(_ columns: [ResultColumn]) {
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

extension PreparedStatement {
  /// Throws when a result has fewer columns than are to be read.
  func check(_ layout: ResultLayout) throws {
    guard columnCount >= layout.count else {
      throw SqlError.misuse("the result has \(columnCount) columns, and \(layout.count) are to be read")
    }
  }
}
