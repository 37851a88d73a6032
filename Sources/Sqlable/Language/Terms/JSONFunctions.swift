// What is in JSON texts. A text that is no JSON throws when the statement is run.

/// A step on the way into JSON: a key of an object, or a position in an array.
///
/// ```swift
/// Owner.doc.jsonValue("pets", 0, "name", as: String.self)     // "doc" ->> '$.pets[0].name'
/// ```
///
/// The way is written into the SQL, so that an index on the same expression serves; a key that is more than ASCII
/// letters, digits and `_` stands in quotes, and is taken for nothing else. A key with a quote, a backslash or a
/// control character has no form that all versions of SQLite understand; the statement throws `.invalidStatement`.
public enum JSONStep: Sendable, Hashable {
  case key(String)
  /// Counted from 0, or from the end with a negative number: -1 is the last.
  case position(Int)
}

extension JSONStep: ExpressibleByStringLiteral {
  public init(stringLiteral key: String) { self = .key(key) }
}

extension JSONStep: ExpressibleByIntegerLiteral {
  public init(integerLiteral position: Int) { self = .position(position) }
}

extension SqlExpression {
  /// The way from the root as SQLite spells it, as a value.
  static func path(_ steps: [JSONStep]) -> SqlExpression {
    var path = "$"
    for step in steps {
      switch step {
      case .position(let position):
        // SQLite counts to 32 bits and then from 0 again; no array is as long.
        path += "[\(position < 0 ? "#" : "")\(Int32(clamping: position))]"
      case .key(let key):
        guard key.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0 != "\"" && $0 != "\\" }) else {
          return SqlExpression(
            invalid: SqlError.invalidStatement("a key of JSON has a quote, a backslash or a control character"))
        }
        // Without quotes where none are needed, as indexes are written by hand.
        path += key.isPlainName ? ".\(key)" : ".\"\(key)\""
      }
    }
    return SqlExpression(path)
  }

  func following(_ operation: BinaryOperator, _ steps: [JSONStep]) -> SqlExpression {
    combined(operation, with: .path(steps))
  }

  func calling(_ function: Call.BuiltIn, _ steps: [JSONStep]) -> SqlExpression { call(function, .path(steps)) }
}

extension TypedTerm {
  /// `"a" -> '$.…'`: what is there, as JSON text; NULL where there is nothing.
  public func json(_ steps: JSONStep...) -> TypedExpression<String?> {
    TypedExpression(expression: expression.following(.json, steps))
  }

  /// `"a" ->> '$.…'`: the value there; NULL where there is nothing, or null.
  public func jsonValue<Result: SqlValue>(
    _ steps: JSONStep..., as type: Result.Type
  ) -> TypedExpression<Result?> { TypedExpression(expression: expression.following(.jsonValue, steps)) }

  /// `json_extract("a", '$.…')`: the value there; NULL where there is nothing, or null.
  public func jsonExtract<Result: SqlValue>(
    _ steps: JSONStep..., as type: Result.Type
  ) -> TypedExpression<Result?> { TypedExpression(expression: expression.calling(.jsonExtract, steps)) }

  /// `json_array_length("a", '$.…')`: the number of elements; 0 for what is no array, NULL where there is nothing.
  public func jsonArrayLength(_ steps: JSONStep...) -> TypedExpression<Int?> {
    TypedExpression(expression: expression.calling(.jsonArrayLength, steps))
  }

  /// `json_type("a", '$.…')`: `object`, `array`, `text`, `integer`, `real`, `true`, `false` or `null`; NULL where there
  /// is nothing.
  public func jsonType(_ steps: JSONStep...) -> TypedExpression<String?> {
    TypedExpression(expression: expression.calling(.jsonType, steps))
  }

  /// `json_group_array("a")`: all values of a group as a JSON array, in no certain order.
  public func jsonGroupArray(where condition: SqlExpression? = nil) -> TypedExpression<String> {
    TypedExpression(expression: expression.aggregate(.jsonGroupArray, where: condition))
  }
}

extension SqlTerm {
  /// `"a" -> '$.…'`: what is there, as JSON text; NULL where there is nothing.
  public func json(_ steps: JSONStep...) -> SqlExpression { expression.following(.json, steps) }

  /// `"a" ->> '$.…'`: the value there; NULL where there is nothing, or null.
  public func jsonValue(_ steps: JSONStep...) -> SqlExpression { expression.following(.jsonValue, steps) }

  /// `json_extract("a", '$.…')`: the value there; NULL where there is nothing, or null.
  public func jsonExtract(_ steps: JSONStep...) -> SqlExpression { expression.calling(.jsonExtract, steps) }

  /// `json_array_length("a", '$.…')`: the number of elements; 0 for what is no array, NULL where there is nothing.
  public func jsonArrayLength(_ steps: JSONStep...) -> SqlExpression { expression.calling(.jsonArrayLength, steps) }

  /// `json_type("a", '$.…')`: `object`, `array`, `text`, `integer`, `real`, `true`, `false` or `null`; NULL where there
  /// is nothing.
  public func jsonType(_ steps: JSONStep...) -> SqlExpression { expression.calling(.jsonType, steps) }

  /// `json_group_array("a")`: all values of a group as a JSON array, in no certain order.
  public func jsonGroupArray(where condition: SqlExpression? = nil) -> SqlExpression {
    expression.aggregate(.jsonGroupArray, where: condition)
  }
}

/// `json_array("a", "b")`: the values of terms as a JSON array.
public func jsonArray(_ terms: any AnyTerm...) -> TypedExpression<String> {
  TypedExpression(expression: .call(.jsonArray, terms.map(\.expression)))
}

/// `json_object(?, "a", ?, "b")`: the values of terms under their keys.
///
/// ```swift
/// jsonObject(["name": Car.name, "price": Car.price])     // json_object(?, "name", ?, "price")
/// ```
public func jsonObject(_ terms: KeyValuePairs<String, any AnyTerm>) -> TypedExpression<String> {
  TypedExpression(
    expression: .call(.jsonObject, terms.flatMap { [SqlExpression($0.key), $0.value.expression] }))
}
