/// A named placeholder in a prepared statement, whose value is passed when the statement runs.
///
/// ```swift
/// let byColor = try db.prepare(Bicycle.read().filter(Bicycle.color == Parameter("color")))     // … WHERE "color" = ?
/// let reds = try byColor.run(["color": "red"])
/// ```
///
/// Its type follows from the typed column or expression that it is compared with. Running a statement with a parameter
/// without preparing it throws `.misuse`. Parameters with the same name get the same value, each in the form of the
/// column that it is compared with.
public struct Parameter<Value: SqlValue>: Sendable, Hashable {
  public let name: String

  public init(_ name: String) { self.name = name }
}

extension Parameter: TypedTerm {
  public var expression: SqlExpression { SqlExpression(.parameter(name)) }
}

/// Compared with an untyped term, the parameter accepts any value.
extension Parameter: SqlTerm where Value == Null {
  public init(_ name: String) { self.name = name }
}
