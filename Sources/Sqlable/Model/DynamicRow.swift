/// A row whose columns are known only at run time: the result of selecting untyped columns and expressions.
///
/// ```swift
/// for row in try Bicycle.select(Bicycle.color, Bicycle.id.count()).groupBy(Bicycle.color).run(db) {
///   print(try row.get(0, as: String.self), try row.get(1, as: Int.self))
/// }
/// ```
public struct DynamicRow: SelectOutput, Sendable, Hashable {
  /// The values, in the order of the columns.
  public let values: [DatabaseValue]

  /// Returns the value at a position, counted from 0.
  ///
  /// Throws `.decoding` when the value does not fit `Value`, and `.misuse` for a position outside the row. NULL fits
  /// only an optional.
  public func get<Value: SqlValue>(_ position: Int, as type: Value.Type = Value.self) throws -> Value {
    guard values.indices.contains(position) else {
      throw SqlError.misuse("the result has no column at position \(position)")
    }
    return try Value(databaseValue: values[position])
  }

  public static func next(of row: inout ResultRow) throws -> DynamicRow {
    DynamicRow(values: try row.rest())
  }

  public static func isAbsent(in row: inout ResultRow) throws -> Bool { false }

  public static func describe(in description: inout ResultDescription) throws {}
}

extension ResultRow {
  fileprivate mutating func rest() throws -> [DatabaseValue] {
    var values: [DatabaseValue] = []
    while position < row.count {
      values.append(try row.databaseValue(at: position))
      position += 1
    }
    return values
  }
}
