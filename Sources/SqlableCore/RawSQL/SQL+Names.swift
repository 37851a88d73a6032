extension SQL.StringInterpolation {
  /// Writes the quoted name of a column.
  public mutating func appendInterpolation(_ column: Column) { appendIdentifier(column.name) }

  /// Writes the quoted name of a typed column.
  public mutating func appendInterpolation<Model, Value>(_ column: TypedColumn<Model, Value>) {
    appendIdentifier(column.name)
  }

  /// Writes the quoted name of a model's table.
  public mutating func appendInterpolation<Model: Sqlable>(_ model: Model.Type) { appendIdentifier(model.tableName) }
}
