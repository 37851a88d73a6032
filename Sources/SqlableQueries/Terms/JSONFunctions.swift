// JSON functions. Running a statement throws if a function other than `json_valid` receives text that is not valid
// JSON.

import FoundationEssentials
import SqlableCore

/// A step of a JSON path: a key of an object or a position in an array.
///
/// ```swift
/// Owner.doc.jsonValue("pets", 0, "name", as: String.self)     // "doc" ->> '$.pets[0].name'
/// ```
///
/// The SQL contains the path as a literal, so that SQLite can use an index on the same expression. A key with
/// characters other than ASCII letters, digits and `_` is quoted and can't inject SQL. Running the statement throws
/// `.invalidStatement` for a key with a quote, a backslash or a control character, because SQLite's versions read such
/// keys differently. A key that begins with `$.` or `$[` also throws: pass each step of a path as a separate argument.
public enum JSONStep: Sendable, Hashable {
  case key(String)
  /// A position counted from 0, or from the end if negative: -1 is the last element.
  case position(Int)
  /// The position after the last element of an array: `Owner.doc.jsonInsert("pets", .end, value: "cat")` appends.
  case end
}

extension JSONStep: ExpressibleByStringLiteral {
  public init(stringLiteral key: String) { self = .key(key) }
}

extension JSONStep: ExpressibleByIntegerLiteral {
  public init(integerLiteral position: Int) { self = .position(position) }
}

