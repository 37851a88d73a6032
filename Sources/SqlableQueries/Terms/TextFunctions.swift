import FoundationEssentials
import SqlableCore

extension SqlExpression {
  func substr(_ start: Int, _ length: Int?) -> SqlExpression {
    .call(.substr, [self] + [start, length].compactMap(\.self).map { .short($0) })
  }

  func trim(_ function: Call.BuiltIn, _ characters: String?) -> SqlExpression {
    .call(function, [self] + [characters].compactMap(\.self).map { SqlExpression($0) })
  }

  /// Clamps a number for a 32-bit parameter, because SQLite would use only the lower 32 bits of a larger number.
  static func short(_ number: Int) -> SqlExpression { SqlExpression(Int32(clamping: number)) }

  // These conditions don't use LIKE, because a term's value can't be escaped in a pattern. lower() folds A to Z, as
  // LIKE does.

  func begins(with text: SqlExpression) -> SqlExpression {
    SqlExpression(.binary(.equal, position(of: text), .short(1)))
  }

  func contains(_ text: SqlExpression) -> SqlExpression {
    SqlExpression(.binary(.greater, position(of: text), .short(0)))
  }

  func ends(with text: SqlExpression) -> SqlExpression {
    // Compare bytes, because substr and length ignore the text after a NUL. Append one byte to both sides of the
    // comparison, because substr of an empty BLOB is NULL. If `text` is longer than this term, `start` is not positive.
    // The comparison is then false, because the left side is shorter than the right side.
    func bytes(_ term: SqlExpression) -> SqlExpression { .special(.cast(.blob), term) }
    func marked(_ term: SqlExpression) -> SqlExpression {
      bytes(SqlExpression(.binary(.concatenated, term.call(.lower), SqlExpression("."))))
    }
    let length = SqlExpression(.binary(.minus, bytes(self).call(.length), bytes(text).call(.length)))
    let start = SqlExpression(.binary(.plus, length, .short(1)))
    return SqlExpression(.binary(.equal, marked(self).call(.substr, start), marked(text)))
  }

  private func position(of text: SqlExpression) -> SqlExpression { call(.lower).call(.instr, text.call(.lower)) }

  /// Returns a LIKE condition whose pattern contains a literal text.
  func isLike(_ before: String, literal text: String, _ after: String) -> SqlExpression {
    // LIKE ends a pattern at the first NUL, and rejects patterns of more than 50,000 bytes. Escaping can double the
    // length.
    guard !text.utf8.contains(0), text.utf8.count < 25_000 else {
      let (folded, bytes) = (call(.lower), text.foldedName)
      guard !after.isEmpty else {
        // Compare bytes, because substr ignores the text after a NUL.
        let end = SqlExpression.special(.cast(.blob), folded).substr(-bytes.count, nil)
        return SqlExpression(.binary(.equal, end, SqlExpression(Data(bytes))))
      }
      let position = folded.call(.instr, SqlExpression(String(decoding: bytes, as: UTF8.self)))
      let least = SqlExpression(before.isEmpty ? 1 : 0)
      return SqlExpression(.binary(before.isEmpty ? .equal : .greater, position, least))
    }
    var pattern = before
    for scalar in text.unicodeScalars {
      if scalar == "%" || scalar == "_" || scalar == "\\" { pattern.unicodeScalars.append("\\") }
      pattern.unicodeScalars.append(scalar)
    }
    return isLike(pattern + after, escape: "\\")
  }
}

/// A text with the values of terms, formatted by SQLite's `printf`: `printf('%.2f %s', "a", "b")`.
///
/// ```swift
/// Car.select(format("%s: %.2f", Car.name, Car.price))     // printf('%s: %.2f', "name", "price")
/// ```
///
/// The SQL contains the format as a literal. `%d`, `%f`, `%e`, `%g`, `%x`, `%c`, `%s`, `%q` and their widths are those
/// of [SQLite](https://sqlite.org/printf.html). Do not use `%n` and `%p`. A missing term and NULL are formatted as an
/// empty text or 0.
public func format(_ format: String, _ terms: any AnyTerm...) -> TypedExpression<String> {
  // SQLite's printf returns NULL for an empty format.
  guard !format.isEmpty else { return TypedExpression("") }
  return TypedExpression(expression: .call(.printf, [SqlExpression(format)] + terms.map(\.expression)))
}

extension TextTerm {
  /// The text in lower case, for A to Z only: `lower("a")`.
  public func lowercase() -> Same { Same(expression: expression.call(.lower)) }

  /// The text in upper case, for a to z only: `upper("a")`.
  public func uppercase() -> Same { Same(expression: expression.call(.upper)) }

