import FoundationEssentials

/// A piece of SQL for a term that the library has no Swift for: SQL text around columns, terms and values.
///
/// ```swift
/// let cents = TypedExpression<Int>(sql: "CAST(round(\(Car.price) * 100) AS INTEGER) % \(100)")
/// let cars = Car.read().filter(cents == 99).orderBy(cents)
/// // … WHERE (CAST(round("price" * 100) AS INTEGER) % ?) = ? ORDER BY …
/// ```
///
/// The text is the program's. In it
/// - columns and terms become their SQL, columns with their tables where a query has several;
/// - values are bound, a sequence of values as a list: `?, ?`; `\(json: value)` binds one JSON text;
/// - models, `\(table: name)` and `\(column: name)` become quoted names.
///
/// It makes one term, in parentheses, wherever it stands. Text that would not stay one throws `.invalidStatement` when
/// the statement runs, before SQLite is called: a `;`, a parenthesis, quote or comment without its end, a parameter
/// written by hand, a NUL. What SQLite can't read throws when it compiles the statement.
public struct SqlFragment: Sendable, Hashable, ExpressibleByStringInterpolation {
  let expression: SqlExpression

  public init(stringLiteral text: String) { self.init(verbatim: text) }

  /// Takes the text as it is. Never build it from input from outside: it can't end the term, but it can read anything.
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

    /// Writes a column or term, with its values bound.
    public mutating func appendInterpolation(_ term: some AnyTerm) { text.append(term.expression) }

    /// Binds a value; a date as the seconds since 1970.
    // Disfavored: an array conforms too, and becomes a list if possible.
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

    /// Binds a value in the form in which a column stores it, which for dates may differ from the default.
    ///
    /// ```swift
    /// SqlExpression(sql: "\(Visit.at) NOT BETWEEN \(start, as: Visit.at) AND \(end, as: Visit.at)")
    /// ```
    public mutating func appendInterpolation(_ value: any SqlValue, as column: any ColumnConvertible) {
      text.append(SqlExpression(value, for: column.column))
    }

    /// Binds values as a list: `?, ?, ?`, or nothing if there are none. Write the parentheses of an IN in the text.
    public mutating func appendInterpolation<Values: Sequence>(_ values: Values) where Values.Element: SqlValue {
      // A type that defines how it is stored is one value, even if it is a sequence.
      if let value = values as? any SqlValue, !(value is any JSONList) { return text.append(SqlExpression(value)) }
      text.append(list: values) { SqlExpression($0) }
    }

    /// Binds database values as a list.
    public mutating func appendInterpolation<Values: Sequence>(_ values: Values) where Values.Element == DatabaseValue {
      text.append(list: values) { value in SqlExpression { try value.checked() } }
    }

    /// Binds a value as one JSON text, `nil` as NULL.
    public mutating func appendInterpolation<Value: Encodable>(json value: Value?) {
      text.append(SqlExpression { try value.map { try JSONText.encode($0).checked() } ?? .null })
    }

    /// Makes running the statement throw.
    mutating func refuse(_ message: String) { text.append(SqlExpression(invalid: SqlError.invalidStatement(message))) }

    /// Writes the quoted name of a model's table.
    public mutating func appendInterpolation<Model: Sqlable>(_ model: Model.Type) { text.append(name: model.tableName) }

    /// Writes the quoted name of a table.
    public mutating func appendInterpolation(table name: String) { text.append(name: name) }

    /// Writes the quoted name of a column.
    public mutating func appendInterpolation(column name: String) { text.append(name: name) }
  }
}

extension SqlExpression {
  /// Makes a term or condition of SQL text: `SqlExpression(sql: "\(Car.price) % 1 = 0")`. See ``SqlFragment``.
  public init(sql fragment: SqlFragment) { self = fragment.expression }

  fileprivate init(_ value: () throws -> DatabaseValue) {
    do { self.init(try value()) } catch { self.init(invalid: error) }
  }
}

extension TypedExpression {
  /// Makes a term of SQL text, whose values are read as `Value`; those of another type throw `.decoding`, and so does
  /// NULL, unless `Value` is optional. See ``SqlFragment``.
  ///
  /// ```swift
  /// let second = TypedExpression<Double?>(sql: "nth_value(\(Car.price), 2) OVER (ORDER BY \(Car.price))")
  /// ```
  ///
  /// Dates are read and compared in their default form, seconds since 1970; a decimal is its number of units.
  public init(sql fragment: SqlFragment) { expression = fragment.expression }
}

/// SQL text around terms while it is written, and what is wrong with it.
private struct FragmentText {
  private var texts: [[UInt8]] = [[]]
  private var terms: [SqlExpression] = []
  private var failure: SqlError?
  /// The place at which the unread literal text begins, in the last of the texts.
  private var unread = 0
  /// The number of open parentheses.
  private var depth = 0
  private var (hasTokens, hasQuery) = (false, false)
  /// True if the last thing written was a term, value or name.
  private var isAfterInterpolation = false

  /// The term that the text is.
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

  /// Reads the literal text since the last term, value or name. Returns whether it ends in quotes or in a comment.
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

  /// Refuses an interpolation that would not be bound, or would end the quotes around it, and separates it from what is
  /// before it.
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
