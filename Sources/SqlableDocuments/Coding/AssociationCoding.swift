import FoundationEssentials
import SqlableCore
import SqlableQueries

extension AssociatedQuery: Encodable {
  /// The read as JSON; see ``Statement/json()``.
  ///
  /// ```swift
  /// try Person.read().including(Person.bikes.limit(3)).json()
  /// // {"read":{"from":"person","including":[{"from":"bicycle","limit":3,"referringBy":"owner_id"}]},"sqlable":1}
  /// ```
  public func json() throws -> Data { Data(try document().json) }

  public func encode(to encoder: any Encoder) throws { try document().encode(to: encoder) }

  private func document() throws -> Document {
    // Throw the errors that a run of the read would throw.
    for query in try queries() { _ = try query.withValues() }
    let encoder = DocumentEncoder()
    let read = try encoder.query(root.asSelect().query, outer: nil, including: encoder.associations(levels))
    return [DocumentKey.sqlable.rawValue: .integer(Document.version), DocumentOperation.read.rawValue: read]
  }
}

extension AssociatedQuery {
  /// Decodes, from JSON, a read with associated rows, and checks the read; see ``Statement/init(json:rules:)``.
  ///
  /// ```swift
  /// let people = try AssociatedQuery(json: data, like: Person.read().including(Person.bikes))
  /// for (person, bikes) in try people.run(db) { … }     // (Person, [Bicycle])
  /// ```
  ///
  /// The document must have the same associations as `known`, in the same order. The document determines which rows are
  /// read; the filters, orders and limits of `known` are ignored. The rules name the models of tables that are used
  /// only in conditions. Throws `.invalidStatement` if the associations differ, and the errors of decoding a statement.
  public init(
    json: some ContiguousBytes, like known: AssociatedQuery, rules: StatementRules = StatementRules()
  ) throws {
    try self.init(JSONReader.read(json), like: known, rules)
  }

  /// Decodes a read with associated rows, as ``init(json:like:rules:)`` does. The rules come from the decoder's
  /// `userInfo[.statementRules]`.
  ///
  /// ```swift
  /// people = try AssociatedQuery(
  ///   from: container.superDecoder(forKey: .people), like: Person.read().including(Person.bikes))
  /// ```
  public init(from decoder: any Decoder, like known: AssociatedQuery) throws {
    try self.init(Document(from: decoder), like: known, StatementRules.of(decoder))
  }

  private init(_ document: Document, like known: AssociatedQuery, _ rules: StatementRules) throws {
    let tables = try [TableInfo.of(Root.self)] + known.levels.flatMap(\.tables)
    let decoder = try DocumentDecoder(tables + rules.modelTables(), rules)
    self = try decoder.locatingErrors {
      try AssociatedQuery(
        DecodedIncluding(document, like: known.levels, under: TableInfo.of(Root.self), by: decoder), like: known,
        decoder)
    }
  }

  package init(_ decoded: DecodedIncluding, like known: AssociatedQuery, _ decoder: DocumentDecoder) throws {
    var levels = decoded.levels[...]
    let root = try Statement<Root, [Root]>(decoded.read, decoder)
    self.init(root: root, parts: (repeat (each known.parts).taking(&levels)))
    for query in try queries() { _ = try query.withValues() }
  }

  package var levels: [AssociationLevel] {
    var levels: [AssociationLevel] = []
    for part in repeat each parts { levels.append(part.level) }
    return levels
  }
}

package struct DecodedIncluding {
  package let read: DecodedStatement
  package let levels: [AssociationLevel]

  package init(read: DecodedStatement, levels: [AssociationLevel]) { (self.read, self.levels) = (read, levels) }

  /// Decodes a document. Throws if the document's associations do not match `known`, the associations of `table`.
  package init(
    _ document: Document, like known: [AssociationLevel], under table: TableInfo, by decoder: DocumentDecoder
  ) throws {
    let key = DocumentOperation.read.rawValue
    guard case .object(var members) = document, let index = members.firstIndex(where: { $0.key == key }),
      case .object(var body) = members[index].value,
      let included = body.firstIndex(where: { $0.key == DocumentKey.including.rawValue })
    else { throw decoder.failure("the statement must be a read that has the key \"including\"") }
    let associations = body.remove(at: included).value
    members[index] = .init(key: key, value: .object(body))
    read = try DecodedStatement(.object(members), by: decoder)
    decoder.enter(key)
    decoder.enter(DocumentKey.including.rawValue)
    levels = try decoder.associations(associations, like: known, under: table)
    decoder.leave()
    decoder.leave()
  }
}

