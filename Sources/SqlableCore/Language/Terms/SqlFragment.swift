import FoundationEssentials

/// A term written as SQL text, for SQL that the library does not offer in Swift.
///
/// ```swift
/// let cents = TypedExpression<Int>(sql: "CAST(round(\(Car.price) * 100) AS INTEGER) % \(100)")
/// let cars = Car.read().filter(cents == 99).orderBy(cents)
/// // … WHERE (CAST(round("price" * 100) AS INTEGER) % ?) = ? ORDER BY …
/// ```
///
/// Write the text in the program. In the text,
/// - columns and terms become SQL; a column includes the table's name if the query reads several tables;
/// - values become bound parameters; a sequence of values becomes a list, `?, ?`, and `\(json: value)` becomes one JSON
///   text;
/// - models, `\(table: name)` and `\(column: name)` become quoted names.
///
/// The fragment is a single term, in parentheses. Running the statement throws `.invalidStatement` if the text contains
/// a `;`, a NUL or a handwritten parameter. An open parenthesis, quote or comment throws too. These checks run before
/// SQLite is called. For any other invalid SQL, running the statement throws SQLite's error.
public struct SqlFragment: Sendable, Hashable, ExpressibleByStringInterpolation {
  let expression: SqlExpression

  public init(stringLiteral text: String) { self.init(verbatim: text) }

  /// Inserts the text unchanged. Never build the text from untrusted input: the text can't end the term, but can read
  /// any table.
  public init(verbatim text: String) {
    var interpolation = StringInterpolation(literalCapacity: text.utf8.count, interpolationCount: 0)
    interpolation.appendLiteral(text)
    self.init(stringInterpolation: interpolation)
  }

  public init(stringInterpolation interpolation: StringInterpolation) {
    expression = interpolation.text.expression
  }

  public struct StringInterpolation: StringInterpolationProtocol {
    fileprivate var text = FragmentText()

    public init(literalCapacity: Int, interpolationCount: Int) {}

    public mutating func appendLiteral(_ literal: String) { text.append(literal) }

    /// Inserts a column or term, and binds the term's values.
    public mutating func appendInterpolation(_ term: some AnyTerm) { text.append(term.expression) }

    /// Binds a value. A date becomes seconds since 1970.
    // Disfavored: an array conforms to `SqlValue` too, but the overload for sequences must bind an array as a list.
    @_disfavoredOverload
    public mutating func appendInterpolation(_ value: any SqlValue) {
      text.append(value is any JSONList ? SqlExpression(invalid: SqlError.listInText) : SqlExpression(value))
    }

    /// Binds bytes.
    public mutating func appendInterpolation(_ value: Data) { text.append(SqlExpression(value)) }

    /// Binds a database value.
    public mutating func appendInterpolation(_ value: DatabaseValue) {
      text.append(SqlExpression { try value.checked() })
    }

    /// Binds a value in the storage format of a column. A date column, for example, can have another format than the
    /// default.
    ///
    /// ```swift
    /// SqlExpression(sql: "\(Visit.at) NOT BETWEEN \(start, as: Visit.at) AND \(end, as: Visit.at)")
    /// ```
    public mutating func appendInterpolation(_ value: any SqlValue, as column: any ColumnConvertible) {
      text.append(SqlExpression(value, for: column.column))
    }

    /// Binds values as a list without parentheses: `?, ?, ?`. For IN, write the parentheses in the text:
    /// `IN (\(values))`. An empty sequence inserts nothing.
    public mutating func appendInterpolation<Values: Sequence>(_ values: Values) where Values.Element: SqlValue {
      if let value = values as? any SqlValue, !(value is any JSONList) { return text.append(SqlExpression(value)) }
      text.append(list: values) { SqlExpression($0) }
    }

    /// Binds database values as a list.
    public mutating func appendInterpolation<Values: Sequence>(_ values: Values) where Values.Element == DatabaseValue {
      text.append(list: values) { value in SqlExpression { try value.checked() } }
    }

    /// Binds a value as one JSON text; `nil` becomes NULL.
    public mutating func appendInterpolation<Value: Encodable>(json value: Value?) {
      text.append(SqlExpression { try value.map { try JSONText.encode($0).checked() } ?? .null })
    }

    mutating func refuse(_ message: String) { text.append(SqlExpression(invalid: SqlError.invalidStatement(message))) }

    /// Inserts the quoted name of a model's table.
    public mutating func appendInterpolation<Model: Sqlable>(_ model: Model.Type) { text.append(name: model.tableName) }

    /// Inserts the quoted name of a table.
    public mutating func appendInterpolation(table name: String) { text.append(name: name) }

    /// Inserts the quoted name of a column.
    public mutating func appendInterpolation(column name: String) { text.append(name: name) }
  }
}

extension SqlExpression {
  /// Makes a term or condition from SQL text: `SqlExpression(sql: "\(Car.price) % 1 = 0")`. See ``SqlFragment``.
  public init(sql fragment: SqlFragment) { self = fragment.expression }

