package struct ScalarSet: Sendable {
  enum Class: Sendable {
    case digit, word, space

    func contains(_ scalar: Unicode.Scalar) -> Bool {
      switch self {
      case .digit: scalar.isDigit
      case .word: scalar.isWord
      case .space: scalar.properties.isWhitespace
      }
    }
  }

  /// The characters of the set. Call `mergeRanges` after the last change.
  var ranges: [ClosedRange<Unicode.Scalar>] = []
  var classes: [(class: Class, isNegated: Bool)] = []
  var isNegated = false

  /// Returns true if the set matches a character, ignoring case. `scalars` are the character's lower and upper case. A
  /// negated set matches if the set lists none of `scalars`.
  func contains(_ scalars: [Unicode.Scalar]) -> Bool { scalars.contains(where: has) != isNegated }

  func contains(_ scalar: Unicode.Scalar) -> Bool { has(scalar) != isNegated }

  /// Sorts the ranges and merges ranges that overlap or adjoin, so that a lookup can use binary search. A set can have
  /// as many ranges as the expression has characters.
  mutating func mergeRanges() {
    var merged: [ClosedRange<Unicode.Scalar>] = []
    for range in ranges.ordered(by: { $0.lowerBound < $1.lowerBound }) {
      if let last = merged.last, range.lowerBound.value <= last.upperBound.value + 1 {
        merged[merged.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
      } else {
        merged.append(range)
      }
    }
    ranges = merged
  }

  private func has(_ scalar: Unicode.Scalar) -> Bool {
    var (first, end) = (0, ranges.count)
    while first < end {
      let middle = (first + end) / 2
      if ranges[middle].upperBound < scalar { first = middle + 1 } else { end = middle }
    }
    if first < ranges.count, ranges[first].contains(scalar) { return true }
    for (characterClass, isNegated) in classes where characterClass.contains(scalar) != isNegated { return true }
    return false
  }
}

extension Unicode.Scalar {
  fileprivate var isDigit: Bool {
    isASCII ? ("0"..."9").contains(self) : properties.generalCategory == .decimalNumber
  }

  /// True if the scalar is part of a word: a letter, a mark, a digit or a connector such as `_`.
  var isWord: Bool {
    if isASCII { return ("a"..."z").contains(self) || ("A"..."Z").contains(self) || isDigit || self == "_" }
    switch properties.generalCategory {
    case .decimalNumber, .connectorPunctuation, .nonspacingMark, .spacingMark, .enclosingMark: return true
    default: return properties.isAlphabetic
    }
  }

  /// The scalar, and its lowercase and uppercase forms if these are single scalars.
  var cases: [Unicode.Scalar] {
    if isASCII {
      guard ("a"..."z").contains(self) || ("A"..."Z").contains(self) else { return [self] }
      return [self, Unicode.Scalar(UInt8(value) ^ 0x20)]
    }
    var all = [self]
    for text in [properties.lowercaseMapping, properties.uppercaseMapping] {
      let scalars = text.unicodeScalars
      if let only = scalars.first, scalars.count == 1, !all.contains(only) { all.append(only) }
    }
    return all
  }
}
