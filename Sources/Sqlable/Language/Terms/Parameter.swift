/// A value that is given when a prepared statement is run, by its name.
///
/// ```swift
/// let byColor = try db.prepare(Bicycle.read().filter(Bicycle.color == Parameter("color")))     // … WHERE "color" = ?
/// let reds = try byColor.run(["color": "red"])
/// ```
///
/// Beside a typed column or expression it has that one's type. A statement that has one can't be run otherwise: it throws
/// `.misuse`. Several of one name get the same value, each in the form of the column that it stands beside.
public struct Parameter<Value: SqlValue>: Sendable, Hashable {
  public let name: String

  public init(_ name: String) { self.name = name }
}

extension Parameter: TypedTerm {
  public var expression: SqlExpression { SqlExpression(.parameter(name)) }
}

/// Beside what has no type any value may be given.
extension Parameter: SqlTerm where Value == Null {
  public init(_ name: String) { self.name = name }
}
