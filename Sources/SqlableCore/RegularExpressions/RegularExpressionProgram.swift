struct RegularExpressionProgram {
  private(set) var steps: [RegularExpression.Step] = []

  mutating func append(_ step: RegularExpression.Step) throws(SqlError) {
    guard steps.count < RegularExpression.maximumSteps else { throw RegularExpression.tooLarge }
    steps.append(step)
  }

  /// Adds a part. Each part adds steps, because the parser leaves out parts without steps. The limit of steps therefore
  /// also limits the time of building the program.
  mutating func add(_ tree: RegularExpressionTree) throws(SqlError) {
    switch tree {
    case .step(let step): try append(step)
    case .sequence(let parts): for part in parts { try add(part) }
    case .choice(let parts):
      var ends: [Int] = []
      for (index, part) in parts.enumerated() {
        guard index < parts.count - 1 else {
          try add(part)
          break
        }
        let fork = steps.count
        try append(.both(fork + 1, 0))
        try add(part)
        ends.append(steps.count)
        try append(.jump(0))
        steps[fork] = .both(fork + 1, steps.count)
      }
      for end in ends { steps[end] = .jump(steps.count) }
    case .repeated(let part, let least, let greatest):
      for _ in 0..<least { try add(part) }
      guard let greatest else {
        let fork = steps.count
        try append(.both(fork + 1, 0))
        try add(part)
        try append(.jump(fork))
        steps[fork] = .both(fork + 1, steps.count)
        return
      }
      var forks: [Int] = []
      for _ in least..<greatest {
        forks.append(steps.count)
        try append(.both(steps.count + 1, 0))
        try add(part)
      }
      for fork in forks { steps[fork] = .both(fork + 1, steps.count) }
    }
  }
}

extension RegularExpression {
  static var tooLarge: SqlError {
    .invalidStatement("the regular expression is too large: it has more than \(maximumSteps) steps")
  }
}