  /// The substring from character `start`, counted from 1, or from the end if negative: `substr("a", 2, 3)`.
  public func substr(_ start: Int, _ length: Int? = nil) -> Same {
    Same(expression: expression.substr(start, length))
  }

  /// The text after removing spaces, or `characters`, from both ends: `trim("a", 'xy')`.
  public func trim(_ characters: String? = nil) -> Same {
    Same(expression: expression.trim(.trim, characters))
  }

  /// The text after removing spaces, or `characters`, from the start: `ltrim("a", 'xy')`.
  public func ltrim(_ characters: String? = nil) -> Same {
    Same(expression: expression.trim(.ltrim, characters))
  }

  /// The text after removing spaces, or `characters`, from the end: `rtrim("a", 'xy')`.
  public func rtrim(_ characters: String? = nil) -> Same {
    Same(expression: expression.trim(.rtrim, characters))
  }

  /// The text with every occurrence of one text replaced by another: `replace("a", ?, ?)`.
  public func replace(_ text: String, with other: String) -> Same {
    Same(expression: expression.call(.replace, SqlExpression(text), SqlExpression(other)))
  }

  /// The code point of the first character: `unicode("a")`. NULL for empty text.
  public func unicode() -> OfInt { OfInt(expression: expression.call(.unicode)) }

  /// True if the text matches a case-sensitive pattern: `"a" GLOB ?`. `*` matches any text, `?` matches one character,
  /// and `[a-z]` matches one character of a set.
  public func glob(_ pattern: String) -> SqlExpression {
    expression.combined(.matchesGlob, with: SqlExpression(pattern))
  }

  /// True if the text begins with a literal text, ignoring the case of A to Z: `"a" LIKE ? ESCAPE '\'`.
  public func hasPrefix(_ text: String) -> SqlExpression { expression.isLike("", literal: text, "%") }

  /// True if the text ends with a literal text, ignoring the case of A to Z: `"a" LIKE ? ESCAPE '\'`.
  public func hasSuffix(_ text: String) -> SqlExpression { expression.isLike("%", literal: text, "") }

  /// True if the text contains a literal text, ignoring the case of A to Z: `"a" LIKE ? ESCAPE '\'`.
  public func contains(_ text: String) -> SqlExpression { expression.isLike("%", literal: text, "%") }

  /// True if the text matches the case-sensitive pattern of a term: `"a" GLOB "b"`. NULL if the pattern is NULL.
  public func glob(_ pattern: some TextTerm) -> SqlExpression {
    expression.combined(.matchesGlob, with: pattern.expression)
  }

  /// True if the text begins with the text of a term, ignoring the case of A to Z: `instr(lower("a"), lower("b")) = 1`.
  /// NULL if a text is NULL.
  public func hasPrefix(_ text: some TextTerm) -> SqlExpression {
    expression.begins(with: text.expression)
  }

  /// True if the text ends with the text of a term, ignoring the case of A to Z. NULL if a text is NULL.
  public func hasSuffix(_ text: some TextTerm) -> SqlExpression {
    expression.ends(with: text.expression)
  }

