import Foundation

/// A kind of trouble, and the promise that must hold under it.
struct Scenario: Sendable {
  let name: String
  /// The promise, as one sentence of `Docs/Reliability.md`.
  let promise: String
  /// The things that a round counts, in the plural: "kills".
  let unit: String
  /// The longest time of a round, in seconds. A round that takes longer hangs.
  let limit: Double
  /// Planted faults, by name. Each must be found, or the scenario proves nothing.
  let flaws: [String]
  /// One round, in a process of its own.
  let run: @Sendable (Round) throws -> Void
  /// The work of a process that a round starts, with the words of `Round.start`.
  var work: @Sendable (_ words: [String]) throws -> Void = { _ in }

  static let all: [Scenario] = [
    .writers, .disk, .power, .memory, .descriptors, .gate, .fork, .clocks, .observers, .live, .cancellation, .queries,
    .cacheKeys, .tokens, .documents, .schema, .salvage, .steps, .decisions,
  ]

  static func named(_ name: String) throws -> Scenario {
    guard let scenario = all.first(where: { $0.name == name }) else {
      throw Failure("no scenario is named \(name); --list prints their names")
    }
    return scenario
  }
}

/// An error of the program itself, with a text for its user.
struct Failure: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
