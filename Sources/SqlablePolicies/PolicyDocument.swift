// Encoding and decoding of policies. Docs/Policies.md describes the format.

import FoundationEssentials
import SqlableCore
import SqlableDocuments

extension StatementPolicy {
  /// Decodes a policy from JSON for the tables of these models.
  ///
  /// ```swift
  /// let policy = try StatementPolicy(json: data, models: [Bicycle.self], with: ["tenant": .integer(7)])
  /// // {"policy":{"tables":{"bicycle":{"read":true,"rows":{"=":[{"column":"owner_id"},{"parameter":"tenant"}]}}}},
  /// //   "sqlable":1}
  /// ```
  ///
  /// Anything that the document does not mention is not allowed. Missing limits have their default values. The
  /// parameters in the tables' conditions are replaced by the given values. Throws `.invalidStatement` with the
  /// position in the document if the document is not a policy. The same error is thrown for a table of another model,
  /// and for a parameter without a value. Throws `.schema` for a column that the model does not have. Throws
  /// `.encoding` for a value that does not match the compared column.
  public init(
    json: some ContiguousBytes, models: [any Sqlable.Type], with parameters: [String: DatabaseValue] = [:]
  ) throws {
    let decoder = try DocumentDecoder(StatementRules(models: models).modelTables(), StatementRules())
    let values = try parameters.mapValues { try $0.checked() }
    self = try decoder.locatingErrors {
      try PolicyReader(decoder: decoder, parameters: values).policy(JSONReader.read(json))
    }
  }

  /// Returns the policy as JSON, which ``init(json:models:with:)`` can decode.
  ///
  /// The JSON is canonical (RFC 8785). Throws the error of an invalid table or condition.
  public func json() throws -> Data { Data(try document.json) }
}

private enum PolicyKey: String {
  case policy, sqlable
  case tables, kinds, features, functions, registered, limits
  case read, filter, sort, set, rows
}

// MARK: - Reading

private struct PolicyReader {
  let decoder: DocumentDecoder
  let parameters: [String: DatabaseValue]

