// Terms in the declarations of checks, generated columns and indexes.

extension Check {
  /// Creates a check from a condition on columns of the model.
  ///
  /// ```swift
  /// static let tableConstraints: [TableConstraint] = [Check(Product.price > Product.cost, name: "profit")]
  /// // CONSTRAINT "profit" CHECK ("price" > "cost")
  /// static let price: TypedColumn<Product, Double> = column("price", Double.self, Check(Product.price >= 0))
  /// // "price" REAL NOT NULL CHECK ("price" >= 0.0)
  /// ```
  ///
  /// Values in the condition become literals. If the check is an option of a column that the condition uses, declare
  /// the property's type, as for `price` above. If the condition contains subqueries, aggregates, windows, parameters,
  /// `random()` or columns of other tables, every statement of the model throws `.misuse`.
  public init(_ condition: @autoclosure @escaping @Sendable () -> any SqlCondition, name: String? = nil) {
    self.init(expression: .term(TermOfDeclaration { condition().expression }), name: name)
  }
}

extension Generated {
  /// Creates a generated column from a term of other columns of the model.
  ///
  /// ```swift
  /// static let total = column("total", Double.self, Generated(Product.price * 1.25, stored: true))
  /// // "total" REAL NOT NULL GENERATED ALWAYS AS ("price" * 1.25) STORED
  /// ```
  ///
  /// Values in the term become literals. A term that a ``Check`` rejects is rejected here too.
  public init(_ term: @autoclosure @escaping @Sendable () -> any AnyTerm, stored: Bool = false) {
    self.init(expression: .term(TermOfDeclaration { term().expression }), isStored: stored)
  }
}

extension View {
  /// Creates a view of the rows of a query.
  ///
  /// ```swift
  /// struct ColorCount: Sqlable {
  ///   static let color = Column("color", .text), count = Column("count", .integer)
  ///   static let tableLayout = [color, count]
  ///   static let tableOptions: [TableOption] = [
  ///     .view(View(Bicycle.select(Bicycle.color, Bicycle.id.count()).groupBy(Bicycle.color)))
  ///   ]
  ///   …
  /// }
  /// ```
  ///
  /// Values in the query become literals. Creating the view throws `.misuse` if the query contains a parameter, or if
  /// its number of columns differs from the model's.
  public init(_ query: @autoclosure @escaping @Sendable () -> some SelectStatement) {
    self.init(.term(QueryOfView { query().asSelect().query }))
  }
}

extension Index {
  /// Creates an index of the rows that meet a condition.
  ///
  /// ```swift
  /// Index(Bicycle.name, unique: true, where: Bicycle.soldAt.isNull)
  /// // CREATE UNIQUE INDEX "bicycle_name_where_sold_at" ON "bicycle" ("name") WHERE "sold_at" IS NULL
  /// ```
  ///
  /// With `unique`, two rows that meet the condition can't have the same values. SQLite uses the index for a statement
  /// whose filter implies the condition; see the guide on schemas. Values in the condition become literals. A condition
  /// that a ``Check`` rejects is rejected here too.
  public init(
    _ columns: any IndexTerm..., unique: Bool = false, where condition: any SqlCondition, name: String? = nil
  ) {
    self.init(
      columns: columns.map(\.indexColumn), isUnique: unique,
      condition: .term(TermOfDeclaration { condition.expression }),
      name: name)
  }
}

extension SqlExpression: IndexTerm {
  public var indexColumn: IndexColumn { IndexColumn(OrderTerm(expression: self, order: .asc)) }
}

extension TypedExpression: IndexTerm {
  public var indexColumn: IndexColumn { expression.indexColumn }
}

extension Ordering: IndexTerm {
  public var indexColumn: IndexColumn { IndexColumn(term) }
}

extension IndexColumn {
  fileprivate init(_ term: OrderTerm) {
    let expression = term.expression
    if case .column(let column) = expression.node, term.direction.hasDefaultNulls {
      self.init(name: column.name, isDescending: term.direction == .desc)
    } else {
      self.init(
        .term(TermOfDeclaration(term: { expression }, direction: term.direction)),
        isDescending: term.direction == .desc)
    }
  }
}

