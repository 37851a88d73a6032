/// SQL text whose interpolated values are bound, never pasted.
///
/// ```swift
/// try db.query("SELECT name FROM bicycle WHERE id = \(id)", as: String.self)      // … WHERE id = ?
/// try db.execute("DELETE FROM \(table: name) WHERE color = \(color)")             // DELETE FROM "bicycle" WHERE color = ?
/// ```
public struct SQL: Sendable, Hashable, ExpressibleByStringInterpolation {
  /// The text, with `?` for every value.
  public internal(set) var text: String
  /// The values, in the order of the `?`.
  public internal(set) var bindings: [SqlStorage]
  /// Where each `?` is in the text, in bytes: tells which statement of several a value belongs to.
  var offsets: [Int] = []
  /// Why a value can't be stored; thrown when the SQL is run.
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

    public init(literalCapacity: Int, interpolationCount: Int) {
      text.reserveCapacity(literalCapacity + interpolationCount)
      bindings.reserveCapacity(interpolationCount)
    }

    public mutating func appendLiteral(_ literal: String) { text += literal }

    /// Binds a value.
    public mutating func appendInterpolation(_ value: any SqlValue) {
      do { appendInterpolation(try value.sqlStorage) } catch {
        appendInterpolation(SqlStorage.null)
        failure = failure ?? error as? SqlError ?? .misuse("a value of the SQL text can't be stored")
      }
    }

    /// Binds the value of a storage class.
    public mutating func appendInterpolation(_ value: SqlStorage) {
      do { _ = try value.checked() } catch { failure = failure ?? error as? SqlError }
      offsets.append(text.utf8.count)
      text += "?"
      bindings.append(value)
    }

    /// Writes the quoted name of a table.
    public mutating func appendInterpolation(table name: String) { appendIdentifier(name) }

    /// Writes the quoted name of a column.
    public mutating func appendInterpolation(column name: String) { appendIdentifier(name) }

    mutating func appendIdentifier(_ name: String) {
      text += String(decoding: SqlBuffer.quoted(name), as: UTF8.self)
    }
  }
}