  func policy(_ document: Document) throws -> StatementPolicy {
    var policy = StatementPolicy()
    var isPolicy = false
    try each(document, [.policy, .sqlable], "a policy") { key, value in
      if key == .sqlable {
        guard case .integer(let version) = value, (1...Document.version).contains(version) else {
          throw decoder.failure(
            "the policy has an unknown version; this library reads versions 1 to \(Document.version)")
        }
      } else {
        policy = try body(value)
        isPolicy = true
      }
    }
    guard isPolicy, case .object(let members) = document, members.count == 2 else {
      throw decoder.failure(#"a policy must be an object with the keys "policy" and "sqlable""#)
    }
    return policy
  }

  private func body(_ document: Document) throws -> StatementPolicy {
    var tables: [TablePolicy] = []
    var settings = StatementPolicy()
    try each(document, [.tables, .kinds, .features, .functions, .registered, .limits], "a policy") { key, value in
      switch key {
      case .tables: tables = try self.tables(value)
      case .kinds: settings.kinds = try named(value, "the kinds", StatementKind.allCases)
      case .features: settings.features = try named(value, "the features", StatementPolicy.Feature.allCases)
      case .functions:
        let all = SqlExpression.Call.BuiltIn.allCases.map(\.rawValue) + ["countRows"]
        settings.functions = try named(value, "the functions", all)
      case .registered: settings.registered = Set(try texts(value, "the registered functions and collations"))
      default: settings.limits = try limits(value)
      }
    }
    return StatementPolicy(settings, tables: tables)
  }

  private func limits(_ document: Document) throws -> StatementPolicy.Limits {
    guard case .object(let members) = document else { throw decoder.failure("the limits must be an object") }
    var limits = StatementPolicy.Limits()
    for member in members {
      decoder.enter(member.key)
      guard let limit = NamedLimit.all.first(where: { $0.name.isExactly(member.key) }) else {
        throw decoder.failure("unknown limit")
      }
      if let remove = limit.remove, case .text(NamedLimit.none) = member.value {
        remove(&limits)
      } else {
        limit.set(&limits, try decoder.count(member.value, "a limit"))
      }
      decoder.leave()
    }
    return limits
  }

  // MARK: Tables

  private func tables(_ document: Document) throws -> [TablePolicy] {
    guard case .object(let members) = document else { throw decoder.failure("the tables must be an object") }
    return try members.map { member in
      decoder.enter(member.key)
      let rules = try table(try decoder.model(member.key), member.value)
      decoder.leave()
      return rules
    }
  }

  private func table(_ table: TableInfo, _ document: Document) throws -> TablePolicy {
    var rules = TablePolicy(table: table)
    try each(document, [.read, .filter, .sort, .set, .rows], "a table of a policy") { key, value in
      switch key {
      case .read:
        if case .bool(true) = value {
          rules.readable = Set(table.columns.indices)
        } else {
          rules.readable = Set(try columns(value, of: table))
        }
      case .filter: rules.filterable = try filters(value, of: table)
      case .sort: rules.sortable = Set(try columns(value, of: table))
      case .set: rules.settable = Set(try columns(value, of: table))
      default: rules.condition = try decoder.term(filled(value), Scope(table))
      }
    }
    return rules
  }

  private func filters(_ document: Document, of table: TableInfo) throws -> [Int: Set<FilterOperation>] {
    guard case .object(let members) = document else {
      throw decoder.failure("the value of filter must be an object with a list of operators for each column")
    }
    var filters: [Int: Set<FilterOperation>] = [:]
    for member in members {
      decoder.enter(member.key)
      filters[try position(member.key, of: table)] = try named(
        member.value, "the operators", FilterOperation.allCases)
      decoder.leave()
    }
    return filters
  }

  private func columns(_ document: Document, of table: TableInfo) throws -> [Int] {
    try decoder.each(decoder.list(document, "the columns")) {
      try position(decoder.text($0, "the name of a column"), of: table)
    }
  }

  private func position(_ name: String, of table: TableInfo) throws -> Int {
    guard let position = table.position(of: try decoder.column(name, of: table).definition) else {
      throw decoder.failure("the table has no such column")
    }
    return position
  }

  /// Returns a condition in which each parameter is replaced by its value. Throws for a parameter without a value.
  private func filled(_ document: Document) throws -> Document {
    switch document {
    case .list(let parts): return .list(try parts.map(filled))
    case .object(let members):
      guard members.count == 1, members[0].key == "parameter", case .text(let name) = members[0].value else {
        return .object(try members.map { Document.Member(key: $0.key, value: try filled($0.value)) })
      }
      guard let value = parameters.first(where: { $0.key.isExactly(name) })?.value else {
        throw decoder.failure("parameter \(name) of the policy has no value")
      }
      return DocumentEncoder().value(value)
    default: return document
    }
  }

  // MARK: Parts

  /// Calls `body` for each member of an object. During the call, the decoder's path ends with the member's key.
  @inline(never)
  private func each(
    _ document: Document, _ keys: Set<PolicyKey>, _ what: String, _ body: (PolicyKey, Document) throws -> Void
  ) throws {
    guard case .object(let members) = document else { throw decoder.failure("\(what) must be an object") }
    for member in members {
      decoder.enter(member.key)
      guard let key = PolicyKey(rawValue: member.key), keys.contains(key) else {
        throw decoder.failure("\(what) has an unknown key")
      }
      try body(key, member.value)
      decoder.leave()
    }
  }

  private func texts(_ document: Document, _ what: String) throws -> [String] {
    try decoder.each(decoder.list(document, what)) { try decoder.text($0, "a name") }
  }

  private func named<Value: Hashable>(_ document: Document, _ what: String, _ known: [Value]) throws -> Set<Value> {
    Set(
      try decoder.each(decoder.list(document, what)) { document in
        let name = try decoder.text(document, "a name")
        guard let value = known.first(where: { name.isExactly("\($0)") }) else {
          // The list of SQLite's functions is too long for a message.
          let names = known.count > 20 ? "" : "; known names: \(known.map { "\($0)" }.sorted().joined(separator: ", "))"
          throw decoder.failure("unknown name in \(what)\(names)")
        }
        return value
      })
  }
}

extension StatementPolicy {
  fileprivate init(_ settings: StatementPolicy, tables: [TablePolicy]) {
    self.tables = tables
    index = PolicyIndex(tables)
    (kinds, features, functions) = (settings.kinds, settings.features, settings.functions)
    (registered, limits) = (settings.registered, settings.limits)
  }
}

// MARK: - Writing

extension StatementPolicy {
  private var document: Document {
    get throws {
      var members: [Document.Member] = []
      func add(_ key: PolicyKey, _ value: Document) { members.append(.init(key: key.rawValue, value: value)) }
      let all = try tables.map { Document.Member(key: $0.table.name, value: try $0.document) }
      if let defect = index.defect { throw defect }
      if !all.isEmpty { add(.tables, .object(all)) }
      if kinds != StatementKind.reads { add(.kinds, .names(kinds)) }
      if !features.isEmpty { add(.features, .names(features)) }
      if !functions.isEmpty { add(.functions, .names(functions)) }
      if !registered.isEmpty { add(.registered, .names(registered)) }
      let limitMembers = try NamedLimit.all.compactMap { limit -> Document.Member? in
        let value = try limit.get(limits)
        guard try value != limit.get(Limits()) else { return nil }
        return .init(key: limit.name, value: value.map { .integer(Int64($0)) } ?? .text(NamedLimit.none))
      }
      if !limitMembers.isEmpty { add(.limits, .object(limitMembers)) }
      return ["policy": .object(members), "sqlable": .integer(Document.version)]
    }
  }
}

extension TablePolicy {
  fileprivate var document: Document {
    get throws {
      if let defect = defect ?? table.defect { throw defect }
      var members: [Document.Member] = []
      func add(_ key: PolicyKey, _ positions: Set<Int>) {
        guard !positions.isEmpty else { return }
        let names = Document.names(positions.map { table.columns[$0].name })
        members.append(.init(key: key.rawValue, value: names))
      }
      if readable.count == table.count {
        members.append(.init(key: PolicyKey.read.rawValue, value: .bool(true)))
      } else {
        add(.read, readable)
      }
      let filters = filterable.map { Document.Member(key: table.columns[$0.key].name, value: .names($0.value)) }
      if !filters.isEmpty { members.append(.init(key: PolicyKey.filter.rawValue, value: .object(filters))) }
      add(.sort, sortable)
      add(.set, settable)
      if let condition {
        let term = try DocumentEncoder().term(condition, Scope(table))
        members.append(.init(key: PolicyKey.rows.rawValue, value: term))
      }
      return .object(members)
    }
  }
}

extension Document {
  /// Returns the names of values. The names are sorted by bytes, so that the order never changes.
  fileprivate static func names(_ values: some Collection) -> Document {
    .list(values.map { "\($0)" }.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }.map(Document.text))
  }
}
