import FoundationEssentials

// Text functions.

/// Text or optional text, to which the text functions apply. Enums with text raw values and other custom types that are
/// stored as text may conform.
public protocol SqlText: SqlValue {
  associatedtype Count: SqlValue = Int
}

extension String: SqlText {}
extension URL: SqlText {}

extension Optional: SqlText where Wrapped: SqlText {
  public typealias Count = Int?
}

extension SqlExpression {
  func substr(_ start: Int, _ length: Int?) -> SqlExpression {
    .call(.substr, [self] + [start, length].compactMap(\.self).map { .short($0) })
  }

  func trim(_ function: Call.BuiltIn, _ characters: String?) -> SqlExpression {
    .call(function, [self] + [characters].compactMap(\.self).map { SqlExpression($0) })
  }

  func replace(_ text: String, _ other: String) -> SqlExpression {
    call(.replace, SqlExpression(text), SqlExpression(other))
  }

  /// A number for a function with a 32-bit parameter: SQLite would use the lower half of a larger one.
  static func short(_ number: Int) -> SqlExpression { SqlExpression(Int32(clamping: number)) }

  /// LIKE with a pattern that contains a literal text.
  func isLike(_ before: String, literal text: String, _ after: String) -> SqlExpression {
    // LIKE ends a pattern at the first NUL, and rejects patterns of more than 50,000 bytes.
    guard !text.utf8.contains(0), text.utf8.count < 25_000 else {
      let (folded, bytes) = (call(.lower), text.foldedName)
      guard !after.isEmpty else {
        // By bytes: substr on text does not see past a NUL.
        let end = SqlExpression.special(.cast(.blob), folded).substr(-bytes.count, nil)
        return SqlExpression(.binary(.equal, end, SqlExpression(Data(bytes))))
      }
      let place = folded.call(.instr, SqlExpression(String(decoding: bytes, as: UTF8.self)))
      let least = SqlExpression(before.isEmpty ? 1 : 0)
      return SqlExpression(.binary(before.isEmpty ? .equal : .greater, place, least))
    }
    var pattern = before
    for scalar in text.unicodeScalars {
      if scalar == "%" || scalar == "_" || scalar == "\\" { pattern.unicodeScalars.append("\\") }
      pattern.unicodeScalars.append(scalar)
    }
    return isLike(pattern + after, escape: "\\")
  }
}

extension TypedTerm where Value: SqlText {
  /// Concatenates text: `"a" || ?`.
  public func concatenated(_ value: Value) -> TypedExpression<Value> {
    TypedExpression(expression: expression.combined(.concatenated, with: value))
  }

  /// Concatenates text: `"a" || "b"`.
  public func concatenated<Other: TypedTerm>(_ other: Other) -> TypedExpression<Value> where Other.Value == Value {
    TypedExpression(expression: expression.combined(.concatenated, with: other.expression))
  }

  /// Matches a pattern in which `%` stands for any text and `_` for one character, ignoring the case of A to Z:
  /// `"a" LIKE ? ESCAPE '!'`.
  public func like(_ pattern: String, escape: Character? = nil) -> SqlExpression {
    expression.isLike(pattern, escape: escape)
  }

  /// The text in lower case, for A to Z only: `lower("a")`.
  public func lowercase() -> TypedExpression<Value> { TypedExpression(expression: expression.call(.lower)) }

  /// The text in upper case, for a to z only: `upper("a")`.
  public func uppercase() -> TypedExpression<Value> { TypedExpression(expression: expression.call(.upper)) }

  /// The number of characters, up to the first NUL: `length("a")`.
  public func length() -> TypedExpression<Value.Count> { TypedExpression(expression: expression.call(.length)) }

  /// The text from a character, counted from 1, or from the end if negative: `substr("a", 2, 3)`.
  public func substr(_ start: Int, _ length: Int? = nil) -> TypedExpression<Value> {
    TypedExpression(expression: expression.substr(start, length))
  }

  /// The text without spaces, or the given characters, at both ends: `trim("a", 'xy')`.
  public func trim(_ characters: String? = nil) -> TypedExpression<Value> {
    TypedExpression(expression: expression.trim(.trim, characters))
  }

  /// The text without spaces, or the given characters, at the start: `ltrim("a", 'xy')`.
  public func ltrim(_ characters: String? = nil) -> TypedExpression<Value> {
    TypedExpression(expression: expression.trim(.ltrim, characters))
  }

  /// The text without spaces, or the given characters, at the end: `rtrim("a", 'xy')`.
  public func rtrim(_ characters: String? = nil) -> TypedExpression<Value> {
    TypedExpression(expression: expression.trim(.rtrim, characters))
  }

  /// The text with every occurrence of one text replaced by another: `replace("a", ?, ?)`.
  public func replace(_ text: String, with other: String) -> TypedExpression<Value> {
    TypedExpression(expression: expression.replace(text, other))
  }

  /// The text with every occurrence of one text replaced by another: `replace("a", "b", "c")`. NULL if any is NULL.
  public func replace<Text: TypedTerm, Other: TypedTerm>(
    _ text: Text, with other: Other
  ) -> TypedExpression<Value> where Text.Value: SqlText, Other.Value: SqlText {
    TypedExpression(expression: expression.call(.replace, text.expression, other.expression))
  }

  /// The position of the first occurrence, counted from 1, or 0: `instr("a", ?)`.
  public func instr(_ text: String) -> TypedExpression<Value.Count> {
    TypedExpression(expression: expression.call(.instr, SqlExpression(text)))
  }

