extension String {
  /// The module of the virtual table that this text of the schema creates, in small letters; nil for any other text.
  ///
  /// SQLite keeps `CREATE VIRTUAL TABLE`, then what the program wrote from the table's name on, with its comments.
  var virtualTableModule: [UInt8]? {
    var rest = utf8[...]
    for word in ["create", "virtual", "table"] where rest.nextToken() != Array(word.utf8) { return nil }
    // The name, which may be any text in quotes.
    guard rest.nextToken() != nil, rest.nextToken() == Array("using".utf8) else { return nil }
    return rest.nextToken()
  }
}

extension Substring.UTF8View {
  /// Takes a word, or a name or text out of its quotes, in small letters if it is to be folded; nil at anything else.
  mutating func nextToken(isFolded: Bool = true) -> [UInt8]? {
    skipBlanksAndComments()
    guard let first else { return nil }
    let end: UInt8
    switch first {
    case UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "`"): end = first
    case UInt8(ascii: "["): end = UInt8(ascii: "]")
    default:
      let word = prefix { byte in
        (97...122).contains(byte.foldedLetter) || (48...57).contains(byte) || byte >= 0x80
          || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "$")
      }
      guard !word.isEmpty else { return nil }
      self = self[word.endIndex...]
      return word.map { isFolded ? $0.foldedLetter : $0 }
    }
    removeFirst()
    var name: [UInt8] = []
    while let byte = popFirst() {
      if byte == end {
        // Two quotes stand for one; a bracket ends a name in any case.
        guard end != UInt8(ascii: "]"), self.first == end else { break }
        removeFirst()
      }
      name.append(isFolded ? byte.foldedLetter : byte)
    }
    return name
  }
}
