/// A handle's writer for single structs, which keeps its memory from one struct to the next. All calls need the
/// handle's lock.
final class ReusedRowWriter {
  private let writer = UnsafeMutablePointer<RowWriter>.allocate(capacity: 1)
  @exclusivity(unchecked) private var (isInitialized, isInUse) = (false, false)
  /// The arguments of `make` for the present writer.
  @exclusivity(unchecked) private var table: UnsafeMutableRawPointer?
  @exclusivity(unchecked) private var bytes: UnsafeMutablePointer<ParameterBytes>?
  @exclusivity(unchecked) private var keyOnly = false

  deinit {
    discard()
    writer.deallocate()
  }

  private func discard() {
    guard isInitialized else { return }
    writer.deinitialize(count: 1)
    isInitialized = false
  }

  /// Returns a writer for a struct of the table. The caller must give the writer back. If the reused writer is in use,
  /// returns a new writer: a struct's `write(to:)` can run other statements.
  ///
  /// - Parameter keyOnly: True if the statement uses only the key.
  @inline(__always)
  func take(
    for table: Unmanaged<TableInfo>, on connection: Connection, keyOnly: Bool
  ) -> UnsafeMutablePointer<RowWriter> {
    guard !isInUse, isInitialized, self.table == table.toOpaque(), bytes == connection.parameterBytes,
      self.keyOnly == keyOnly
    else { return make(for: table, connection.parameters, keyOnly: keyOnly) }
    isInUse = true
    return writer
  }

  @inline(never)
  private func make(
    for table: Unmanaged<TableInfo>, _ buffer: ParameterBuffer, keyOnly: Bool
  ) -> UnsafeMutablePointer<RowWriter> {
    let new = RowWriter(table: table.takeUnretainedValue(), buffer: buffer, written: keyOnly ? .key : .all)
    if isInUse {
      let separate = UnsafeMutablePointer<RowWriter>.allocate(capacity: 1)
      separate.initialize(to: new)
      return separate
    }
    discard()
    writer.initialize(to: new)
    (isInitialized, isInUse) = (true, true)
    (self.table, bytes, self.keyOnly) = (table.toOpaque(), buffer.bytes, keyOnly)
    return writer
  }

  @inline(__always)
  func giveBack(_ taken: UnsafeMutablePointer<RowWriter>) {
    // If the struct's code has kept a copy of the writer, the copy shares the memory of the values, so this writer is
    // not reused.
    guard taken == writer, taken.pointee.isUnique else { return release(taken) }
    isInUse = false
  }

  @inline(never)
  private func release(_ taken: UnsafeMutablePointer<RowWriter>) {
    if taken == writer {
      discard()
      isInUse = false
    } else {
      taken.deinitialize(count: 1)
      taken.deallocate()
    }
  }
}
