import FoundationEssentials

/// SQL text whose interpolated values are bound, never pasted.
///
/// ```swift
/// try db.query("SELECT name FROM bicycle WHERE id = \(id)", as: String.self)      // … WHERE id = ?
/// try db.execute("DELETE FROM bicycle WHERE id NOT IN (\(kept))")                 // … NOT IN (?, ?, ?)
/// try db.execute("DELETE FROM \(table: name) WHERE color = \(color)")             // … "bicycle" WHERE color = ?
/// try db.execute("INSERT INTO red \(Bicycle.read().filter(Bicycle.color == "red"))")
/// ```
///
/// A sequence of values becomes a list, with one `?` for each value. `\(json: value)` binds a value as one JSON text.
/// Models and columns become quoted names. Statements, queries and terms become SQL, with their values bound.
/// `\(sql: text)` embeds other SQL text, with its values bound.
public struct SQL: Sendable, Hashable, ExpressibleByStringInterpolation {
  /// The text, with `?` for every bound value.
  public package(set) var text: String
  /// The values, in the order of the `?`. If the text embeds an `in` condition with a long list, the list is bound to a
  /// single `?` and is not part of `bindings`.
  public var bindings: [DatabaseValue] {
    arguments.compactMap { if case .value(let value) = $0 { value } else { nil } }
  }
  var arguments: [Argument]
  /// The byte offset of each `?` in the text. Determines the statement to which the value of the `?` belongs.
  var offsets: [Int] = []
  /// The error of the first interpolation that failed. Running the SQL throws this error.
  var failure: SqlError?

  enum Argument: Sendable, Hashable {
    case value(DatabaseValue)
    /// A list of values that is bound to a single `?`.
    case list([DatabaseValue])
    /// A value that a run of the prepared SQL supplies.
    case parameter(String)
  }

  public init(stringLiteral text: String) {
    self.init(verbatim: text)
  }

  /// Creates SQL from text without changes. Never include external input in the text.
  public init(verbatim text: String) {
    self.text = text
    arguments = []
  }

  public init(stringInterpolation interpolation: StringInterpolation) {
    text = interpolation.text
    arguments = interpolation.arguments
    offsets = interpolation.offsets
    failure = interpolation.failure
  }

  // Compares texts by bytes: Swift equates the two encodings of an é, which are different texts for SQLite.
  public static func == (left: SQL, right: SQL) -> Bool {
    left.text.isExactly(right.text) && left.arguments == right.arguments && left.offsets == right.offsets
      && left.failure == right.failure
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(text)
    hasher.combine(arguments)
  }

  public struct StringInterpolation: StringInterpolationProtocol {
    var text = ""
    var arguments: [Argument] = []
    var offsets: [Int] = []
    var failure: SqlError?
    private var literalStart = 0
    private var isAfterInterpolation = false

    public init(literalCapacity: Int, interpolationCount: Int) {
      text.reserveCapacity(literalCapacity + interpolationCount)
      arguments.reserveCapacity(interpolationCount)
    }

    public mutating func appendLiteral(_ literal: String) {
      guard let first = literal.utf8.first else { return }
      if isAfterInterpolation {
        if first.joinsInterpolation { text += " " }
        literalStart = text.utf8.count
        isAfterInterpolation = false
      }
      text += literal
    }

    /// Binds a value.
    // Disfavored: an array is also an `SqlValue`, but another overload must write the array as a list.
    @_disfavoredOverload
    public mutating func appendInterpolation(_ value: any SqlValue) {
      guard !(value is any JSONList) else { return fail(.listInText) }
      bind { try value.databaseValue }
    }

    /// Rejects a value that SQLite can't store: running the SQL throws `.misuse`.
    ///
    /// Without this method, the compiler would treat the whole text as a `String`, with every value pasted into the
    /// text.
    @available(
      *, deprecated, message: "SQLite can't store this value; running the SQL throws; embed SQL text as \\(sql: text)"
    )
    @_disfavoredOverload
    public mutating func appendInterpolation<Value>(_ value: Value) {
      fail(
        .misuse(
          "the SQL text has a value of type \(Value.self), which SQLite can't store; conform the type to SqlValue"))
    }

    /// Binds bytes.
    public mutating func appendInterpolation(_ value: Data) { bind { .blob(value) } }

    /// Binds a database value.
    public mutating func appendInterpolation(_ value: DatabaseValue) { bind { value } }

    /// Binds values as a list `?, ?, ?`, which is empty for an empty sequence. Write the parentheses of an IN in the
    /// text.
    ///
    /// ```swift
    /// try db.execute("DELETE FROM bicycle WHERE id IN (\(ids))")     // … WHERE id IN (?, ?, ?)
    /// ```
    public mutating func appendInterpolation<Values: Sequence>(_ values: Values) where Values.Element: SqlValue {
      // A sequence that conforms to `SqlValue` is one value, unless the sequence is an array or a set.
      if let value = values as? any SqlValue, !(value is any JSONList) { return bind { try value.databaseValue } }
      bindList(values) { try $0.databaseValue }
    }

    /// Binds database values as a list.
    public mutating func appendInterpolation<Values: Sequence>(_ values: Values) where Values.Element == DatabaseValue {
      bindList(values) { $0 }
    }