  fileprivate init(_ value: () throws -> DatabaseValue) {
    do { self.init(try value()) } catch { self.init(invalid: error) }
  }
}

extension TypedExpression {
  /// Makes a term from SQL text and reads the results as `Value`. A result of another type throws `.decoding`; NULL
  /// throws `.decoding` unless `Value` is optional. See ``SqlFragment``.
  ///
  /// ```swift
  /// let second = TypedExpression<Double?>(sql: "nth_value(\(Car.price), 2) OVER (ORDER BY \(Car.price))")
  /// ```
  ///
  /// A date is read and compared as seconds since 1970. A decimal is read and compared as the stored integer: 1234 for
  /// 12.34 in a column of scale 2.
  public init(sql fragment: SqlFragment) { expression = fragment.expression }
}

/// The SQL text and terms of a fragment under construction, and the first error.
private struct FragmentText {
  private var texts: [[UInt8]] = [[]]
  private var terms: [SqlExpression] = []
  private var failure: SqlError?
  /// The offset of the first unread byte in the last text.
  private var unread = 0
  private var depth = 0
  private var (hasTokens, hasQuery) = (false, false)
  /// True if the text ends with a term, value or name.
  private var isAfterInterpolation = false

  /// The complete term, or an invalid term for an incomplete text.
  var expression: SqlExpression {
    var text = self
    let isOpen = text.readLiteral()
    if let failure = text.failure { return SqlExpression(invalid: failure) }
    guard !isOpen else {
      return SqlExpression(invalid: SqlError.invalidStatement("the SQL text of a term ends inside quotes or a comment"))
    }
    guard text.depth == 0 else { return SqlExpression(invalid: FragmentText.unbalanced) }
    guard text.hasTokens || !terms.isEmpty else {
      return SqlExpression(invalid: SqlError.invalidStatement("the SQL text of a term is empty"))
    }
    let fragment = SqlExpression.Fragment(texts: texts, hasQuery: text.hasQuery)
    return SqlExpression(.special(.init(form: .fragment(fragment), terms: terms)))
  }

  private static let unbalanced = SqlError.invalidStatement(
    "the SQL text of a term has an unbalanced parenthesis")

  mutating func append(_ literal: String) {
    guard let first = literal.utf8.first else { return }
    if isAfterInterpolation {
      if first.joinsInterpolation { write([UInt8(ascii: " ")]) }
      unread = texts[texts.count - 1].count
      isAfterInterpolation = false
    }
    if literal.utf8.contains(0) { fail(.nulInText) }
    write(Array(literal.utf8))
  }

  /// Reads the literal text since the last interpolation. Returns true if the text ends inside quotes or a comment.
  private mutating func readLiteral() -> Bool {
    guard !isAfterInterpolation else { return false }
    let text = texts[texts.count - 1]
    return text.withUnsafeBufferPointer { text in
      var tokens = SQLTokenizer(text, from: unread)
      while let token = tokens.next() { read(token) }
      return tokens.isOpen
    }
  }

  private mutating func read(_ token: SQLToken) {
    hasTokens = true
    switch token.kind {
    case .symbol where token.isSymbol("("): depth += 1
    case .symbol where token.isSymbol(")"):
      depth -= 1
      if depth < 0 { fail(FragmentText.unbalanced) }
    case .symbol where token.isSymbol(";"): fail(.invalidStatement("the SQL text of a term has a semicolon"))
    case .parameter: fail(.parameterInText)
    case .illegal where token.bytes.first.map("$:@#".utf8.contains) == true: fail(.parameterInText)
    case .word where token.isWord("select"): hasQuery = true
    case .word, .name, .text, .number, .blob, .symbol, .illegal: break
    }
  }

  mutating func append(_ term: SqlExpression) {
    beginInterpolation()
    terms.append(term)
    texts.append([])
  }

  mutating func append<Values: Sequence>(list values: Values, _ term: (Values.Element) -> SqlExpression) {
    beginInterpolation()
    var count = 0
    for value in values {
      guard count < SqlError.maximumListInText else { return fail(.longListInText) }
      if count > 0 { write(Array(", ".utf8)) }
      append(term(value))
      count += 1
    }
  }

  mutating func append(name: String) {
    beginInterpolation()
    if name.utf8.contains(0) { fail(.nulInText) }
    hasTokens = true
    write(name.quotedBytes())
  }

  /// Prepares for an interpolation. Rejects an interpolation inside quotes or a comment, and adds a space after a word.
  private mutating func beginInterpolation() {
    if readLiteral() { fail(.quotedInText) }
    let last = texts.last?.last
    let isJoined = last.map(\.joinsInterpolation) ?? !terms.isEmpty
    if isJoined { write([UInt8(ascii: " ")]) }
    isAfterInterpolation = true
  }

  private mutating func write(_ bytes: [UInt8]) { texts[texts.count - 1] += bytes }

  private mutating func fail(_ error: SqlError) { failure = failure ?? error }
}
