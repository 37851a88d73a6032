/// A named parameter of a prepared statement. Pass the parameter's value when the statement runs.
///
/// ```swift
/// let byColor = try db.prepare(Bicycle.read().filter(Bicycle.color == Parameter("color")))     // … WHERE "color" = ?
/// let reds = try byColor.run(["color": "red"])
/// ```
///
/// Swift infers the type from the typed column or expression in the comparison. Running a statement with a parameter
/// throws `.misuse`, unless the statement was prepared or `binding(_:)` set the value. Parameters with the same name
/// have the same value. For each parameter, the value is converted to the type of the compared column.
public struct Parameter<Value: SqlValue>: Sendable, Hashable {
  package let name: String

  public init(_ name: String) { self.name = name }
}

extension Parameter: TypedTerm {
  public var expression: SqlExpression { SqlExpression(.parameter(name)) }
}

/// An untyped parameter, for comparisons with untyped terms. The parameter accepts any value.
extension Parameter: SqlTerm where Value == Null {
  public init(_ name: String) { self.name = name }
}
