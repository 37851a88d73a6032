// The second check of statements: SQLite's authorizer limits the tables, columns and functions that a statement uses.

import SqlableCore
import SqlableDocuments

extension StatementPolicy {
  func authorizerRules(for work: some Runnable) -> AuthorizerRules {
    var rules = AuthorizerRules(rights: index.rights(of: self))
    rules.allowsChanges = !work.isReadOnly && !kinds.isSubset(of: StatementKind.reads)
    // Ignore the error of invalid work: running the work throws this error.
    let statements = (try? (work as? any StatementTrees)?.statements()) ?? []
    // A limit per parent row uses row_number().
    if statements.count > 1 { rules.functions.insert("row_number".foldedName) }
    guard statements.count > 1 || features.contains(.namedQueries) else { return rules }
    for case .select(let query) in statements.map(\.tree) { rules.queries.formUnion(query.namesOfQueries) }
    return rules
  }

  /// The tables, columns and functions that SQLite can use for the policy's statements.
  fileprivate var rights: AccessRights {
    var names = AccessRights.Names()
    names.functions = Set((StatementPolicy.syntaxFunctions + Array(functions) + Array(registered)).map(\.foldedName))
    for function in SqlExpression.Call.BuiltIn.allCases where access.allows(function: function.rawValue) {
      names.functions.insert(function.name.foldedName)
    }
    if features.contains(.regularExpressions) { names.functions.insert("regexp".foldedName) }
    if features.contains(.excerpts) { names.functions.formUnion(["snippet", "highlight"].map(\.foldedName)) }
    names.tables = [ValueListModule.name.foldedName]
    if features.contains(.json) { names.tables.formUnion(["json_each", "json_tree"].map(\.foldedName)) }
    for rules in tables { names.add(rules, features) }
    return AccessRights(names)
  }

  /// The functions that implement SQL syntax, dates, JSON and full-text search.
  private static let syntaxFunctions = [
    "like", "glob", "match", "count", "->", "->>", "json", "strftime", "date", "julianday", "round", "bm25",
  ]
}

extension SelectQuery {
  /// The folded names of the queries that are used as tables.
  fileprivate var namesOfQueries: Set<[UInt8]> {
    var names: Set<[UInt8]> = []
    visit(
      { _ in },
      { source in
        guard source.kind != .table else { return }
        names.insert(source.name.foldedName)
        // For a named query, SQLite reports the name in the definition, even if the query has an alias.
        if let name = source.definedName { names.insert(name.foldedName) }
      })
    return names
  }
}

extension PolicyIndex {
  /// Returns a policy's rights. The rights are cached, because a policy rarely changes between statements.
  fileprivate func rights(of policy: StatementPolicy) -> AccessRights {
    let source = RightsSource(features: policy.features, functions: policy.functions, registered: policy.registered)
    return knownRights.withLock { known in
      if let known, known.source == source { return known.rights }
      let rights = policy.rights
      known = (source, rights)
      return rights
    }
  }
}

extension AccessRights.Names {
  /// Allows every word of an SQL text in a condition of the policy, because each word can be the name of a function, a
  /// table or a column.
  private mutating func add(_ fragment: SqlExpression.Fragment, readFrom table: [UInt8]) {
    let words = fragment.words([]) { _ in [] }.map(\.foldedName)
    functions.formUnion(words)
    tables.formUnion(words)
    columns[table, default: []].formUnion(words)
  }

  fileprivate mutating func add(_ rules: TablePolicy, _ features: Set<StatementPolicy.Feature>) {
    let table = rules.table
    let name = table.name.foldedName
    let known = table.columns.indices.filter { rules.knows($0) || table.key.contains($0) }
    columns[name, default: []].formUnion(known.map { table.columns[$0].name.foldedName })
    if features.contains(.fullText), let index = table.fullText {
      // A model can itself be a full-text table. Otherwise the index is a separate table. Both have shadow tables.
      if index.name.isSameName(as: table.name) {
        columns[name, default: []].formUnion([index.name, "rank", "rowid"].map(\.foldedName))
      } else {
        tables.insert(index.name.foldedName)
      }
      tables.formUnion(ShadowTables.names(of: index.name, module: "fts5".foldedName))
    }
    rules.condition?.visit(
      { term in
        switch term.node {
        case .column(let reference), .qualified(_, let reference):
          columns[name, default: []].insert(reference.name.foldedName)
        case .call(let call):
          switch call.function {
          case .builtIn(let function): functions.insert(function.name.foldedName)
          case .named(let name): functions.insert(name.foldedName)
          case .countRows: break
          }
        case .special(let special): if case .fragment(let fragment) = special.form { add(fragment, readFrom: name) }
        default: break
        }
      },
      { source in
        if source.kind == .table {
          tables.insert(source.table.name.foldedName)
        } else {
          queries.insert(source.name.foldedName)
        }
      })
  }
}
