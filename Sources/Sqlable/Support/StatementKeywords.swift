extension Collection<UInt8> where SubSequence == Self {
  /// The first words of this SQL in upper case, without comments and semicolons.
  // By bytes, as SQLite reads it: this runs for every raw statement, and characters take ten times as long.
  func firstKeywords(_ count: Int) -> [String] {
    var words: [String] = []
    var rest = self
    while words.count < count {
      rest.skipBlanksAndComments()
      if rest.first == UInt8(ascii: ";") {
        rest.removeFirst()
        continue
      }
      let word = rest.prefix { (97...122).contains($0.foldedLetter) }
      guard !word.isEmpty else { break }
      words.append(String(decoding: word, as: UTF8.self).uppercased())
      rest = rest[word.endIndex...]
    }
    return words
  }
}

extension UnsafeBufferPointer<UInt8> {
  /// Whether this SQL has anything but blanks, comments and semicolons.
  var holdsStatement: Bool {
    var rest = self[...]
    rest.skipBlanksAndComments()
    while rest.first == UInt8(ascii: ";") {
      rest.removeFirst()
      rest.skipBlanksAndComments()
    }
    return !rest.isEmpty
  }
}

extension Collection<UInt8> where SubSequence == Self {
  /// Removes leading blanks and comments, as SQLite reads them.
  mutating func skipBlanksAndComments() {
    while let first {
      if first.isBlank {
        removeFirst()
      } else if starts(with: [0xEF, 0xBB, 0xBF]) {
        removeFirst(3)
      } else if starts(with: "--".utf8) {
        self = drop { $0 != UInt8(ascii: "\n") }
      } else if starts(with: "/*".utf8) {
        removeFirst(2)
        while !isEmpty, !starts(with: "*/".utf8) { removeFirst() }
        self = dropFirst(2)
      } else {
        return
      }
    }
  }
}
