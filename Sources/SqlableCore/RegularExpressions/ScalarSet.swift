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

  var ranges: [ClosedRange<Unicode.Scalar>] = []
  var classes: [(class: Class, isNegated: Bool)] = []
  var isNegated = false

  /// Returns true if the set contains one of the scalars, which are the cases of one character.
  func contains(_ scalars: [Unicode.Scalar]) -> Bool { scalars.contains(where: has) != isNegated }

  func contains(_ scalar: Unicode.Scalar) -> Bool { has(scalar) != isNegated }

  private func has(_ scalar: Unicode.Scalar) -> Bool {
    for range in ranges where range.contains(scalar) { return true }
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

  /// The character in upper and lower case, if each case is a single scalar.
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
