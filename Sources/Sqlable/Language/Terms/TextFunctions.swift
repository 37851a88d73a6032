import FoundationEssentials

// Functions of texts.

/// A text, or a text that may be NULL: what functions of texts take. An enum of texts, or another type of one's own
/// that is stored as text, may conform.
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

  /// A number for a function that takes one of 32 bits: of a longer one SQLite would take the lower half.
  static func short(_ number: Int) -> SqlExpression { SqlExpression(Int32(clamping: number)) }

  /// LIKE with a pattern made of a text that stands for itself.
  func isLike(_ before: String, literal text: String, _ after: String) -> SqlExpression {
    // LIKE ends a pattern at the first NUL, and takes none of 50,000 bytes.
    guard !text.utf8.contains(0), text.utf8.count < 25_000 else {
      let (folded, bytes) = (call(.lower), text.foldedName)
      guard !after.isEmpty else {
        // By bytes: of a text, substr does not find the end behind a NUL.
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
  /// `"a" || ?`: texts one after the other.
  public func concatenated(_ value: Value) -> TypedExpression<Value> {
    TypedExpression(expression: expression.combined(.concatenated, with: value))
  }

  /// `"a" || "b"`
  public func concatenated<Other: TypedTerm>(_ other: Other) -> TypedExpression<Value> where Other.Value == Value {
    TypedExpression(expression: expression.combined(.concatenated, with: other.expression))
  }

  /// `"a" LIKE ? ESCAPE '!'`: `%` stands for any text, `_` for one character; A to Z and a to z are the same.
  public func like(_ pattern: String, escape: Character? = nil) -> SqlExpression {
    expression.isLike(pattern, escape: escape)
  }

  /// `lower("a")`: A to Z only.
  public func lowercase() -> TypedExpression<Value> { TypedExpression(expression: expression.call(.lower)) }

  /// `upper("a")`: a to z only.
  public func uppercase() -> TypedExpression<Value> { TypedExpression(expression: expression.call(.upper)) }

  /// `length("a")`: the number of characters, up to the first NUL.
  public func length() -> TypedExpression<Value.Count> { TypedExpression(expression: expression.call(.length)) }

  /// `substr("a", 2, 3)`: from a character, counted from 1, or from the end with a negative number.
  public func substr(_ start: Int, _ length: Int? = nil) -> TypedExpression<Value> {
    TypedExpression(expression: expression.substr(start, length))
  }

  /// `trim("a", 'xy')`: without blanks, or these characters, at both ends.
  public func trim(_ characters: String? = nil) -> TypedExpression<Value> {
    TypedExpression(expression: expression.trim(.trim, characters))
  }

  /// `ltrim("a", 'xy')`: without blanks, or these characters, at the beginning.
  public func ltrim(_ characters: String? = nil) -> TypedExpression<Value> {
    TypedExpression(expression: expression.trim(.ltrim, characters))
  }

  /// `rtrim("a", 'xy')`: without blanks, or these characters, at the end.
  public func rtrim(_ characters: String? = nil) -> TypedExpression<Value> {
    TypedExpression(expression: expression.trim(.rtrim, characters))
  }

  /// `replace("a", ?, ?)`: every occurrence of one text by another.
  public func replace(_ text: String, with other: String) -> TypedExpression<Value> {
    TypedExpression(expression: expression.replace(text, other))
  }

  /// `replace("a", "b", "c")`: every occurrence of one text by another; NULL where one of them is NULL.
  public func replace<Text: TypedTerm, Other: TypedTerm>(
    _ text: Text, with other: Other
  ) -> TypedExpression<Value> where Text.Value: SqlText, Other.Value: SqlText {
    TypedExpression(expression: expression.call(.replace, text.expression, other.expression))
  }

  /// `instr("a", ?)`: the place of the first occurrence, counted from 1; 0 where there is none.
  public func instr(_ text: String) -> TypedExpression<Value.Count> {
    TypedExpression(expression: expression.call(.instr, SqlExpression(text)))
  }

  /// `instr("a", "b")`: the place of the first occurrence of another text.
  public func instr(_ text: some TypedTerm<String>) -> TypedExpression<Value.Count> {
    TypedExpression(expression: expression.call(.instr, text.expression))
  }

  /// `unicode("a")`: the number of the first character; NULL of an empty text.
  public func unicode() -> TypedExpression<Int?> { TypedExpression(expression: expression.call(.unicode)) }

  /// `"a" GLOB ?`: `*` stands for any text, `?` for one character, `[a-z]` for one of these; case counts.
  public func glob(_ pattern: String) -> SqlExpression {
    expression.combined(.matchesGlob, with: SqlExpression(pattern))
  }

  /// `"a" LIKE ? ESCAPE '\'`: begins with the text as it is; A to Z and a to z are the same.
  public func hasPrefix(_ text: String) -> SqlExpression { expression.isLike("", literal: text, "%") }

  /// `"a" LIKE ? ESCAPE '\'`: ends with the text as it is; A to Z and a to z are the same.
  public func hasSuffix(_ text: String) -> SqlExpression { expression.isLike("%", literal: text, "") }

  /// `"a" LIKE ? ESCAPE '\'`: has the text, as it is, somewhere; A to Z and a to z are the same.
  public func contains(_ text: String) -> SqlExpression { expression.isLike("%", literal: text, "%") }
}

extension TypedTerm where Value == Data {
  /// `length("a")`: the number of bytes.
  public func length() -> TypedExpression<Int> { TypedExpression(expression: expression.call(.length)) }
}

extension TypedTerm where Value == Data? {
  /// `length("a")`: the number of bytes.
  public func length() -> TypedExpression<Int?> { TypedExpression(expression: expression.call(.length)) }
}

extension TypedTerm {
  /// `hex("a")`: the bytes in hexadecimal; empty for NULL.
  public func hex() -> TypedExpression<String> { TypedExpression(expression: expression.call(.hex)) }

  /// `typeof("a")`: `integer`, `real`, `text`, `blob` or `null`.
  public func typeof() -> TypedExpression<String> { TypedExpression(expression: expression.call(.typeof)) }
}

extension SqlTerm {
  /// `lower("a")`: A to Z only.
  public func lowercase() -> SqlExpression { expression.call(.lower) }

  /// `upper("a")`: a to z only.
  public func uppercase() -> SqlExpression { expression.call(.upper) }

  /// `length("a")`: characters of a text up to its first NUL, bytes of a blob.
  public func length() -> SqlExpression { expression.call(.length) }

  /// `substr("a", 2, 3)`: from a character, counted from 1, or from the end with a negative number.
  public func substr(_ start: Int, _ length: Int? = nil) -> SqlExpression { expression.substr(start, length) }

  /// `trim("a", 'xy')`: without blanks, or these characters, at both ends.
  public func trim(_ characters: String? = nil) -> SqlExpression { expression.trim(.trim, characters) }

  /// `ltrim("a", 'xy')`: without blanks, or these characters, at the beginning.
  public func ltrim(_ characters: String? = nil) -> SqlExpression { expression.trim(.ltrim, characters) }

  /// `rtrim("a", 'xy')`: without blanks, or these characters, at the end.
  public func rtrim(_ characters: String? = nil) -> SqlExpression { expression.trim(.rtrim, characters) }

  /// `replace("a", ?, ?)`: every occurrence of one text by another.
  public func replace(_ text: String, with other: String) -> SqlExpression { expression.replace(text, other) }

  /// `instr("a", ?)`: the place of the first occurrence, counted from 1; 0 where there is none.
  public func instr(_ text: String) -> SqlExpression {
    expression.call(.instr, SqlExpression(text))
  }

  /// `instr("a", "b")`: the place of the first occurrence of another text.
  public func instr(_ text: some SqlTerm) -> SqlExpression { expression.call(.instr, text.expression) }

  /// `unicode("a")`: the number of the first character; NULL of an empty text.
  public func unicode() -> SqlExpression { expression.call(.unicode) }

  /// `hex("a")`: the bytes in hexadecimal; empty for NULL.
  public func hex() -> SqlExpression { expression.call(.hex) }

  /// `typeof("a")`: `integer`, `real`, `text`, `blob` or `null`.
  public func typeof() -> SqlExpression { expression.call(.typeof) }

  /// `"a" GLOB ?`: `*` stands for any text, `?` for one character, `[a-z]` for one of these; case counts.
  public func glob(_ pattern: String) -> SqlExpression {
    expression.combined(.matchesGlob, with: SqlExpression(pattern))
  }

  /// `"a" LIKE ? ESCAPE '\'`: begins with the text as it is; A to Z and a to z are the same.
  public func hasPrefix(_ text: String) -> SqlExpression { expression.isLike("", literal: text, "%") }

  /// `"a" LIKE ? ESCAPE '\'`: ends with the text as it is; A to Z and a to z are the same.
  public func hasSuffix(_ text: String) -> SqlExpression { expression.isLike("%", literal: text, "") }

  /// `"a" LIKE ? ESCAPE '\'`: has the text, as it is, somewhere; A to Z and a to z are the same.
  public func contains(_ text: String) -> SqlExpression { expression.isLike("%", literal: text, "%") }
}