// MARK: - Associations

extension DocumentEncoder {
  fileprivate func associations(_ levels: [AssociationLevel]) throws -> Document {
    .list(try levels.map(association))
  }

  private func association(_ level: AssociationLevel) throws -> Document {
    let clauses = level.query.clauses
    let scope = try level.scope
    var members = try path(level.path)
    members.add(.from, try sources(clauses.sources, scope))
    members.add(.where, try clauses.filter.map { try term($0, scope) })
    if !clauses.order.isEmpty { members.add(.orderBy, try order(clauses.order, scope)) }
    members.add(.limit, try clauses.limit.map(count))
    members.add(.offset, try clauses.offset.map(count))
    switch level.form {
    case .rows: break
    case .count: members.add(.count, .bool(true))
    case .value(let aggregate): members.add(.aggregate, try term(aggregate, scope))
    }
    if !level.childLevels.isEmpty { members.add(.including, try associations(level.childLevels)) }
    return members.document
  }

  /// Returns members that describe how the rows are associated with their parent rows.
  fileprivate func path(_ path: AssociationPath) throws -> Members {
    for link in path.links { try checkDatabase(of: link.source.table) }
    if let (link, from, to) = path.linkTable {
      var (members, through) = (Members(), Members())
      through.add(.table, .text(link.name))
      through.add(.from, .key(from.map(\.name)))
      through.add(.to, .key(to.map(\.name)))
      members.add(.through, through.document)
      return members
    }
    var members = step(path.step)
    guard !path.links.isEmpty else { return members }
    let links = path.links.map { link in
      var members = step(link.step)
      members.add(.table, .text(link.source.table.name))
      members.add(.as, link.source.alias.map(Document.text))
      return members.document
    }
    members.add(.through, .list(links))
    return members
  }

  private func step(_ step: AssociationPath.Step) -> Members {
    var members = Members()
    switch step {
    case .referring(let columns, let key):
      members.add(.referringBy, .key(columns.map(\.name)))
      members.add(.key, key.map { .key($0.map(\.name)) })
    case .referred(let columns, let key):
      members.add(.referredBy, .key(columns.map(\.name)))
      members.add(.key, key.map { .key($0.map(\.name)) })
    }
    return members
  }
}

extension DocumentDecoder {
  private static let associationKeys: Set<DocumentKey> = [
    .from, .referringBy, .referredBy, .key, .through, .where, .orderBy, .limit, .offset, .count, .aggregate,
    .including,
  ]

  /// Decodes associations. Throws if the associations do not match `known`.
  fileprivate func associations(
    _ document: Document, like known: [AssociationLevel], under table: TableInfo
  ) throws -> [AssociationLevel] {
    let documents = try list(document, "the associations of a read")
    guard documents.count == known.count else { throw unknownAssociation }
    return try documents.indices.map { index in
      enter(index)
      let level = try association(documents[index], like: known[index], under: table)
      leave()
      return level
    }
  }

