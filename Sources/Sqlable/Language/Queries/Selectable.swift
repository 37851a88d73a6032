/// What the row of a query is made of: a typed column or term, or all columns of a model.
///
/// ```swift
/// Person.join(Bicycle.self, on: Bicycle.ownerId == Person.id)
///   .select(Person.self, Bicycle.id.count(), Bicycle.price.max()).groupBy(Person.id)     // [(Person, Int, Double?)]
/// // SELECT "person"."id", "person"."name", count("bicycle"."id"), max("bicycle"."price") FROM … GROUP BY "person"."id"
/// ```
///
/// ``TypedColumn``, ``TypedExpression``, ``Alias`` and ``ModelRow`` conform; there is nothing to implement.
public protocol Selectable<Value>: Sendable {
  /// What it is in a row.
  associatedtype Value: SelectOutput

  /// The columns that it takes in the result.
  var selected: Selected { get }
}

/// The columns that something takes in a result.
public struct Selected: Sendable {
  let result: SelectQuery.Result

  @usableFromInline
  init(_ term: SqlExpression) { result = .term(term) }

  /// All columns of a model's table.
  @usableFromInline
  init(_ model: (some SelectableModel).Type) {
    func table(of model: (some Sqlable).Type) -> TableInfo { TableInfo.unchecked(model) }
    self.init(table(of: model.modelOfRow), alias: nil)
  }

  fileprivate init(_ table: TableInfo, alias: String?) { result = .table(table, alias: alias) }
}

extension TypedTerm {
  @inlinable
  public var selected: Selected { Selected(expression) }
}

/// All columns of a model in a row, for a place where `Person.self` can't stand: behind six other things, say.
///
/// ```swift
/// Person.select(a, b, c, d, e, f, ModelRow(Person.self))
/// ```
public struct ModelRow<Value: SelectableModel>: Selectable {
  public let selected: Selected

  /// The columns of the model's table. `ModelRow(Person?.self)` is nil where a left join has found no row.
  public init(_ model: Value.Type) { selected = Selected(model) }

  fileprivate init(_ selected: Selected) { self.selected = selected }
}

extension Alias: Selectable {
  public typealias Value = Model

  /// All columns of the table under this name.
  public var selected: Selected { Selected(source.table, alias: name) }

  /// All columns of the table under this name, or nil where a left join has found no row.
  ///
  /// ```swift
  /// let boss = Alias(Person.self, "boss")
  /// Person.leftJoin(boss, on: Person.bossId == boss[Person.id]).select(Person.name, boss.optional)
  /// // [(String, Person?)]
  /// ```
  public var optional: ModelRow<Model?> { ModelRow(selected) }
}
