/// A column whose Swift type can't be stored. A program that declares such a column does not compile.
///
/// The declarations below reduce the mistake to one compiler error. Without them the column would have no type, and
/// each use of the column would cause another error.
public struct UnstorableColumn<Model, Value>: ColumnConvertible, IndexTerm {
  public let column: Column
  public var columns: [Column] { [column] }
  public var indexColumn: IndexColumn { column.indexColumn }
}

extension Sqlable {
  @available(
    *, unavailable,
    message: "a column can't store this type; conform the type, or the elements of an array, to SqlValue or SqlJSON"
  )
  @_disfavoredOverload
  public static func column<Value>(
    _ name: String, _ type: Value.Type, as columnType: ColumnType? = nil, _ options: any ColumnOption...
  ) -> UnstorableColumn<Self, Value> { UnstorableColumn(column: Column(name, .blob)) }

  @available(*, unavailable, message: "only a struct that conforms to SqlEmbedded can be embedded")
  @_disfavoredOverload
  public static func embedded<Value>(_ prefix: String, _ type: Value.Type) -> UnstorableColumn<Self, Value> {
    UnstorableColumn(column: Column(prefix, .blob))
  }
}

extension SqlEmbedded {
  @available(
    *, unavailable,
    message: "a column can't store this type; conform the type, or the elements of an array, to SqlValue or SqlJSON"
  )
  @_disfavoredOverload
  public static func field<Value>(
    _ name: String, _ type: Value.Type, as columnType: ColumnType? = nil, _ options: any ColumnOption...
  ) -> UnstorableColumn<Self, Value> { UnstorableColumn(column: Column(name, .blob)) }
}

extension ReadRow {
  public func get<Model, Value>(_ column: UnstorableColumn<Model, Value>) throws -> Value {
    throw SqlError.misuse("a column can't store \(Value.self)")
  }
}

extension EmbeddedRow {
  public func get<Owner, Value>(_ column: UnstorableColumn<Owner, Value>) throws -> Value {
    throw SqlError.misuse("a column can't store \(Value.self)")
  }
}

extension RowWriter {
  public mutating func set<Model, Value>(_ column: UnstorableColumn<Model, Value>, _ value: Value) {}
}

extension EmbeddedWriter {
  public mutating func set<Owner, Value>(_ column: UnstorableColumn<Owner, Value>, _ value: Value) {}
}
