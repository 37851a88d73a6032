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

  init(_ identities: [UnsafeRawPointer], types: [ColumnType?] = []) {
    count = identities.count
    let columns = UnsafeMutableBufferPointer<UnsafeRawPointer>.allocate(capacity: count + 1)
    _ = columns.initialize(from: identities + [RowState.noColumn])
    self.identities = UnsafePointer(columns.baseAddress.unsafelyUnwrapped)
    let columnTypes = UnsafeMutableBufferPointer<ColumnType?>.allocate(capacity: types.count + 1)
    _ = columnTypes.initialize(from: types + [nil])
    self.types = UnsafePointer(columnTypes.baseAddress.unsafelyUnwrapped)
  }

  @usableFromInline
  convenience init(_ description: ResultDescription) { self.init(description.identities, types: description.types) }

  deinit {
    identities.deallocate()
    types.deallocate()
  }
}
