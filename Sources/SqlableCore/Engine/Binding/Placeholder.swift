/// A parameter of a prepared statement, and the column whose type determines the conversion of the value.
package struct Placeholder: Sendable {
  let name: String
  /// The definition of the column that the value is compared with or stored in; nil without a column.
  let column: (any AnyObject & Sendable)?
  let isStored: Bool
  /// The direction in which a comparison with the column rounds the value; nil if the value is not compared.
  let side: RoundingSide?

  init(name: String, comparedWith column: (any AnyObject & Sendable)? = nil, _ side: RoundingSide? = nil) {
    self.name = name
    self.column = column
    self.side = side
    isStored = false
  }

  init(name: String, storedIn column: any AnyObject & Sendable) {
    self.name = name
    self.column = column
    isStored = true
    side = nil
  }
}

/// Values for the parameters of statements that are not prepared.
protocol ParameterValues: Sendable {
  /// Returns the value for a parameter; nil without a value. The value remains valid until the buffer's scope ends.
  func value(for placeholder: Placeholder, in parameters: ParameterBuffer) throws -> BoundValue?
}

/// The parameter values for the statements that the current task runs.
enum GivenParameters {
  @TaskLocal static var current: (any ParameterValues)?
}
