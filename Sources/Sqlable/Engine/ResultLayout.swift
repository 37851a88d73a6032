/// What is known about a column of a result.
struct ResultColumn {
  /// The identity by which the column is read.
  let identity: UnsafeRawPointer
  /// How its values are stored, if known.
  let type: ColumnType?
}

/// The columns of a result, at stable addresses.
///
/// Sound as `Sendable`: the memory is written once, in `init`.
@usableFromInline
final class ResultLayout: @unchecked Sendable {
  /// The identities of the columns, by position, terminated by ``RowState/noColumn``.
  let identities: UnsafePointer<UnsafeRawPointer>
  /// How the values of the columns are stored, by position; nil if unknown.
  @usableFromInline let types: UnsafePointer<ColumnType?>
  @usableFromInline let count: Int

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
  /// Throws if the result has fewer columns than will be read.
  func check(_ layout: ResultLayout) throws {
    guard columnCount >= layout.count else {
      throw SqlError.misuse("the result has \(columnCount) columns, but \(layout.count) are read")
    }
  }
}