  /// The position of the first occurrence, counted from 1, or 0: `instr("a", "b")`.
  public func instr(_ text: some TypedTerm<String>) -> TypedExpression<Value.Count> {
    TypedExpression(expression: expression.call(.instr, text.expression))
  }

  /// The code point of the first character: `unicode("a")`. NULL for empty text.
  public func unicode() -> TypedExpression<Int?> { TypedExpression(expression: expression.call(.unicode)) }

  /// Matches a case-sensitive pattern in which `*` stands for any text, `?` for one character and `[a-z]` for one of a
  /// set: `"a" GLOB ?`.
  public func glob(_ pattern: String) -> SqlExpression {
    expression.combined(.matchesGlob, with: SqlExpression(pattern))
  }

  /// Whether it begins with a literal text, ignoring the case of A to Z: `"a" LIKE ? ESCAPE '\'`.
  public func hasPrefix(_ text: String) -> SqlExpression { expression.isLike("", literal: text, "%") }

  /// Whether it ends with a literal text, ignoring the case of A to Z: `"a" LIKE ? ESCAPE '\'`.
  public func hasSuffix(_ text: String) -> SqlExpression { expression.isLike("%", literal: text, "") }

  /// Whether it contains a literal text, ignoring the case of A to Z: `"a" LIKE ? ESCAPE '\'`.
  public func contains(_ text: String) -> SqlExpression { expression.isLike("%", literal: text, "%") }
}

extension TypedTerm where Value == Data {
  /// The number of bytes: `length("a")`.
  public func length() -> TypedExpression<Int> { TypedExpression(expression: expression.call(.length)) }
}

extension TypedTerm where Value == Data? {
  /// The number of bytes: `length("a")`.
  public func length() -> TypedExpression<Int?> { TypedExpression(expression: expression.call(.length)) }
}

extension TypedTerm {
  /// The bytes in hexadecimal: `hex("a")`. Empty for NULL.
  public func hex() -> TypedExpression<String> { TypedExpression(expression: expression.call(.hex)) }

  /// The storage class, `integer`, `real`, `text`, `blob` or `null`: `typeof("a")`.
  public func typeof() -> TypedExpression<String> { TypedExpression(expression: expression.call(.typeof)) }
}

extension SqlTerm {
  /// The text in lower case, for A to Z only: `lower("a")`.
  public func lowercase() -> SqlExpression { expression.call(.lower) }

  /// The text in upper case, for a to z only: `upper("a")`.
  public func uppercase() -> SqlExpression { expression.call(.upper) }

  /// The number of characters of text, up to its first NUL, or of bytes of a BLOB: `length("a")`.
  public func length() -> SqlExpression { expression.call(.length) }

  /// The text from a character, counted from 1, or from the end if negative: `substr("a", 2, 3)`.
  public func substr(_ start: Int, _ length: Int? = nil) -> SqlExpression { expression.substr(start, length) }

  /// The text without spaces, or the given characters, at both ends: `trim("a", 'xy')`.
  public func trim(_ characters: String? = nil) -> SqlExpression { expression.trim(.trim, characters) }

  /// The text without spaces, or the given characters, at the start: `ltrim("a", 'xy')`.
  public func ltrim(_ characters: String? = nil) -> SqlExpression { expression.trim(.ltrim, characters) }

  /// The text without spaces, or the given characters, at the end: `rtrim("a", 'xy')`.
  public func rtrim(_ characters: String? = nil) -> SqlExpression { expression.trim(.rtrim, characters) }

  /// The text with every occurrence of one text replaced by another: `replace("a", ?, ?)`.
  public func replace(_ text: String, with other: String) -> SqlExpression { expression.replace(text, other) }

  /// The position of the first occurrence, counted from 1, or 0: `instr("a", ?)`.
  public func instr(_ text: String) -> SqlExpression {
    expression.call(.instr, SqlExpression(text))
  }

  /// The position of the first occurrence, counted from 1, or 0: `instr("a", "b")`.
  public func instr(_ text: some SqlTerm) -> SqlExpression { expression.call(.instr, text.expression) }

  /// The code point of the first character: `unicode("a")`. NULL for empty text.
  public func unicode() -> SqlExpression { expression.call(.unicode) }

  /// The bytes in hexadecimal: `hex("a")`. Empty for NULL.
  public func hex() -> SqlExpression { expression.call(.hex) }

  /// The storage class, `integer`, `real`, `text`, `blob` or `null`: `typeof("a")`.
  public func typeof() -> SqlExpression { expression.call(.typeof) }

  /// Matches a case-sensitive pattern in which `*` stands for any text, `?` for one character and `[a-z]` for one of a
  /// set: `"a" GLOB ?`.
  public func glob(_ pattern: String) -> SqlExpression {
    expression.combined(.matchesGlob, with: SqlExpression(pattern))
  }

  /// Whether it begins with a literal text, ignoring the case of A to Z: `"a" LIKE ? ESCAPE '\'`.
  public func hasPrefix(_ text: String) -> SqlExpression { expression.isLike("", literal: text, "%") }

  /// Whether it ends with a literal text, ignoring the case of A to Z: `"a" LIKE ? ESCAPE '\'`.
  public func hasSuffix(_ text: String) -> SqlExpression { expression.isLike("%", literal: text, "") }

  /// Whether it contains a literal text, ignoring the case of A to Z: `"a" LIKE ? ESCAPE '\'`.
  public func contains(_ text: String) -> SqlExpression { expression.isLike("%", literal: text, "%") }
}
