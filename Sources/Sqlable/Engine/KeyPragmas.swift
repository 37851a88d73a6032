// PRAGMA key and its like. SQLCipher runs them while it compiles them, and their text has the key.

extension UnsafeBufferPointer<UInt8> {
  /// Throws `.misuse` for a text that begins with a pragma that takes a key. The error has no text, which has the key.
  func checkHasNoKey() throws {
    guard let name = keyPragma else { return }
    let remedy =
      name.contains("rekey")
      ? "use rekey(to:) of the handle or pool" : "use Configuration(key:), or attachedKeys for an attached file"
    throw SqlError.misuse("PRAGMA \(name) is refused: errors and traces would show the key; \(remedy)")
  }

  private static let keyPragmas = ["key", "rekey", "hexkey", "hexrekey", "textkey", "textrekey"]

  /// The name of the pragma, if it takes a key.
  private var keyPragma: String? {
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
    let folded = String(decoding: name.map(\.foldedLetter), as: UTF8.self)
    return UnsafeBufferPointer.keyPragmas.first { $0 == folded }
  }
}
