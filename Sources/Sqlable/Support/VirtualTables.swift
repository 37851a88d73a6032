extension String {
  /// The module, in lower case, of the virtual table that this schema text creates; nil for any other text.
  ///
  /// SQLite stores `CREATE VIRTUAL TABLE`, then the original text from the table's name on, with its comments.
  package var virtualTableModule: [UInt8]? {
    var rest = utf8[...]
    for word in ["create", "virtual", "table"] where rest.nextToken() != Array(word.utf8) { return nil }
    // The table's name may be any quoted text.
    guard rest.nextToken() != nil, rest.nextToken() == Array("using".utf8) else { return nil }
    return rest.nextToken()
  }
}

/// The ordinary tables in which a virtual table keeps its rows.
enum ShadowTables {
  /// The folded names of those of a virtual table; none for a module that has none, or is not SQLite's.
  static func names(of table: String, module: [UInt8]) -> [[UInt8]] {
    let suffixes =
      switch String(decoding: module, as: UTF8.self) {
      case "fts5": ["data", "idx", "content", "docsize", "config"]
      case "fts3", "fts4": ["content", "segments", "segdir", "docsize", "stat"]
      case "rtree", "rtree_i32", "geopoly": ["node", "rowid", "parent"]
      default: [String]()
      }
    return suffixes.map { "\(table)_\($0)".foldedName }
  }
}

extension Substring.UTF8View {
  /// Removes and returns the next word, or quoted name or text without its quotes; nil at anything else.
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
        // Two quotes stand for one; a bracket always ends the name.
        guard end != UInt8(ascii: "]"), self.first == end else { break }
        removeFirst()
      }
      name.append(isFolded ? byte.foldedLetter : byte)
    }
    return name
  }
}
