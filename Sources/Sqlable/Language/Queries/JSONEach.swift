/// The elements of a JSON array or object, a row for each.
///
/// ```swift
/// let tag = JSONEach(Car.tags, as: "tag")
/// Car.select(Car.name, tag.value(as: String.self)).joining(tag)
/// // SELECT "car"."name", "tag"."value" FROM "car" JOIN json_each("car"."tags") AS "tag"
/// ```
///
/// NULL has no elements. Text that is no JSON throws when SQLite meets it.
public struct JSONEach: Sendable, Hashable {
  public let name: String
  let source: SelectQuery.Source

  /// The elements of what is found at the end of the steps, or of the whole, under a name of your choice.
  public init(_ term: some AnyTerm, _ steps: JSONStep..., as name: String) {
    self.init(.jsonEach, term.expression, steps, name)
  }

  /// The elements and all that is in them, down to the leaves: `json_tree("car"."tags")`.
  public static func tree(_ term: some AnyTerm, _ steps: JSONStep..., as name: String) -> JSONEach {
    JSONEach(.jsonTree, term.expression, steps, name)
  }

  init(_ function: SqlExpression.Call.BuiltIn, _ term: SqlExpression, _ steps: [JSONStep], _ name: String) {
    self.name = name
    var source = Element.source()
    source.alias = name
    source.kind = .call(steps.isEmpty ? .call(function, [term]) : term.calling(function, steps))
    self.source = source
  }

  /// The element itself; an array or object in it as JSON.
  public func value<Value: SqlValue>(as type: Value.Type) -> TypedExpression<Value> {
    TypedExpression(expression: column("value"))
  }

  /// The element's key in an object, or its number in an array, from 0.
  public func key<Value: SqlValue>(as type: Value.Type) -> TypedExpression<Value> {
    TypedExpression(expression: column("key"))
  }

  /// `object`, `array`, `text`, `integer`, `real`, `true`, `false` or `null`.
  public var type: TypedExpression<String> { TypedExpression(expression: column("type")) }

  /// The way to the element from the root, as in `$.pets[0]`.
  public var path: TypedExpression<String> { TypedExpression(expression: column("fullkey")) }

  // By its name only: its values are of any class, and no column type says so.
  func column(_ name: String) -> SqlExpression { SqlExpression(.qualified(alias: self.name, .named(name))) }

  /// The columns that SQLite's function has.
  private struct Element: Sqlable {
    static let tableName = "json_each"
    static let tableLayout = ["key", "value", "type", "fullkey"].map { Column($0, .nullable(.blob)) }

    init(row: ReadRow) throws {}
  }
}

extension SelectStatement {
  /// Joins the elements of a JSON array or object: a row for each of them.
  public consuming func joining(_ elements: JSONEach) -> Select<Row> {
    var select = asSelect()
    select.query.join(elements.source, .inner, on: nil)
    return select
  }

  /// Joins the elements that meet a condition.
  public consuming func joining(_ elements: JSONEach, on condition: SqlExpression) -> Select<Row> {
    var select = asSelect()
    select.query.join(elements.source, .inner, on: condition)
    return select
  }
}

extension AnyTerm {
  /// Whether a JSON array, or what is found at the end of the steps, has this element.
  ///
  /// ```swift
  /// Car.read().filter(Car.tags.jsonContains("fast"))
  /// // … WHERE ? IN (SELECT "element"."value" FROM json_each("car"."tags") AS "element")
  /// ```
  public func jsonContains(_ value: any SqlValue, at steps: JSONStep...) -> SqlExpression {
    let elements = JSONEach(.jsonEach, expression, steps, "element")
    return SqlExpression(value).isIn(SelectQuery(elements.source, results: [.term(elements.column("value"))]))
  }
}