  /// True if the text contains the text of a term, ignoring the case of A to Z: `instr(lower("a"), lower("b")) > 0`.
  /// NULL if a text is NULL.
  public func contains(_ text: some TextTerm) -> SqlExpression {
    expression.contains(text.expression)
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

  /// True if the text matches a pattern, ignoring the case of A to Z: `"a" LIKE ? ESCAPE '!'`. `%` matches any text,
  /// and `_` matches one character.
  public func like(_ pattern: String, escape: Character? = nil) -> SqlExpression {
    expression.isLike(pattern, escape: escape)
  }

  /// True if the text matches the pattern of a term, such as another column: `"a" LIKE "b"`. NULL if the pattern is
  /// NULL.
  public func like<Pattern: TypedTerm>(_ pattern: Pattern, escape: Character? = nil) -> SqlExpression
  where Pattern.Value: SqlText {
    expression.isLike(pattern.expression, escape: escape)
  }

  /// The number of characters, up to the first NUL: `length("a")`.
  public func length() -> TypedExpression<Value.Count> { TypedExpression(expression: expression.call(.length)) }

  /// The substring from character `start`, where `start` is a term: `substr("a", "b")`. NULL if `start` is NULL.
  public func substr<Start: TypedTerm>(_ start: Start) -> TypedExpression<Value> where Start.Value == Value.Count {
    TypedExpression(expression: expression.call(.substr, start.expression))
  }

  /// The substring of `length` characters from character `start`, where `start` is a term: `substr("a", "b", 3)`. NULL
  /// if `start` is NULL.
  public func substr<Start: TypedTerm>(_ start: Start, _ length: Int) -> TypedExpression<Value>
  where Start.Value == Value.Count {
    TypedExpression(expression: expression.call(.substr, start.expression, .short(length)))
  }

  /// The substring of `length` characters, where `length` is a term: `substr("a", 1, "b")`. NULL if `length` is NULL.
  public func substr<Length: TypedTerm>(_ start: Int, _ length: Length) -> TypedExpression<Value>
  where Length.Value == Value.Count {
    TypedExpression(expression: expression.call(.substr, .short(start), length.expression))
  }

  /// The substring of `length` characters from character `start`, where `start` and `length` are terms: `substr("a",
  /// "b", "c")`. NULL if `start` or `length` is NULL.
  public func substr<Start: TypedTerm, Length: TypedTerm>(
    _ start: Start, _ length: Length
  ) -> TypedExpression<Value> where Start.Value == Value.Count, Length.Value == Value.Count {
    TypedExpression(expression: expression.call(.substr, start.expression, length.expression))
  }

  /// The text with every occurrence of one text replaced by another: `replace("a", "b", "c")`. NULL if the text or a
  /// term is NULL.
  public func replace<Text: TypedTerm, Other: TypedTerm>(
    _ text: Text, with other: Other
  ) -> TypedExpression<Value> where Text.Value: SqlText, Other.Value: SqlText {
    TypedExpression(expression: expression.call(.replace, text.expression, other.expression))
  }

  /// The position of the first occurrence of a text, counted from 1; 0 if the text does not occur: `instr("a", ?)`.
  public func instr(_ text: String) -> TypedExpression<Value.Count> {
    TypedExpression(expression: expression.call(.instr, SqlExpression(text)))
  }

  /// The position of the first occurrence of a text, counted from 1; 0 if the text does not occur: `instr("a", "b")`.
  public func instr(_ text: some TypedTerm<String>) -> TypedExpression<Value.Count> {
    TypedExpression(expression: expression.call(.instr, text.expression))
  }
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
  /// The number of characters of text, up to its first NUL, or of bytes of a BLOB: `length("a")`.
  public func length() -> SqlExpression { expression.call(.length) }

  /// The substring from character `start`, where `start` is a term: `substr("a", "b")`.
  public func substr(_ start: some SqlTerm) -> SqlExpression { expression.call(.substr, start.expression) }

  /// The substring of `length` characters from character `start`, where `start` and `length` are terms: `substr("a",
  /// "b", "c")`.
  public func substr(_ start: some SqlTerm, _ length: some SqlTerm) -> SqlExpression {
    expression.call(.substr, start.expression, length.expression)
  }

  /// The position of the first occurrence of a text, counted from 1; 0 if the text does not occur: `instr("a", ?)`.
  public func instr(_ text: String) -> SqlExpression {
    expression.call(.instr, SqlExpression(text))
  }

  /// The position of the first occurrence of a text, counted from 1; 0 if the text does not occur: `instr("a", "b")`.
  public func instr(_ text: some SqlTerm) -> SqlExpression { expression.call(.instr, text.expression) }

  /// The bytes in hexadecimal: `hex("a")`. Empty for NULL.
  public func hex() -> SqlExpression { expression.call(.hex) }

  /// The storage class, `integer`, `real`, `text`, `blob` or `null`: `typeof("a")`.
  public func typeof() -> SqlExpression { expression.call(.typeof) }
}

// Unavailable overloads for terms that are not text. Without these overloads, the compiler would report an error about
// the model's property that has the column's name.
extension TypedTerm {
  @available(
    *, unavailable,
    message: "like(_:escape:) needs a text term; conform a type stored as text to SqlText"
  )
  public func like(_ pattern: String, escape: Character? = nil) -> SqlExpression { expression }

  @available(
    *, unavailable, message: "contains(_:) needs a text term; use jsonContains(_:) for an element of a JSON array"
  )
  public func contains(_ text: String) -> SqlExpression { expression }

  @available(
    *, unavailable,
    message: "lowercase() needs a text term; conform a type stored as text to SqlText, or use TextTerm in generic code"
  )
  public func lowercase() -> TypedExpression<Value> { TypedExpression(expression: expression) }

  @available(
    *, unavailable,
    message: "uppercase() needs a text term; conform a type stored as text to SqlText, or use TextTerm in generic code"
  )
  public func uppercase() -> TypedExpression<Value> { TypedExpression(expression: expression) }
}