  private func association(
    _ document: Document, like known: AssociationLevel, under table: TableInfo
  ) throws -> AssociationLevel {
    let fields = try fields(document, DocumentDecoder.associationKeys, "an association")
    try begin(DocumentDecoder.levelsOfQuery)
    defer { end(DocumentDecoder.levelsOfQuery) }
    // Check the tables of the path first, because a policy hides every table that is not in the policy.
    if let access {
      for link in known.path.links where !access.tables.values.contains(where: { $0.info === link.source.table }) {
        throw DocumentAccess.refusal
      }
    }
    let source = try part(fields, .from) { try self.source(ofAssociation: $0) }
    guard let source, source.table.hasSameModel(as: known.query.table), known.query.table.database == nil,
      try isPath(fields, of: known, under: table), try isForm(fields, of: known)
    else { throw unknownAssociation }
    var level = known
    level.query = SelectQuery(source, results: [.model(0)])
    let scope = try level.scope
    // Decode the aggregate although it matches the known one, because a policy might not allow its functions.
    _ = try part(fields, .aggregate) { try term($0, scope) }
    if let filter = try part(fields, .where, { try term($0, scope) }) { level.query.filter(filter) }
    if let terms = try part(fields, .orderBy, { try order($0, scope) }) { level.query.clauses.order = terms }
    if let limit = try part(fields, .limit, { try count($0, "a limit") }) { level.query.limit = limit }
    if let offset = try part(fields, .offset, { try count($0, "an offset") }) {
      level.query.clauses.offset = .number(offset)
    }
    if known.form != .rows, level.query.isLimited {
      throw failure("an aggregate of associated rows can't have a limit")
    }
    if known.path.isToOne, level.query.isLimited || !level.query.clauses.order.isEmpty {
      throw failure("a to-one association can't have an order, limit or offset")
    }
    guard level.query.clauses.size.depth <= SqlExpression.maximumDepth else {
      throw failure("the query is nested too deeply")
    }
    guard !known.childLevels.isEmpty || fields[.including] != nil else { return level }
    level.childLevels =
      try part(fields, .including) { try associations($0, like: known.childLevels, under: known.query.table) } ?? []
    guard level.childLevels.count == known.childLevels.count else { throw unknownAssociation }
    return level
  }

  private func source(ofAssociation document: Document) throws -> SelectQuery.Source {
    let sources = try sources(list: document, nil)
    guard sources.count == 1, case .table = sources[0].kind, sources[0].alias == nil, !sources[0].isSearched else {
      throw failure("an association must have one table without an alias")
    }
    return sources[0]
  }

  /// True if the fields describe a known association's path. A key that a foreign key declares can be left out.
  private func isPath(_ fields: Fields, of known: AssociationLevel, under table: TableInfo) throws -> Bool {
    guard case .object(let members) = try DocumentEncoder().path(known.path).document else { return false }
    let knownFields = Fields(members: members)
    guard [DocumentKey.referringBy, .referredBy, .through].allSatisfy({ fields[$0]?.json == knownFields[$0]?.json })
    else { return false }
    guard let key = fields[.key] else { return true }
    return try known.key(under: table).map { Document.key($0).json == key.json } ?? false
  }

  /// True if the document asks for the same kind of result as the known association: rows, a count or an aggregate.
  private func isForm(_ fields: Fields, of known: AssociationLevel) throws -> Bool {
    guard try flag(fields[.count], .count) == (known.form == .count) else { return false }
    guard case .value(let aggregate) = known.form, known.form != .count else { return fields[.aggregate] == nil }
    return try DocumentEncoder().term(aggregate, known.scope).json == fields[.aggregate]?.json
  }

  /// The error for an unknown association. For an untrusted document, the error is the same as for hidden names.
  private var unknownAssociation: SqlError {
    access == nil
      ? failure("the associations of the document differ from the program's associations") : DocumentAccess.refusal
  }
}

extension AssociationLevel {
  /// Returns the columns that the last step's foreign key references, in the order of the foreign key. Returns nil for
  /// an association through a link table.
  fileprivate func key(under table: TableInfo) throws -> [String]? {
    guard path.linkTable == nil else { return nil }
    let step = try resolvedSteps(under: table)[path.links.count]
    return if case .referring = path.step { step.earlierColumns.map(\.name) } else { step.nextColumns.map(\.name) }
  }

  fileprivate var scope: Scope { get throws { try Scope(sources, outer: nil) } }

  fileprivate var tables: [TableInfo] { sources.map(\.table) + childLevels.flatMap(\.tables) }
}

extension Document {
  /// Returns a key of one column as a name, and a key of several columns as a list of names.
  fileprivate static func key(_ columns: [String]) -> Document {
    columns.count == 1 ? .text(columns[0]) : .list(columns.map { .text($0) })
  }
}