extension SqlExpression {
  /// The path from the root in SQLite's syntax, as a value.
  package static func path(_ steps: [JSONStep]) -> SqlExpression {
    var path = "$"
    for step in steps {
      switch step {
      case .position(let position):
        // Clamp the position, because SQLite's positions wrap around at 32 bits. No array is that long.
        path += "[\(position < 0 ? "#" : "")\(Int32(clamping: position))]"
      case .end: path += "[#]"
      case .key(let key):
        guard key.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0 != "\"" && $0 != "\\" }) else {
          return SqlExpression(
            invalid: SqlError.invalidStatement("a JSON key contains a quote, a backslash or a control character"))
        }
        // Refuse a path: SQLite would search for it as a single key, and never find that key.
        if key.hasPrefix("$.") || key.hasPrefix("$[") {
          return SqlExpression(
            invalid: SqlError.invalidStatement(
              "a JSON key can't begin with '$.' or '$['; pass each step of a path: \"a\" and 0 for '$.a[0]'"
            ))
        }
        // Leave a key unquoted where possible, so that the path equals the path in an index that was written by hand.
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

extension AnyTerm {
  /// The term as JSON text: `CAST("a" AS TEXT)` for a typed term of a `.blob` column.
  ///
  /// SQLite's functions read a BLOB as JSONB, the binary form of JSON. Only columns of bytes and untyped columns can
  /// contain JSONB.
  var jsonText: SqlExpression {
    guard let typed = self as? any TypedTerm, !typed.holdsBytes else { return expression }
    return expression.columnDefinition?.type.storageClass == .blob ? .special(.cast(.text), expression) : expression
  }
}

extension AnyTerm {
  /// The term for use inside a JSON array or object. If a typed term is stored as JSON, its value becomes nested JSON,
  /// not a string.
  fileprivate var part: SqlExpression { (self as? any TypedTerm)?.jsonPart ?? expression }
}

extension TypedTerm {
  fileprivate var holdsBytes: Bool { Value.self == Data.self || Value.self == Data?.self }

  fileprivate var jsonPart: SqlExpression { isStoredAsJSON(Value.self) ? jsonText.call(.json) : jsonText }
}

extension FunctionTerm {
  /// The value at a path, as JSON text: `"a" -> '$.…'`. NULL if the path does not exist.
  public func json(_ steps: JSONStep...) -> OfText {
    OfText(expression: jsonText.following(.json, steps))
  }

  /// The length of an array: `json_array_length("a", '$.…')`. 0 if the value is not an array, NULL if the path does not
  /// exist.
  public func jsonArrayLength(_ steps: JSONStep...) -> OfInt {
    OfInt(expression: jsonText.calling(.jsonArrayLength, steps))
  }

  /// The type of the value at a path, `json_type("a", '$.…')`: `object`, `array`, `text`, `integer`, `real`, `true`,
  /// `false` or `null`. NULL if the path does not exist.
  public func jsonType(_ steps: JSONStep...) -> OfText {
    OfText(expression: jsonText.calling(.jsonType, steps))
  }

  /// True if the term is well-formed JSON: `json_valid("a")`. For NULL the result is 0 or NULL, depending on the
  /// version of SQLite.
  ///
  /// ```swift
  /// Stay.read().filter(!Stay.doc.jsonValid())     // SELECT … FROM "stay" WHERE NOT json_valid("doc")
  /// ```
  public func jsonValid() -> SqlExpression { jsonText.call(.jsonValid) }
}

extension TypedTerm {
  /// The value at a path: `"a" ->> '$.…'`. NULL if the path does not exist or its value is null.
  public func jsonValue<Result: SqlValue>(
    _ steps: JSONStep..., as type: Result.Type
  ) -> TypedExpression<Result?> { TypedExpression(expression: jsonText.following(.jsonValue, steps)) }

  /// The value at a path: `json_extract("a", '$.…')`. NULL if the path does not exist or its value is null.
  public func jsonExtract<Result: SqlValue>(
    _ steps: JSONStep..., as type: Result.Type
  ) -> TypedExpression<Result?> { TypedExpression(expression: jsonText.calling(.jsonExtract, steps)) }

  /// All values of a group as a JSON array: `json_group_array("a")`, or the distinct values:
  /// `json_group_array(DISTINCT "a")`. If the group has no rows, the array is empty. NULL becomes null.
  ///
  /// ```swift
  /// Car.name.jsonGroupArray(orderBy: Car.price.desc)     // json_group_array("name" ORDER BY "price" DESC)
  /// ```
  ///
  /// A value that is stored as JSON becomes nested JSON, not a string: `json_group_array(json("a"))`. Without
  /// `orderBy`, the order of the values is undefined. `orderBy` needs SQLite 3.44; with an earlier version, running the
  /// statement throws `.misuse`.
  public func jsonGroupArray(
    distinct: Bool = false, orderBy orderings: any OrderingTerm..., where condition: (any SqlCondition)? = nil
  ) -> TypedExpression<String> {
    TypedExpression(
      expression: jsonPart.aggregate(
        .jsonGroupArray, isDistinct: distinct, orderBy: orderings.map(\.ordering), where: condition))
  }
}

extension SqlTerm {
  /// The value at a path: `"a" ->> '$.…'`. NULL if the path does not exist or its value is null.
  public func jsonValue(_ steps: JSONStep...) -> SqlExpression { expression.following(.jsonValue, steps) }

  /// The value at a path: `json_extract("a", '$.…')`. NULL if the path does not exist or its value is null.
  public func jsonExtract(_ steps: JSONStep...) -> SqlExpression { expression.calling(.jsonExtract, steps) }

  /// All values of a group as a JSON array: `json_group_array("a")`. Without `orderBy`, the order of the values is
  /// undefined. `orderBy` needs SQLite 3.44.
  public func jsonGroupArray(
    distinct: Bool = false, orderBy orderings: any OrderingTerm..., where condition: (any SqlCondition)? = nil
  ) -> SqlExpression {
    expression.aggregate(.jsonGroupArray, isDistinct: distinct, orderBy: orderings.map(\.ordering), where: condition)
  }
}

extension SqlExpression {
  /// Creates the term of a value for use inside a JSON array or object. A value that is stored as JSON becomes nested
  /// JSON, not a string.
  fileprivate init(within value: any SqlValue) {
    if let truth = value as? Bool {
      self = SqlExpression(truth ? "true" : "false").call(.json)
    } else {
      self = isStoredAsJSON(type(of: value)) ? SqlExpression(value).call(.json) : SqlExpression(value)
    }
  }

  fileprivate func changing(_ function: Call.BuiltIn, _ steps: [JSONStep], to value: SqlExpression) -> SqlExpression {
    call(function, .path(steps), value)
  }
}

extension FunctionTerm {
  /// Converts a JSON result to the storage class of a typed term's column.
  private func stored(_ result: SqlExpression) -> Same {
    let isTypedJSON = (self as? any TypedTerm)?.holdsBytes == false
    let isStoredAsBytes = isTypedJSON && expression.columnDefinition?.type.storageClass == .blob
    return Same(expression: isStoredAsBytes ? .special(.cast(.blob), result) : result)
  }

  /// The JSON with a value added or replaced at a path: `json_set("a", '$.…', ?)`.
  ///
  /// ```swift
  /// Stay.update(Stay.doc.set(to: Stay.doc.jsonSet("pets", 0, "age", to: 7)))
  /// // UPDATE "stay" SET "doc" = json_set("doc", '$.pets[0].age', ?)
  /// ```
  ///
  /// Text becomes a JSON string, and nil becomes null. A Boolean, an array, and any other value that columns store as
  /// JSON becomes nested JSON. A term of JSON, such as ``json(_:)`` or `jsonArray`, becomes nested JSON too. Missing
  /// objects of the path are created. A path beyond the end of an array, or into a number or text, changes nothing.
  public func jsonSet(_ steps: JSONStep..., to value: some SqlValue) -> Same {
    stored(jsonText.changing(.jsonSet, steps, to: SqlExpression(within: value)))
  }

  /// The JSON with the value of a term added or replaced at a path: `json_set("a", '$.…', "b")`.
  public func jsonSet(_ steps: JSONStep..., to term: some AnyTerm) -> Same {
    stored(jsonText.changing(.jsonSet, steps, to: term.part))
  }

  /// The JSON with a value added at a path, if the path has no value yet: `json_insert("a", '$.…', ?)`.
  public func jsonInsert(_ steps: JSONStep..., value: some SqlValue) -> Same {
    stored(jsonText.changing(.jsonInsert, steps, to: SqlExpression(within: value)))
  }

  /// The JSON with the value of a term added at a path, if the path has no value yet: `json_insert("a", '$.…', "b")`.
  public func jsonInsert(_ steps: JSONStep..., value term: some AnyTerm) -> Same {
    stored(jsonText.changing(.jsonInsert, steps, to: term.part))
  }

  /// The JSON with the value at a path replaced, if the path has a value: `json_replace("a", '$.…', ?)`.
  public func jsonReplace(_ steps: JSONStep..., with value: some SqlValue) -> Same {
    stored(jsonText.changing(.jsonReplace, steps, to: SqlExpression(within: value)))
  }

  /// The JSON with the value at a path replaced by a term, if the path has a value: `json_replace("a", '$.…', "b")`.
  public func jsonReplace(_ steps: JSONStep..., with term: some AnyTerm) -> Same {
    stored(jsonText.changing(.jsonReplace, steps, to: term.part))
  }

  /// The JSON without the value at a path: `json_remove("a", '$.…')`.
  public func jsonRemove(_ first: JSONStep, _ steps: JSONStep...) -> Same {
    stored(jsonText.calling(.jsonRemove, [first] + steps))
  }

  /// The JSON merged with the object `patch`, in which null removes a member (RFC 7396): `json_patch("a", ?)`.
  public func jsonPatch(_ patch: String) -> Same {
    stored(jsonText.call(.jsonPatch, SqlExpression(patch)))
  }

  /// The JSON merged with the object of a term of the same type: `json_patch("a", "b")`. NULL if the term is NULL.
  public func jsonPatch<Other: FunctionTerm>(_ patch: Other) -> Same where Other.Same == Same {
    stored(jsonText.call(.jsonPatch, patch.jsonText))
  }
}

extension TypedTerm {
  /// The rows of a group as a JSON object, with this term as key and `value` as value: `json_group_object("a", "b")`.
  ///
  /// If the group has no rows, the object is empty. If two rows have the same key, the object contains the key twice.
  /// `orderBy` needs SQLite 3.44.
  public func jsonGroupObject(
    _ value: some TypedTerm, orderBy orderings: any OrderingTerm..., where condition: (any SqlCondition)? = nil
  ) -> TypedExpression<String> {
    TypedExpression(
      expression: expression.aggregate(
        .jsonGroupObject, [value.jsonPart], orderBy: orderings.map(\.ordering), where: condition))
  }
}

extension SqlTerm {
  /// The rows of a group as a JSON object, with this term as key and `value` as value: `json_group_object("a", "b")`.
  /// `orderBy` needs SQLite 3.44.
  public func jsonGroupObject(
    _ value: some SqlTerm, orderBy orderings: any OrderingTerm..., where condition: (any SqlCondition)? = nil
  ) -> SqlExpression {
    expression.aggregate(.jsonGroupObject, [value.expression], orderBy: orderings.map(\.ordering), where: condition)
  }
}

/// The values of terms as a JSON array: `json_array("a", "b")`.
///
/// A value that a typed column stores as JSON becomes nested JSON, not a string: `json_array(json("tags"))`.
public func jsonArray(_ terms: any AnyTerm...) -> TypedExpression<String> {
  TypedExpression(expression: .call(.jsonArray, terms.map(\.part)))
}

/// The values of terms as a JSON object: `json_object(?, "a", ?, "b")`.
///
/// ```swift
/// jsonObject(["name": Car.name, "price": Car.price])     // json_object(?, "name", ?, "price")
/// ```
///
/// A value that a typed column stores as JSON becomes nested JSON, not a string: `json_object(?, json("tags"))`.
public func jsonObject(_ terms: KeyValuePairs<String, any AnyTerm>) -> TypedExpression<String> {
  TypedExpression(
    expression: .call(.jsonObject, terms.flatMap { [SqlExpression($0.key), $0.value.part] }))
}
