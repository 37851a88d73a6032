/// An item that a query selects: a typed column or term, or all columns of a model.
///
/// ```swift
/// Person.join(Bicycle.self, on: Bicycle.ownerId == Person.id)
///   .select(Person.self, Bicycle.id.count(), Bicycle.price.max()).groupBy(Person.id)     // [(Person, Int, Double?)]
/// // SELECT "person"."id", "person"."name", count("bicycle"."id"), max("bicycle"."price")
/// // FROM … GROUP BY "person"."id"
/// ```
///
/// ``TypedColumn``, ``TypedExpression``, ``Alias`` and ``ModelRow`` conform. Programs do not implement this protocol.
public protocol Selectable<Value>: Sendable {
  /// The type of the item in a row.
  associatedtype Value: SelectOutput

  /// The result columns of the item.
  var selected: Selected { get }
}

/// The result columns of a ``Selectable``.
public struct Selected: Sendable {
  let result: SelectQuery.Result
  /// The Swift type of a typed term's values; nil for an untyped term or a model.
  private(set) var value: (any SqlValue.Type)? = nil

  init(_ term: SqlExpression) { result = .term(term) }

  @usableFromInline
  init(_ term: SqlExpression, as value: any SqlValue.Type) {
    result = .term(term)
    self.value = value
  }

  @usableFromInline
  package init(_ model: (some SelectableModel).Type) {
    func table(of model: (some Sqlable).Type) -> TableInfo { TableInfo.unchecked(model) }
    self.init(table(of: model.modelOfRow), alias: nil, isOptional: !(model is any Sqlable.Type))
  }

  init(_ table: TableInfo, alias: String?, isOptional: Bool) {
    result = .table(table, alias: alias, isOptional: isOptional)
  }
}

extension TypedTerm {
  @inlinable
  public var selected: Selected { Selected(expression, as: Value.self) }
}
