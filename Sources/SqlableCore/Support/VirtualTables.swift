extension String {
  /// The module, in lower case, of the virtual table that this schema text creates; nil for any other text.
  ///
  /// SQLite stores `CREATE VIRTUAL TABLE`, followed by the original text from the table's name on, including comments.
  package var virtualTableModule: [UInt8]? {
    var text = self
    return text.withUTF8 { bytes in
      var tokens = SQLTokenizer(bytes)
      guard tokens.next()?.isWord("create") == true, tokens.next()?.isWord("virtual") == true,
        tokens.next()?.isWord("table") == true
      else { return nil }
      // The table's name can be any quoted text.
      guard tokens.next()?.name != nil, tokens.next()?.isWord("using") == true else { return nil }
      return tokens.next()?.name?.map(\.foldedLetter)
    }
  }
}

/// The ordinary tables in which a virtual table stores its rows.
package enum ShadowTables {
  /// Returns the folded names of a virtual table's shadow tables. Empty for a module without shadow tables, and for a
  /// module that is not part of SQLite.
  package static func names(of table: String, module: [UInt8]) -> [[UInt8]] {
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
