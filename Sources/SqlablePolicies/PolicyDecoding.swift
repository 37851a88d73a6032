import FoundationEssentials
import SqlableCore
import SqlableDocuments
import SqlableQueries

extension StatementPolicy {
  /// Decodes a statement of a model from JSON, and checks the statement against the policy.
  ///
  /// ```swift
  /// let search = try policy.statement(Statement<Bicycle, [Bicycle]>.self, json: body)
  /// ```
  ///
  /// The policy's conditions and limit are added to the statement. Throws `.invalidStatement` with the position in the
  /// document for anything that the policy does not allow. Also throws the errors of ``Statement/init(json:rules:)``.
  public func statement<Model, Output>(
    _ type: Statement<Model, Output>.Type, json: some ContiguousBytes
  ) throws -> Statement<Model, Output> {
    try decoded(json) { decoded, decoder in
      guard !decoded.tree.returnsRows else {
        throw DocumentAccess.refusal(at: decoded.operation.rawValue + ".returning")
      }
      return try Statement(decoded, decoder)
    }
  }

  /// Decodes, from JSON, a query that returns a value or a model per row, and checks the query against the policy.
  public func statement<Row: SelectOutput>(_ type: Select<Row>.Type, json: some ContiguousBytes) throws -> Select<Row> {
    try decoded(json) { decoded, decoder in
      var description = ResultDescription()
      try Row.describe(in: &description)
      return Select(try decoder.query(decoded, description))
    }
  }

  /// Decodes, from JSON, a query that returns several values and models per row, and checks the query against the
  /// policy.
  @_disfavoredOverload
  public func statement<each Value: SelectOutput>(
    _ type: Select<(repeat each Value)>.Type, json: some ContiguousBytes
  ) throws -> Select<(repeat each Value)> {
    try decoded(json) { decoded, decoder in
      var description = ResultDescription()
      repeat try (each Value).describe(in: &description)
      return Select(tuples: try decoder.query(decoded, description))
    }
  }

  /// Decodes, from JSON, a read with associated rows, and checks the read against the policy.
  ///
  /// ```swift
  /// let people = try policy.statement(like: Person.read().including(Person.bikes), json: body)
  /// // AssociatedQuery<Person, [Bicycle]>
  /// ```
  ///
  /// The document must have the associations of `known`; see ``AssociatedQuery/init(json:like:rules:)``. The policy's
  /// conditions apply to the rows of each association. The policy's limit applies to each parent row.
  public func statement<Root, each Part>(
    like known: AssociatedQuery<Root, repeat each Part>, json: some ContiguousBytes
  ) throws -> AssociatedQuery<Root, repeat each Part> {
    try reading(json) { document, decoder in
      let decoded = try DecodedIncluding(document, like: known.levels, under: TableInfo.of(Root.self), by: decoder)
      try check(decoded.read)
      return try AssociatedQuery(decoded.restricted(by: self), like: known, decoder)
    }
  }

  /// Decodes a statement of any of the policy's models from JSON, and checks the statement against the policy.
  public func statement(_ type: AnyStatement.Type = AnyStatement.self, json: some ContiguousBytes) throws
    -> AnyStatement
  {
    try decoded(json) { decoded, decoder in try AnyStatement(decoded, decoder) }
  }

  private func decoded<Result>(
    _ json: some ContiguousBytes, _ body: (DecodedStatement, DocumentDecoder) throws -> Result
  ) throws -> Result {
    try reading(json) { document, decoder in
      let decoded = try DecodedStatement(document, by: decoder)
      try check(decoded)
      return try body(decoded.restricted(by: self), decoder)
    }
  }

  private func check(_ decoded: DecodedStatement) throws {
    guard !kinds.contains(decoded.kind) else { return }
    throw DocumentAccess.refusal(at: decoded.operation.rawValue)
  }

  private func reading<Result>(
    _ json: some ContiguousBytes, _ body: (Document, DocumentDecoder) throws -> Result
  ) throws -> Result {
    if let defect = index.defect { throw defect }
    guard json.withUnsafeBytes(\.count) <= limits.bytes else {
      throw SqlError.invalidStatement("the document is larger than \(limits.bytes) bytes")
    }
    let decoder = DocumentDecoder([], StatementRules(kinds: kinds), access)
    do { return try decoder.locatingErrors { try body(JSONReader.read(json), decoder) } } catch {
      // If a condition of the policy is invalid, the error contains names that the policy hides. Throw `.misuse`
      // instead.
      for table in tables { try table.checkCondition() }
      throw error
    }
  }

  /// True if a query can contain other queries. Full-text search is included, because the SQL of `matches` contains a
  /// query.
  var allowsQueriesInQueries: Bool {
    !features.isDisjoint(with: [.subqueries, .namedQueries, .compounds, .fullText])
  }

  var access: DocumentAccess {
    var access = DocumentAccess()
    access.tables = index.tables
    access.functions = functions
    access.allowsAggregates = features.contains(.aggregates)
    access.allowsWindows = features.contains(.windows)
    access.allowsJSON = features.contains(.json)
    access.allowsNamedQueries = features.contains(.namedQueries)
    access.registered = registered
    (access.maximumNodes, access.maximumDepth, access.maximumList) = (limits.nodes, limits.depth, limits.list)
    return access
  }
}

extension StatementPolicy {
  func rules(of table: TableInfo) throws -> TablePolicy {
    guard let rules = index.rules[ObjectIdentifier(table)] else { throw DocumentAccess.refusal }
    return rules
  }
}

final class PolicyIndex: Sendable {
  let tables: [ByteComparedName: DocumentAccess.Table]
  /// The rules of each table, keyed by the identity of the table.
  let rules: [ObjectIdentifier: TablePolicy]
  /// The rules of each column, keyed by the identity of the column's declaration.
  let columns: [ObjectIdentifier: (rules: TablePolicy, position: Int)]
  /// The cached access rights of the policy's statements, and the source from which the rights were derived; nil before
  /// the first use.
  let knownRights = LockedValue<(source: RightsSource, rights: AccessRights)?>(nil)
  /// The names in the tables' conditions that a name in a document could shadow.
  let conditionNames: ConditionNames
  let defect: SqlError?

  init(_ all: [TablePolicy]) {
    var tables: [ByteComparedName: DocumentAccess.Table] = [:]
    var columns: [ObjectIdentifier: (rules: TablePolicy, position: Int)] = [:]
    for rules in all {
      var table = DocumentAccess.Table(info: rules.table)
      for (position, column) in rules.table.columns.enumerated() {
        columns[ObjectIdentifier(column.definition)] = (rules, position)
        if rules.knows(position) { table.columns[ByteComparedName(wrappedValue: column.name)] = column }
      }
      tables[ByteComparedName(wrappedValue: rules.table.name)] = table
    }
    defect = all.compactMap(\.defect).first
    conditionNames = ConditionNames(all.compactMap(\.condition))
    (self.tables, self.columns) = (tables, columns)
    rules = Dictionary(all.map { (ObjectIdentifier($0.table), $0) }) { first, _ in first }
  }
}

/// The values that determine a policy's rights, in addition to the rules of its tables.
struct RightsSource: Equatable {
  let features: Set<StatementPolicy.Feature>
  let functions: Set<String>
  let registered: Set<String>
}

extension TablePolicy {
  func knows(_ position: Int) -> Bool {
    readable.contains(position) || sortable.contains(position) || settable.contains(position)
      || filterable[position] != nil
  }
}
