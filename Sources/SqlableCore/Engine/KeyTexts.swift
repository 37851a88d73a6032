// Checks for SQL texts that contain an encryption key. The checks must run before the compilation, because SQLite runs
// pragmas during compilation, and because the error of a compilation contains the text.

extension Connection {
  /// Checks that an SQL text of the application contains no encryption key. Call before the text is compiled. If the
  /// text is `PRAGMA trusted_schema`, also lets triggers write to FTS5's tables.
  ///
  /// Throws `.misuse` if the text begins with a pragma that sets a key, or with `ATTACH … KEY` and a key. The error
  /// does not contain the text, because the text contains the key. `ATTACH … KEY ?` with a bound key is accepted.
  func checkKeys(_ text: UnsafeBufferPointer<UInt8>) throws {
    var tokens = SQLTokenizer(text)
    guard let verb = tokens.nextVerb() else { return }
    if verb.isWord("attach"), tokens.holdsKey() {
      throw SqlError.misuse(
        "ATTACH with a key in the SQL text is refused: errors and traces would show the key; bind the key as a value, "
          + "or use attachedKeys")
    }
    guard verb.isWord("pragma"), let name = tokens.nextPragmaName() else { return }
    if name == "trusted_schema" { try FullTextModule.allowInTriggers(of: self) }
    guard Connection.keyPragmas.contains(name) else { return }
    let remedy =
      name.contains("rekey")
      ? "use rekey(to:) of the handle or pool" : "use Configuration(key:), or attachedKeys for an attached file"
    throw SqlError.misuse("PRAGMA \(name) is refused: errors and traces would show the key; \(remedy)")
  }

  private static let keyPragmas = ["key", "rekey", "hexkey", "hexrekey", "textkey", "textrekey"]
}

extension SQLTokenizer {
  /// Returns the first token of the first statement, without EXPLAIN and EXPLAIN QUERY PLAN.
  fileprivate mutating func nextVerb() -> SQLToken? {
    var token = next()
    while token?.isSymbol(";") == true { token = next() }
    guard token?.isWord("explain") == true else { return token }
    token = next()
    guard token?.isWord("query") == true else { return token }
    _ = next()
    return next()
  }

  /// Returns the name of the pragma, in lower case. Call after reading the verb PRAGMA.
  fileprivate mutating func nextPragmaName() -> String? {
    guard var name = next()?.name else { return nil }
    if next()?.isSymbol(".") == true {
      guard let second = next()?.name else { return nil }
      name = second
    }
    return String(decoding: name.map(\.foldedLetter), as: UTF8.self)
  }

  /// True if the ATTACH statement has a key other than one parameter, NULL or an empty text. Call after reading the
  /// verb.
  fileprivate mutating func holdsKey() -> Bool {
    while let token = next(), !token.isSymbol(";") {
      guard token.isWord("key") else { continue }
      guard let key = next(), !key.isSymbol(";") else { return false }
      let isHarmless = key.kind == .parameter || key.isWord("null") || key.bytes.elementsEqual("''".utf8)
      guard isHarmless, let end = next() else { return !isHarmless }
      return !end.isSymbol(";")
    }
    return false
  }
}