extension OrderTerm.Direction {
  fileprivate var hasDefaultNulls: Bool { self == .asc || self == .desc }
}

private struct TermOfDeclaration: DeclaredTerm {
  let term: @Sendable () -> SqlExpression
  var direction = OrderTerm.Direction.asc

  func sql(for table: TableInfo, real: (Double) throws -> String) throws -> String {
    guard direction.hasDefaultNulls else { throw SqlError.misuse("an index can't contain NULLS FIRST or NULLS LAST") }
    return try term().declaredSQL(for: table, real: real)
  }

  var words: [String] { term().words }
  var content: AnyHashable { [AnyHashable(term()), AnyHashable(direction)] }
}

private struct QueryOfView: DeclaredTerm {
  let query: @Sendable () -> SelectQuery

  func sql(for table: TableInfo, real: (Double) throws -> String) throws -> String {
    let query = query()
    let (sql, parameters) = (SqlBuffer(), ParameterBuffer(lists: .literal))
    guard query.clauses.columnCount == table.count else {
      throw SqlError.misuse(
        "the query of view \(table.name) has \(query.clauses.columnCount) columns, but its model has \(table.count)"
      )
      .at(table: table.name)
    }
    try SelectWriter(sql: sql, parameters: parameters).write(query)
    guard parameters.firstPlaceholder == nil else {
      throw SqlError.misuse("the query of view \(table.name) can't contain a parameter").at(table: table.name)
    }
    return try StatementWithValues(sql: sql.text, parameters: parameters).withLiterals(real: real)
  }

  var words: [String] { [] }
  var content: AnyHashable { query() }
}

extension SqlExpression {
  func declaredSQL(for table: TableInfo, real: (Double) throws -> String) throws -> String {
    try checkStandsInDeclaration()
    let (sql, parameters) = (SqlBuffer(), ParameterBuffer(lists: .literal))
    try Renderer(Scope(table), sql: sql, parameters: parameters).write(self)
    return try StatementWithValues(sql: sql.text, parameters: parameters).withLiterals(real: real)
  }

  /// Throws for terms that SQLite allows in no declaration, and for terms that return a different value each time.
  fileprivate func checkStandsInDeclaration() throws {
    switch node {
    case .parameter: throw SqlError.misuse("a declaration can't contain a parameter")
    case .query: throw SqlError.misuse("a declaration can't contain a subquery")
    case .qualified(let alias, _): throw SqlError.misuse("a declaration can't contain a column of the alias \(alias)")
    case .special(let special):
      if case .fullText = special.form { throw SqlError.misuse("a declaration can't contain a full-text term") }
      if case .fragment(let fragment) = special.form, fragment.hasQuery {
        throw SqlError.misuse("a declaration can't contain a subquery")
      }
    case .call(let call):
      guard let problem = call.problemInDeclaration else { break }
      throw SqlError.misuse("a declaration can't contain \(problem)")
    default: break
    }
    for term in node.terms { try term.checkStandsInDeclaration() }
  }

  fileprivate var words: [String] {
    if case .special(let special) = node, case .fragment(let fragment) = special.form {
      return fragment.words(special.terms) { $0.words }
    }
    let inner = node.terms.flatMap(\.words)
    return switch node {
    case .column(let column), .qualified(_, let column): [column.name]
    case .call(let call): call.words + inner
    case .isNull: inner + ["null"]
    default: inner
    }
  }
}

extension SqlExpression.Call {
  fileprivate var problemInDeclaration: String? {
    if case .builtIn(let function) = function, function.facts.has(.varies) {
      return "\(function.name)(), whose value changes with each call"
    }
    return nameOverRows
  }

  fileprivate var words: [String] {
    switch function {
    case .countRows: ["count"]
    case .builtIn(let function): [function.name]
    case .named(let name): [name]
    }
  }
}
