// In debug builds the first row of each model that is read, and the first that is written, must use every column of the
// layout: the next update overwrites a column that is not read, and a property that is not written is lost.

#if DEBUG
import Synchronization

/// True if reading or writing a model has passed the check.
final class ColumnCheck: Sendable {
  private let flag = Atomic(false)

  var hasPassed: Bool {
    get { flag.load(ordering: .relaxed) }
    set { flag.store(newValue, ordering: .relaxed) }
  }
}

extension RowWriter {
  /// Throws `.misuse` if `write(to:)` neither set nor skipped a column.
  func checkColumns() throws {
    guard !table.isWriteChecked.hasPassed, table.untyped == nil else { return }
    let missing = table.columns.indices.filter { position in
      !isGenerated(position) && !values[position].isSet && !storage.skipped.contains(position)
    }
    guard missing.isEmpty else {
      throw table.unusedColumns(
        missing, "write(to:)", "does not set",
        "set the column, or call row.skip(_:) to keep its default or stored value")
    }
    table.isWriteChecked.hasPassed = true
  }
}

extension ReadRow {
  /// Reads a model. Throws `.misuse` if `init(row:)` neither read nor skipped a column.
  @usableFromInline
  func checkedModel<Model: Sqlable>(_ type: Model.Type) throws -> Model {
    let table = TableInfo.unchecked(type)
    guard !table.isReadChecked.hasPassed, state.pointee.columns != RowState.noColumns else {
      return try Model(row: self)
    }
    // Handwritten SQL may select fewer columns; a later row checks the others.
    let present = Set(state.pointee.window.map { state.pointee.columns[$0] })
    state.pointee.beginTracking()
    let model: Model
    do { model = try Model(row: self) } catch {
      _ = state.pointee.endTracking()
      throw error
    }
    let read = state.pointee.endTracking()
    let expected = table.columns.indices.filter { table.columns[$0].definition.options.generated == nil }
    let missing = expected.filter { position in
      let identity = table.columns[position].identity
      return present.contains(identity) && !read.contains(identity)
    }
    guard missing.isEmpty else {
      throw table.unusedColumns(
        missing, "init(row:)", "does not read",
        "read the column, or call row.skip(_:)")
    }
    if expected.allSatisfy({ present.contains(table.columns[$0].identity) }) { table.isReadChecked.hasPassed = true }
    return model
  }
}

extension TableInfo {
  fileprivate func unusedColumns(
    _ positions: [Int], _ function: String, _ problem: String, _ advice: String
  ) -> SqlError {
    let names = positions.map { columns[$0].name }.joined(separator: ", ")
    return SqlError.misuse(
      """
      \(function) of the model of table \(name) \(problem) \(names), and the next update would lose data; \(advice) \
      (checked in debug builds)
      """
    ).at(table: name, column: columns[positions[0]].name)
  }
}
#endif

extension RowWriter {
  /// Records that a column was left out on purpose.
  func noteSkipped(_ position: Int) {
    #if DEBUG
    storage.skipped.insert(position)
    #endif
  }
}

extension ReadRow {
  /// States that `init(row:)` does not read a column on purpose.
  ///
  /// ```swift
  /// init(row: ReadRow) throws {
  ///   id = try row.get(Bicycle.id)
  ///   row.skip(Bicycle.photo)
  /// }
  /// ```
  ///
  /// A debug build throws `.misuse` for the first row of a model that neither reads nor skips a column. In other builds
  /// this does nothing.
  public func skip(_ column: Column) {
    #if DEBUG
    _ = try? position(of: column)
    #endif
  }

  /// States that `init(row:)` does not read a typed column on purpose.
  public func skip<Model, Value>(_ column: TypedColumn<Model, Value>) { skip(column.column) }
}
