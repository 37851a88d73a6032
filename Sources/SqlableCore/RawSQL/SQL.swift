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
/// A sequence of values becomes a list, one `?` for each. `\(json: value)` binds a value as one JSON text instead.
/// Models and columns become their quoted names; statements, queries and terms become their SQL, with their values
/// bound.
public struct SQL: Sendable, Hashable, ExpressibleByStringInterpolation {
  /// The text, with `?` for every value.
  public package(set) var text: String
  /// The values, in the order of the `?`. A long list of an embedded `in` counts as one `?`, and is left out here.
  public var bindings: [DatabaseValue] {
    arguments.compactMap { if case .value(let value) = $0 { value } else { nil } }
  }
  /// The bound arguments, in the order of the `?`.
  var arguments: [Argument]
  /// The byte offset of each `?` in the text, which tells to which of several statements a value belongs.
  var offsets: [Int] = []
  /// The reason why a value can't be bound; thrown when the SQL is run.
  var failure: SqlError?

  enum Argument: Sendable, Hashable {
    case value(DatabaseValue)
    /// A list that is bound as one value.
    case list([DatabaseValue])
    /// A value supplied when the SQL, prepared, is run.
    case parameter(String)
  }

  public init(stringLiteral text: String) {
    self.init(verbatim: text)
  }

  /// Takes the text as it is. Never build it from input from outside.
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

  // Compares bytes: two names or texts that differ only to SQLite make two statements.
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
    /// The place at which the text since the last value or name begins.
    private var literalStart = 0
    /// True if the last thing written was a value or name.
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
    // Disfavored: an array conforms too, and becomes a list if possible.
    @_disfavoredOverload
    public mutating func appendInterpolation(_ value: any SqlValue) {
      guard !(value is any JSONList) else { return fail(.listInText) }
      bind { try value.databaseValue }
    }

    /// Refuses a value that SQLite can't store: running the SQL throws `.misuse`.
    ///
    /// Without it the compiler would take the whole text for a `String`, with every value pasted into it.
    @available(*, deprecated, message: "SQLite can't store this value; running the SQL throws")
    @_disfavoredOverload
    public mutating func appendInterpolation<Value>(_ value: Value) {
      fail(.misuse("the SQL text has a value of type \(Value.self), which SQLite can't store"))
    }

    /// Binds bytes.
    public mutating func appendInterpolation(_ value: Data) { bind { .blob(value) } }

    /// Binds a database value.
    public mutating func appendInterpolation(_ value: DatabaseValue) { bind { value } }

    /// Binds values as a list: `?, ?, ?`, or nothing if there are none. Write the parentheses of an IN in the text.
    ///
    /// ```swift
    /// try db.execute("DELETE FROM bicycle WHERE id IN (\(ids))")     // … WHERE id IN (?, ?, ?)
    /// ```
    public mutating func appendInterpolation<Values: Sequence>(_ values: Values) where Values.Element: SqlValue {
      // A type that defines how it is stored is one value, even if it is a sequence.
      if let value = values as? any SqlValue, !(value is any JSONList) { return bind { try value.databaseValue } }
      bindList(values) { try $0.databaseValue }
    }

    /// Binds database values as a list.
    public mutating func appendInterpolation<Values: Sequence>(_ values: Values) where Values.Element == DatabaseValue {
      bindList(values) { $0 }
    }

    /// Binds a value as one JSON text, `nil` as NULL: the form in which a column stores an array, a set or a `Codable`
    /// type.
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

    /// Adds a parameter for a value that is supplied, by name or by position, when the prepared SQL is run.
    ///
    /// ```swift
    /// let byId = try db.prepare("SELECT * FROM bicycle WHERE id = \(Parameter<Int>("id"))", as: Bicycle.self)
    /// ```
    public mutating func appendInterpolation<Value>(_ parameter: Parameter<Value>) {
      beginInterpolation()
      append(.parameter(parameter.name))
    }

    /// Embeds what `write` writes, with its values bound.
    mutating func embed(_ write: (SqlBuffer, ParameterBuffer) throws -> Void) {
      beginInterpolation()
      let (sql, parameters) = (SqlBuffer(), ParameterBuffer())
      // It owns memory that is referenced by address only.
      withExtendedLifetime(parameters) {
        let mark = parameters.mark
        do { try write(sql, parameters) } catch {
          return fail(error as? SqlError ?? .misuse("a statement in the SQL text can't be rendered"))
        }
        var placeholders = parameters.placeholders(since: mark)?.makeIterator()
        for value in parameters.parameters {
          // All belong to the statement that contains them, which begins at or before this offset.
          offsets.append(text.utf8.count)
          switch value {
          case .list(let list):
            let list = list.takeUnretainedValue()
            arguments.append(.list(list.parameters.compactMap { DatabaseValue($0) }))
          case .unset: arguments.append(.parameter(placeholders?.next()?.placeholder.name ?? ""))
          default: DatabaseValue(value).map { arguments.append(.value($0)) }
          }
        }
        if text.utf8.last == UInt8(ascii: "\"") { text += " " }
        text += sql.text
      }
    }

    mutating func appendIdentifier(_ name: String) {
      beginInterpolation()
      if text.utf8.last == UInt8(ascii: "\"") { text += " " }
      text += name.quotedName
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
      // An empty list must not join the text on both sides.
      if count == 0, text.utf8.last != UInt8(ascii: "(") { text += " " }
    }

    mutating func bind(_ storage: () throws -> DatabaseValue) {
      beginInterpolation()
      var value = DatabaseValue.null
      do { value = try storage().checked() } catch {
        fail(error as? SqlError ?? .misuse("SQLite can't store a value that is interpolated in the SQL text"))
      }
      append(.value(value))
    }

    private mutating func append(_ argument: Argument) {
      offsets.append(text.utf8.count)
      text += "?"
      arguments.append(argument)
    }

    /// Refuses an interpolation that would not be bound, or would end the quotes around it.
    private mutating func beginInterpolation() {
      guard !isAfterInterpolation else { return }
      isAfterInterpolation = true
      let isOpen = text.withUTF8 { SQLTokenizer.endsOpen(UnsafeBufferPointer(rebasing: $0[literalStart...])) }
      if isOpen { fail(.quotedInText) }
    }

    private mutating func fail(_ error: SqlError) { failure = failure ?? error }
  }
}
