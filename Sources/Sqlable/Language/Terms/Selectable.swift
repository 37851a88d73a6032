/// What the row of a query is made of: a typed column or term, or all columns of a model.
///
/// ```swift
/// Person.join(Bicycle.self, on: Bicycle.ownerId == Person.id)
///   .select(Person.self, Bicycle.id.count(), Bicycle.price.max()).groupBy(Person.id)     // [(Person, Int, Double?)]
/// // SELECT "person"."id", "person"."name", count("bicycle"."id"), max("bicycle"."price")
/// // FROM … GROUP BY "person"."id"
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
    self.init(table(of: model.modelOfRow), alias: nil, isOptional: !(model is any Sqlable.Type))
  }

  init(_ table: TableInfo, alias: String?, isOptional: Bool) {
    result = .table(table, alias: alias, isOptional: isOptional)
  }
}

extension TypedTerm {
  @inlinable
  public var selected: Selected { Selected(expression) }
}
