import FoundationEssentials

/// SQL text whose interpolated values are bound, never pasted.
///
/// ```swift
/// try db.query("SELECT name FROM bicycle WHERE id = \(id)", as: String.self)      // … WHERE id = ?
/// try db.execute("DELETE FROM bicycle WHERE id NOT IN (\(kept))")                 // … NOT IN (?, ?, ?)
/// try db.execute("DELETE FROM \(table: name) WHERE color = \(color)")             // DELETE FROM "bicycle" WHERE color = ?
/// ```
///
/// A sequence of values becomes a list, one `?` for each. `\(json: value)` binds a value as one JSON text instead.
public struct SQL: Sendable, Hashable, ExpressibleByStringInterpolation {
  /// The text, with `?` for every value.
  public internal(set) var text: String
  /// The values, in the order of the `?`.
  public internal(set) var bindings: [SqlStorage]
  /// Where each `?` is in the text, in bytes: tells which statement of several a value belongs to.
  var offsets: [Int] = []
  /// Why a value can't be bound; thrown when the SQL is run.
  var failure: SqlError?

  public init(stringLiteral text: String) {
    self.init(verbatim: text)
  }

  /// Takes the text as it is. Never build it of input from outside.
  public init(verbatim text: String) {
    self.text = text
    bindings = []
  }

  public init(stringInterpolation interpolation: StringInterpolation) {
    text = interpolation.text
    bindings = interpolation.bindings
    offsets = interpolation.offsets
    failure = interpolation.failure
  }

  public struct StringInterpolation: StringInterpolationProtocol {
    var text = ""
    var bindings: [SqlStorage] = []
    var offsets: [Int] = []
    var failure: SqlError?
    private var place = SQLPlace()
    /// Whether a value or name was written last.
    private var isAfterInterpolation = false

    public init(literalCapacity: Int, interpolationCount: Int) {
      text.reserveCapacity(literalCapacity + interpolationCount)
      bindings.reserveCapacity(interpolationCount)
    }

    public mutating func appendLiteral(_ literal: String) {
      guard let first = literal.utf8.first else { return }
      if isAfterInterpolation, SQLPlace.joins(first) { text += " " }
      isAfterInterpolation = false
      place.advance(over: literal.utf8)
      text += literal
    }

    /// Binds a value.
    // Disfavored: an array conforms too, and is a list where it can be.
    @_disfavoredOverload
    public mutating func appendInterpolation(_ value: any SqlValue) {
      guard !(value is any JSONList) else {
        return fail(
          .invalidStatement(
            """
            an array or set becomes a list in SQL text when it is not optional and its elements are values themselves; \
            \\(json: …) binds it as one JSON text
            """))
      }
      bind { try value.sqlStorage }
    }

    /// Binds bytes.
    public mutating func appendInterpolation(_ value: Data) { bind { .blob(value) } }

    /// Binds the value of a storage class.
    public mutating func appendInterpolation(_ value: SqlStorage) { bind { value } }

    /// Binds values as a list: `?, ?, ?`, or nothing when there are none. The parentheses of an IN are the text's own.
    ///
    /// ```swift
    /// try db.execute("DELETE FROM bicycle WHERE id IN (\(ids))")                // DELETE FROM bicycle WHERE id IN (?, ?, ?)
    /// ```
    public mutating func appendInterpolation<Values: Sequence>(_ values: Values) where Values.Element: SqlValue {
      // A type that says itself how it is stored is one value, whatever it is a sequence of.
      if let value = values as? any SqlValue, !(value is any JSONList) { return bind { try value.sqlStorage } }
      bindList(values) { try $0.sqlStorage }
    }

    /// Binds the values of storage classes as a list.
    public mutating func appendInterpolation<Values: Sequence>(_ values: Values) where Values.Element == SqlStorage {
      bindList(values) { $0 }
    }

    /// Binds a value as one JSON text, `nil` as NULL: what a column of an array, a set or a `Codable` type holds.
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

    mutating func appendIdentifier(_ name: String) {
      beginInterpolation()
      if text.utf8.last == UInt8(ascii: "\"") { text += " " }
      text += name.quotedName
    }

    // MARK: Binding

    /// More than any SQLite takes; a sequence may have no end.
    private static let maximumListCount = 1_000_000

    private mutating func bindList<Values: Sequence>(
      _ values: Values, storage: (Values.Element) throws -> SqlStorage
    ) {
      beginInterpolation()
      var count = 0
      for value in values {
        guard count < Self.maximumListCount else {
          return fail(.invalidStatement("a list in SQL text has more than \(Self.maximumListCount) values"))
        }
        if count > 0 { text += ", " }
        bind { try storage(value) }
        count += 1
      }
      // What stands on either side of nothing must not become one.
      if count == 0, text.utf8.last != UInt8(ascii: "(") { text += " " }
    }

    private mutating func bind(_ storage: () throws -> SqlStorage) {
      beginInterpolation()
      var value = SqlStorage.null
      do { value = try storage().checked() } catch {
        fail(error as? SqlError ?? .misuse("a value of the SQL text can't be stored"))
      }
      offsets.append(text.utf8.count)
      text += "?"
      bindings.append(value)
    }

    /// Refuses what would not be bound, or would end the quotes that it stands in.
    private mutating func beginInterpolation() {
      guard place.isAmongWords else {
        return fail(
          .invalidStatement(
            "a value or name stands in quotes or in a comment of the SQL text; without them it is bound, or quoted, by itself"
          ))
      }
      place.passInterpolation()
      isAfterInterpolation = true
    }

    private mutating func fail(_ error: SqlError) { failure = failure ?? error }
  }
}
