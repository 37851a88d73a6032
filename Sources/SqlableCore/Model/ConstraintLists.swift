// Swift infers `[Unique]` for `static let tableConstraints = [Unique(a, b)]`, and a property of this type does not
// satisfy a requirement of type `[TableConstraint]`. Therefore each kind of constraint has its own protocol, which
// requires a list of that kind. The requirements and their defaults are disfavored, so that `Model.tableConstraints`
// is not ambiguous.

/// A model's constraints as a list of ``Unique``. ``Sqlable`` includes this protocol.
public protocol UniqueList {
  @_disfavoredOverload static var tableConstraints: [Unique] { get }
  @_disfavoredOverload static var tableConstraint: [Unique] { get }
}

/// A model's constraints as a list of ``PrimaryKeys``. ``Sqlable`` includes this protocol.
public protocol PrimaryKeysList {
  @_disfavoredOverload static var tableConstraints: [PrimaryKeys] { get }
  @_disfavoredOverload static var tableConstraint: [PrimaryKeys] { get }
}

/// A model's constraints as a list of ``Check``. ``Sqlable`` includes this protocol.
public protocol CheckList {
  @_disfavoredOverload static var tableConstraints: [Check] { get }
  @_disfavoredOverload static var tableConstraint: [Check] { get }
}

/// A model's constraints as a list of ``ForeignKeys``. ``Sqlable`` includes this protocol.
public protocol ForeignKeysList {
  @_disfavoredOverload static var tableConstraints: [ForeignKeys] { get }
  @_disfavoredOverload static var tableConstraint: [ForeignKeys] { get }
}

/// Lists with a name or type that a program can confuse with the lists of ``Sqlable``. Every statement of a model that
/// declares such a list throws `.misuse`.
public protocol MisnamedLists {
  @_disfavoredOverload static var tableIndices: [Index] { get }
  @_disfavoredOverload static var tableIndex: [Index] { get }
  @_disfavoredOverload static var tableConstraint: [TableConstraint] { get }
  @_disfavoredOverload static var tableConstraints: [Index] { get }
  @_disfavoredOverload static var tableIndexes: [Unique] { get }
  @_disfavoredOverload static var tableOption: [TableOption] { get }
  @_disfavoredOverload static var tableFulltext: FullTextIndex { get }
}

/// Declarations that a program can confuse with the lists of ``Sqlable``: a single constraint or index instead of a
/// list. Every statement of a model that declares such a property throws `.misuse`.
public protocol MisnamedValues {
  @_disfavoredOverload static var tableIndex: Index { get }
  @_disfavoredOverload static var tableIndexes: Index { get }
  @_disfavoredOverload static var tableConstraint: Unique { get }
  @_disfavoredOverload static var tableConstraints: Unique { get }
}

extension UniqueList {
  @_disfavoredOverload public static var tableConstraints: [Unique] { [] }
  @_disfavoredOverload public static var tableConstraint: [Unique] { [] }
}

extension PrimaryKeysList {
  @_disfavoredOverload public static var tableConstraints: [PrimaryKeys] { [] }
  @_disfavoredOverload public static var tableConstraint: [PrimaryKeys] { [] }
}

extension CheckList {
  @_disfavoredOverload public static var tableConstraints: [Check] { [] }
  @_disfavoredOverload public static var tableConstraint: [Check] { [] }
}

extension ForeignKeysList {
  @_disfavoredOverload public static var tableConstraints: [ForeignKeys] { [] }
  @_disfavoredOverload public static var tableConstraint: [ForeignKeys] { [] }
}

extension MisnamedLists {
  @_disfavoredOverload public static var tableIndices: [Index] { [] }
  @_disfavoredOverload public static var tableIndex: [Index] { [] }
  @_disfavoredOverload public static var tableConstraint: [TableConstraint] { [] }
  @_disfavoredOverload public static var tableConstraints: [Index] { [] }
  @_disfavoredOverload public static var tableIndexes: [Unique] { [] }
  @_disfavoredOverload public static var tableOption: [TableOption] { [] }
  @_disfavoredOverload public static var tableFulltext: FullTextIndex { FullTextIndex() }
}

extension MisnamedValues {
  @_disfavoredOverload public static var tableIndex: Index { Index(columns: []) }
  @_disfavoredOverload public static var tableIndexes: Index { Index(columns: []) }
  @_disfavoredOverload public static var tableConstraint: Unique { Unique() }
  @_disfavoredOverload public static var tableConstraints: Unique { Unique() }
}

extension Sqlable {
  static var declaredConstraints: TableConstraints {
    var constraints = TableConstraints()
    for constraint in tableConstraints as [TableConstraint] {
      (constraint as? any AppliedConstraint)?.write(to: &constraints)
    }
    for constraint in tableConstraints as [Unique] { constraint.write(to: &constraints) }
    for constraint in tableConstraints as [PrimaryKeys] { constraint.write(to: &constraints) }
    for constraint in tableConstraints as [Check] { constraint.write(to: &constraints) }
    for constraint in tableConstraints as [ForeignKeys] { constraint.write(to: &constraints) }
    return constraints
  }

  /// The end of an error message about a list with a wrong name or type; nil if the model declares no such list.
  static var misnamedList: String? {
    let constraints: [any Collection] = [
      tableConstraint as [TableConstraint], tableConstraint as [Unique], tableConstraint as [PrimaryKeys],
      tableConstraint as [Check], tableConstraint as [ForeignKeys],
    ]
    if !constraints.allSatisfy(\.isEmpty) || (tableConstraint as Unique).hasColumns {
      return "declares tableConstraint, which has no effect; rename it to tableConstraints, a list"
    }
    if !tableIndices.isEmpty { return "declares tableIndices, which has no effect; rename it to tableIndexes" }
    if !(tableIndex as [Index]).isEmpty || !(tableIndex as Index).columns.isEmpty {
      return "declares tableIndex, which has no effect; rename it to tableIndexes, a list"
    }
    if !tableOption.isEmpty { return "declares tableOption, which has no effect; rename it to tableOptions" }
    if !tableFulltext.columns.isEmpty {
      return "declares tableFulltext, which has no effect; rename it to tableFullText"
    }
    if !(tableConstraints as [Index]).isEmpty {
      return "declares indexes in tableConstraints, which has no effect; move them to tableIndexes"
    }
    if !(tableIndexes as [Unique]).isEmpty {
      return "declares constraints in tableIndexes, which has no effect; move them to tableConstraints"
    }
    if (tableConstraints as Unique).hasColumns {
      return "declares a single constraint in tableConstraints, which has no effect; make it a list"
    }
    if !(tableIndexes as Index).columns.isEmpty {
      return "declares a single index in tableIndexes, which has no effect; make it a list"
    }
    return nil
  }
}
