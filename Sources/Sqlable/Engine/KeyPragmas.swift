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
    var rest = self[...]
    rest.skipBlanksAndSemicolons()
    // Most statements begin with neither PRAGMA nor EXPLAIN.
    guard let first = rest.first?.foldedLetter, "pe".utf8.contains(first) else { return nil }
    var word = rest.nextName()
    if word == "explain" {
      word = rest.nextName()
      if word == "query" {
        _ = rest.nextName()
        word = rest.nextName()
      }
    }
    guard word == "pragma", var name = rest.nextName() else { return nil }
    rest.skipBlanksAndComments()
    if rest.first == UInt8(ascii: ".") {
      rest.removeFirst()
      guard let second = rest.nextName() else { return nil }
      name = second
    }
    return Self.keyPragmas.first { $0 == name }
  }
}

extension Collection<UInt8> where SubSequence == Self {
  fileprivate mutating func skipBlanksAndSemicolons() {
    skipBlanksAndComments()
    while first == UInt8(ascii: ";") {
      removeFirst()
      skipBlanksAndComments()
    }
  }

  /// Removes a name or a word, quoted or not, and returns it in lower case; nil for anything else.
  fileprivate mutating func nextName() -> String? {
    skipBlanksAndComments()
    guard let first else { return nil }
    if let end = ["\"": "\"", "'": "'", "`": "`", "[": "]"][String(UnicodeScalar(first))]?.utf8.first {
      // A name with a doubled quote is no pragma's.
      let name = dropFirst().prefix { $0 != end }
      self = self[name.endIndex...].dropFirst()
      return String(decoding: name.map(\.foldedLetter), as: UTF8.self)
    }
    let name = prefix { byte in
      (97...122).contains(byte.foldedLetter) || (48...57).contains(byte) || byte == UInt8(ascii: "_") || byte > 127
    }
    guard !name.isEmpty else { return nil }
    self = self[name.endIndex...]
    return String(decoding: name.map(\.foldedLetter), as: UTF8.self)
  }
}
