/// All columns of a model in a row, where the overloads of `select` do not accept `Person.self`, such as after six
/// terms.
///
/// ```swift
/// Person.select(a, b, c, d, e, f, ModelRow(Person.self))
/// ```
public struct ModelRow<Value: SelectableModel>: Selectable {
  public let selected: Selected

  /// Selects the columns of the model's table. `ModelRow(Person?.self)` is nil if a left join found no row.
  public init(_ model: Value.Type) { selected = Selected(model) }

  fileprivate init(_ selected: Selected) { self.selected = selected }
}

extension Alias: Selectable {
  public typealias Value = Model

  /// All columns of the table under this name.
  public var selected: Selected { Selected(source.table, alias: name, isOptional: false) }

  /// All columns of the table under this name, or nil if a left join found no row.
  ///
  /// ```swift
  /// let boss = Alias(Person.self, "boss")
  /// Person.leftJoin(boss, on: Person.bossId == boss[Person.id]).select(Person.name, boss.optional)
  /// // [(String, Person?)]
  /// ```
  public var optional: ModelRow<Model?> { ModelRow(Selected(source.table, alias: name, isOptional: true)) }
}
