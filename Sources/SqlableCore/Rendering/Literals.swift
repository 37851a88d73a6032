// Values as SQL text, for declarations, which can't contain parameters.

extension DatabaseValue {
  /// Returns the value as a literal, with parentheses unless the literal is an atom.
  ///
  /// - Parameter real: Formats a number so that SQLite reads exactly the same number.
  package func literal(real spelling: (Double) throws -> String) rethrows -> String {
    switch self {
    case .null: return "NULL"
    case .integer(let integer): return integer < 0 ? "(\(integer))" : "\(integer)"
    case .real(let real): return try spelling(real)
    case .text(let text):
      // A NUL byte would end the statement's text.
      guard !text.utf8.contains(0) else { return "(CAST(\(hexadecimal(text.utf8)) AS TEXT))" }
      return text.quotedText
    case .blob(let data): return hexadecimal(data)
    }
  }

  private func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
    let digits = Array("0123456789abcdef")
    return bytes.reduce(into: "x'") { text, byte in
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 15)])
    } + "'"
  }
}

extension StatementWithValues {
  package func withLiterals(real: (Double) throws -> String) throws -> String {
    var (sql, values) = (sql, bindings[...])
    return try sql.withUTF8 { bytes in
      var (text, end) = ([UInt8](), 0)
      for token in SQLTokenizer(bytes) where token.kind == .parameter && token.bytes.count == 1 {
        guard let value = values.popFirst() else { break }
        text += bytes[end..<token.bytes.startIndex]
        text += try value.literal(real: real).utf8
        end = token.bytes.endIndex
      }
      return String(decoding: text + bytes[end...], as: UTF8.self)
    }
  }
}
