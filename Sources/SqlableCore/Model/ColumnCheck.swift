// A check in debug builds: each model's first read row and first written row must use every column of the layout. If
// `init(row:)` does not read a column, the next update overwrites the column. If `write(to:)` does not write a
// property, the property's value is lost.

#if DEBUG
import Synchronization

final class ColumnCheck: Sendable {
  private let flag = Atomic(false)

  var hasPassed: Bool {
    get { flag.load(ordering: .relaxed) }
    set { flag.store(newValue, ordering: .relaxed) }
  }
}

extension RowWriter {
  /// Throws `.misuse` unless `write(to:)` set or skipped every column.
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
  /// Reads a model. Throws `.misuse` unless `init(row:)` read or skipped every column.
  @usableFromInline
  func checkedModel<Model: Sqlable>(_ type: Model.Type) throws -> Model {
    let table = TableInfo.unchecked(type)
    guard !table.isReadChecked.hasPassed, state.pointee.columns != RowState.noColumns else {
      return try Model(row: self)
    }
    // Check only the columns that the result contains, because handwritten SQL can leave out columns of the model. The
    // check repeats for every row until a row with all columns has passed.
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
  package func noteSkipped(_ position: Int) {
    #if DEBUG
    storage.skipped.insert(position)
    #endif
  }
}

extension ReadRow {
  /// Declares that `init(row:)` deliberately does not read a column.
  ///
  /// ```swift
  /// init(row: ReadRow) throws {
  ///   id = try row.get(Bicycle.id)
  ///   row.skip(Bicycle.photo)
  /// }
  /// ```
  ///
  /// In a debug build, the first row of a model throws `.misuse` unless `init(row:)` reads or skips every column
  /// that is not generated. In other builds the call has no effect.
  public func skip(_ column: Column) {
    #if DEBUG
    _ = try? position(of: column)
    #endif
  }

  /// Declares that `init(row:)` deliberately does not read a typed column.
  public func skip<Model, Value>(_ column: TypedColumn<Model, Value>) { skip(column.column) }
}
