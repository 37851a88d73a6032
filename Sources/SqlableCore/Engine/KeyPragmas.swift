// Checks for pragmas that SQLite runs during compilation. The checks must run before the compilation.

extension Connection {
  /// Checks a text that the application wrote, before the text is compiled. Prepares FTS5 for `PRAGMA trusted_schema`.
  ///
  /// Throws `.misuse` if the text begins with a pragma that sets a key. The error does not contain the text, because
  /// the text contains the key.
  func checkPragma(_ text: UnsafeBufferPointer<UInt8>) throws {
    guard let name = text.pragma else { return }
    if name == "trusted_schema" { try FullTextModule.allowInTriggers(of: self) }
    guard Connection.keyPragmas.contains(name) else { return }
    let remedy =
      name.contains("rekey")
      ? "use rekey(to:) of the handle or pool" : "use Configuration(key:), or attachedKeys for an attached file"
    throw SqlError.misuse("PRAGMA \(name) is refused: errors and traces would show the key; \(remedy)")
  }

  private static let keyPragmas = ["key", "rekey", "hexkey", "hexrekey", "textkey", "textrekey"]
}

extension UnsafeBufferPointer<UInt8> {
  /// The name of the pragma at the beginning of the text, in lower case; nil for any other statement.
  fileprivate var pragma: String? {
    var tokens = SQLTokenizer(self)
    var token = tokens.next()
    while token?.isSymbol(";") == true { token = tokens.next() }
    if token?.isWord("explain") == true {
      token = tokens.next()
      if token?.isWord("query") == true {
        _ = tokens.next()
        token = tokens.next()
      }
    }
    guard token?.isWord("pragma") == true, var name = tokens.next()?.name else { return nil }
    if tokens.next()?.isSymbol(".") == true {
      guard let second = tokens.next()?.name else { return nil }
      name = second
    }
    return String(decoding: name.map(\.foldedLetter), as: UTF8.self)
  }
}
