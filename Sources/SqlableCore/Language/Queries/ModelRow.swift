/// All columns of a model, for a `select` that does not accept `Person.self`, such as a `select` of more than six
/// items.
///
/// ```swift
/// Person.select(a, b, c, d, e, f, ModelRow(Person.self))
/// ```
public struct ModelRow<Value: SelectableModel>: Selectable {
  public let selected: Selected

  /// Selects the columns of the model's table. A `ModelRow(Person?.self)` is nil in a row for which a left join found
  /// no match.
  public init(_ model: Value.Type) { selected = Selected(model) }

  fileprivate init(_ selected: Selected) { self.selected = selected }
}

extension Alias: Selectable {
  public typealias Value = Model

  /// All columns of the table under the alias's name.
  public var selected: Selected { Selected(source.table, alias: name, isOptional: false) }

  /// All columns of the table under the alias's name. The model is nil in a row for which a left join found no match.
  ///
  /// ```swift
  /// let boss = Alias(Person.self, "boss")
  /// Person.leftJoin(boss, on: Person.bossId == boss[Person.id]).select(Person.name, boss.optional)
  /// // [(String, Person?)]
  /// ```
  public var optional: ModelRow<Model?> { ModelRow(Selected(source.table, alias: name, isOptional: true)) }
}