    /// Binds a value as one JSON text, and `nil` as NULL. A column stores an array, a set or a `Codable` type as the
    /// same text.
    ///
    /// ```swift
    /// try db.execute("UPDATE person SET pets = \(json: pets)")                  // UPDATE person SET pets = ?
    /// ```
    public mutating func appendInterpolation<Value: Encodable>(json value: Value?) {
      bind { try value.map { try JSONText.encode($0) } ?? .null }
    }

    /// Writes the quoted name of a table.
    public mutating func appendInterpolation(table name: String) { appendIdentifier(name) }

    /// Writes the quoted name of a column.
    public mutating func appendInterpolation(column name: String) { appendIdentifier(name) }

    /// Adds a parameter. A run of the prepared SQL supplies the value, by name or by position.
    ///
    /// ```swift
    /// let byId = try db.prepare("SELECT name FROM bicycle WHERE id = \(Parameter<Int>("id"))", as: String.self)
    /// ```
    public mutating func appendInterpolation<Value>(_ parameter: Parameter<Value>) {
      beginInterpolation()
      append(.parameter(parameter.name))
    }

    mutating func embed(_ write: (SqlBuffer, ParameterBuffer) throws -> Void) {
      beginInterpolation()
      let (sql, parameters) = (SqlBuffer(), ParameterBuffer())
      // Without this call, the compiler could release the buffer before its memory is read.
      withExtendedLifetime(parameters) {
        let mark = parameters.mark
        do { try write(sql, parameters) } catch {
          return fail(
            error as? SqlError ?? .misuse("the conversion of a value in an embedded statement threw an error"))
        }
        var placeholders = parameters.placeholders(since: mark)?.makeIterator()
        for value in parameters.parameters {
          // All values get the offset at which the embedded statement begins: `execute(_:)` assigns values by offset.
          offsets.append(text.utf8.count)
          switch value {
          case .list(let list):
            let list = list.takeUnretainedValue()
            arguments.append(.list(list.parameters.compactMap { DatabaseValue($0) }))
          case .unset: arguments.append(.parameter(placeholders?.next()?.placeholder.name ?? ""))
          default: DatabaseValue(value).map { arguments.append(.value($0)) }
          }
        }
        append(text: sql.text)
      }
    }

    /// Embeds other SQL text, with its values bound. Running the SQL throws `.misuse` if the embedded text ends inside
    /// quotes or a comment.
    ///
    /// ```swift
    /// let condition: SQL = "color = \(color) AND price > \(price)"
    /// try db.query("SELECT name FROM bicycle WHERE \(sql: condition)", as: String.self)
    /// // SELECT name FROM bicycle WHERE color = ? AND price > ?
    /// ```
    public mutating func appendInterpolation(sql: SQL) {
      beginInterpolation()
      separateQuotes()
      let start = text.utf8.count
      offsets += sql.offsets.map { $0 + start }
      arguments += sql.arguments
      text += sql.text
      var embedded = sql.text
      if embedded.withUTF8(SQLTokenizer.endsOpen) {
        fail(.misuse("SQL text that is embedded in other SQL text ends inside quotes or a comment"))
      }
      if let failure = sql.failure { fail(failure) }
    }

    mutating func appendIdentifier(_ name: String) {
      beginInterpolation()
      append(text: name.quotedName)
    }

    private mutating func append(text new: String) {
      separateQuotes()
      text += new
    }

    /// Adds a space after a quoted name. SQLite would read two quotes side by side as an escaped quote inside a name.
    private mutating func separateQuotes() {
      if text.utf8.last == UInt8(ascii: "\"") { text += " " }
    }

    // MARK: Binding

    private mutating func bindList<Values: Sequence>(
      _ values: Values, storage: (Values.Element) throws -> DatabaseValue
    ) {
      beginInterpolation()
      var count = 0
      for value in values {
        guard count < SqlError.maximumListInText else { return fail(.longListInText) }
        if count > 0 { text += ", " }
        bind { try storage(value) }
        count += 1
      }
      // A space keeps the text before an empty list apart from the text after it.
      if count == 0, text.utf8.last != UInt8(ascii: "(") { text += " " }
    }

    mutating func bind(_ storage: () throws -> DatabaseValue) {
      beginInterpolation()
      var value = DatabaseValue.null
      do { value = try storage().checked() } catch {
        fail(error as? SqlError ?? .misuse("the conversion of a value in the SQL text threw an error"))
      }
      append(.value(value))
    }

    private mutating func append(_ argument: Argument) {
      offsets.append(text.utf8.count)
      text += "?"
      arguments.append(argument)
    }

    /// Rejects an interpolation inside quotes. There, SQLite would not bind a value, and an embedded text could end the
    /// quotes.
    private mutating func beginInterpolation() {
      guard !isAfterInterpolation else { return }
      isAfterInterpolation = true
      let isOpen = text.withUTF8 { SQLTokenizer.endsOpen(UnsafeBufferPointer(rebasing: $0[literalStart...])) }
      if isOpen { fail(.quotedInText) }
    }

    private mutating func fail(_ error: SqlError) { failure = failure ?? error }
  }
}
