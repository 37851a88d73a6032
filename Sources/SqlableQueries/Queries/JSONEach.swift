import SqlableCore

/// The elements of a JSON array or object: one row for each element.
///
/// ```swift
/// let tag = JSONEach(Car.tags, as: "tag")
/// Car.select(Car.name, tag.value(as: String.self)).joining(tag)
/// // SELECT "car"."name", "tag"."value" FROM "car" JOIN json_each("car"."tags") AS "tag"
/// ```
///
/// NULL has no elements. Running the statement throws if SQLite evaluates text that is not valid JSON.
public struct JSONEach: Sendable, Hashable {
  let name: String
  let source: SelectQuery.Source

  /// Creates a table, named `name` in the query, of the elements at a path. Without steps, the path is the root.
  public init(_ term: some AnyTerm, _ steps: JSONStep..., as name: String) {
    self.init(.jsonEach, term.jsonText, steps, name)
  }

  /// The value at a path and all values nested in that value: `json_tree("car"."tags")`.
  public static func tree(_ term: some AnyTerm, _ steps: JSONStep..., as name: String) -> JSONEach {
    JSONEach(.jsonTree, term.jsonText, steps, name)
  }

  init(_ function: SqlExpression.Call.BuiltIn, _ term: SqlExpression, _ steps: [JSONStep], _ name: String) {
    self.name = name
    var source = Element.source()
    source.alias = name
    source.kind = .call(steps.isEmpty ? .call(function, [term]) : term.calling(function, steps))
    self.source = source
  }

  package static var emptySource: SelectQuery.Source {
    var source = Element.source()
    source.kind = .call(.call(.jsonEach, []))
    return source
  }

  /// The element's value; a nested array or object is JSON text.
  public func value<Value: SqlValue>(as type: Value.Type) -> TypedExpression<Value> {
    TypedExpression(expression: column("value"))
  }

  /// The element's key in an object, or its position in an array, from 0.
  public func key<Value: SqlValue>(as type: Value.Type) -> TypedExpression<Value> {
    TypedExpression(expression: column("key"))
  }

  /// The element's type: `object`, `array`, `text`, `integer`, `real`, `true`, `false` or `null`.
  public var type: TypedExpression<String> { TypedExpression(expression: column("type")) }

  /// The path of the element from the root, like `$.pets[0]`.
  public var path: TypedExpression<String> { TypedExpression(expression: column("fullkey")) }

  // Refer to the column by its name, because no column type allows values of all storage classes.
  func column(_ name: String) -> SqlExpression { SqlExpression(.qualified(alias: self.name, .named(name))) }

  private struct Element: Sqlable {
    static let tableName = "json_each"
    static let tableLayout = ["key", "value", "type", "fullkey"].map { Column($0, .nullable(.blob)) }

    init(row: ReadRow) throws {}
  }
}

extension SelectStatement {
  /// Joins the elements of a JSON array or object: one row for each element.
  public consuming func joining(_ elements: JSONEach) -> Select<Row> {
    joined(elements.source, .inner)
  }

  /// Joins the elements that match a condition.
  public consuming func joining(_ elements: JSONEach, on condition: any SqlCondition) -> Select<Row> {
    joined(elements.source, .inner, on: condition)
  }
}

extension SelectStatement {
  /// Left-joins the elements of a JSON array or object: one row for each element. Without elements, the result has one
  /// row with NULL in the element's columns.
  ///
  /// ```swift
  /// Car.select(Car.name, tag.value(as: String?.self)).leftJoining(tag)
  /// // SELECT "car"."name", "tag"."value" FROM "car" LEFT JOIN json_each("car"."tags") AS "tag"
  /// ```
  public consuming func leftJoining(_ elements: JSONEach) -> Select<Row> {
    joined(elements.source, .left)
  }

  /// Left-joins the elements that match a condition. If no element matches, the element's columns are NULL.
  public consuming func leftJoining(_ elements: JSONEach, on condition: any SqlCondition) -> Select<Row> {
    joined(elements.source, .left, on: condition)
  }
}

extension AnyTerm {
  /// True if a JSON array, or the array at a path, contains the value.
  ///
  /// ```swift
  /// Car.read().filter(Car.tags.jsonContains("fast"))
  /// // … WHERE ? IN (SELECT "element"."value" FROM json_each("car"."tags") AS "element")
  /// ```
  public func jsonContains(_ value: any SqlValue, at steps: JSONStep...) -> SqlExpression {
    let elements = JSONEach(.jsonEach, jsonText, steps, "element")
    return SqlExpression(value).isIn(SelectQuery(elements.source, results: [.term(elements.column("value"))]))
  }
}
