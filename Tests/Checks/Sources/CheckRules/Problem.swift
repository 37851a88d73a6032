/// A violation of a rule, with its place.
public struct Problem: Equatable, CustomStringConvertible, Sendable {
  public let path: String
  public let line: Int
  public let text: String

  public var description: String { "\(path):\(line): \(text)" }
}

/// The result of a check.
public struct Report: Sendable {
  public internal(set) var problems: [Problem] = []

  /// Lines to print whether or not there is a problem.
  public internal(set) var notes: [String] = []

  /// The number of declarations that the check found. A check that finds next to none looks in the wrong place.
  public internal(set) var declarations = 0

  mutating func add(_ path: String, _ line: Int, _ text: String) {
    problems.append(Problem(path: path, line: line, text: text))
  }
}
