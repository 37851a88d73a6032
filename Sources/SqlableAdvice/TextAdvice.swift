import SqlableCore
import SqlableQueries
import SqlableSchema

extension SqliteDatabase {
  /// Returns `CREATE INDEX` statements that avoid full table scans of the SQL text.
  func advice(forText sql: String) throws -> [String] {
    try withoutTracing {
      let copy = try SchemaCopy(of: openConnection(), functions: functions)
      let statement = StatementWithValues(sql: sql, parameters: ParameterBuffer())
      let plan = try copy.connection.plan(of: statement)
      guard !plan.scans.isEmpty else { return [] }
      let indexes = try copy.candidates(for: sql)
      let (better, used) = try copy.plan(of: statement, with: indexes)
      guard better.scans.count < plan.scans.count else { return [] }
      return indexes.filter { used.contains($0.name) }.map(\.sql)
    }
  }
}

extension SchemaCopy {
  private static var maximumCandidates: Int { 32 }

  /// Returns candidate indexes on the columns that an SQL text uses in comparisons, GROUP BY or ORDER BY. The columns
  /// are guessed from the tokens. A wrong guess does no harm, because SQLite's planner does not use such an index.
  fileprivate func candidates(for sql: String) throws -> [(name: String, sql: String)] {
    let words = DetachedSQLToken.words(of: sql)
    let names = Set(words.filter(\.isName).map(\.text.foldedName))
    var tables: [String] = []
    for row in try connection.rows("SELECT name FROM main.sqlite_schema WHERE type = 'table'") {
      if names.contains(row[0].foldedName) { tables.append(row[0]) }
    }
    var indexes: [(name: String, sql: String)] = []
    for table in tables {
      var (columns, key): ([String], [String]) = ([], [])
      for row in try connection.rows("PRAGMA main.table_info(\(table.quotedName))") {
        columns.append(row[1])
        if row[5] != "0" { key.append(row[1]) }
      }
      for list in WordUses(words, columns, of: table).uses.lists {
        // Propose no index that starts with the key: SQLite finds rows by their key without an additional index.
        guard key.isEmpty || !list.map(\.name).starts(with: key) else { continue }
        let name = Index(columns: list).automaticName(inTable: table)
        guard !indexes.contains(where: { $0.name.isSameName(as: name) }) else { continue }
        let terms = list.map { $0.name.quotedName + ($0.isDescending ? " DESC" : "") }
        indexes.append(
          (name, "CREATE INDEX \(name.quotedName) ON \(table.quotedName) (\(terms.joined(separator: ", ")))"))
      }
    }
    return Array(indexes.prefix(SchemaCopy.maximumCandidates))
  }
}

/// The uses of a table's columns in a text, derived from the tokens of the text.
private struct WordUses {
  private(set) var uses = IndexCandidates.Uses()

  init(_ words: [DetachedSQLToken], _ columns: [String], of table: String) {
    let names = WordUses.names(of: table, in: words)
    let columns = Dictionary(columns.map { ($0.foldedName, $0) }) { first, _ in first }
    var list: WritableKeyPath<IndexCandidates.Uses, [IndexColumn]>?
    for (index, word) in words.enumerated() {
      if word.isKeyword("BY") {
        list = index > 0 && words[index - 1].isKeyword("GROUP") ? \.groups : \.order
      } else if ["LIMIT", "HAVING", "WHERE", "FROM", "SELECT", "UNION"].contains(word.keyword) || word.isSymbol(")") {
        list = nil
      }
      guard word.isName, let name = columns[word.text.foldedName] else { continue }
      let isQualified = index >= 2 && words[index - 1].isSymbol(".")
      guard !isQualified || names.contains(words[index - 2].text.foldedName) else { continue }
      let next = index + 1 < words.count ? words[index + 1] : nil
      if let list {
        let isDescending = list == \.order && next?.isKeyword("DESC") == true
        add(IndexColumn(name: name, isDescending: isDescending), to: list)
      } else if let use = WordUses.use(next, after: true) ?? WordUses.use(before(index, words), after: false) {
        add(IndexColumn(name: name, isDescending: false), to: use)
      }
    }
  }

  private static func names(of table: String, in words: [DetachedSQLToken]) -> Set<[UInt8]> {
    var names: Set<[UInt8]> = [table.foldedName]
    for (index, word) in words.enumerated() where word.isName && word.text.isSameName(as: table) {
      let next = words[(index + 1)...].first { !$0.isKeyword("AS") }
      if let next, next.isName { names.insert(next.text.foldedName) }
    }
    return names
  }

  private mutating func add(_ column: IndexColumn, to list: WritableKeyPath<IndexCandidates.Uses, [IndexColumn]>) {
    if !uses[keyPath: list].contains(column) { uses[keyPath: list].append(column) }
  }

  /// Returns the token before a column and its qualifier; nil at the start of the text.
  private func before(_ index: Int, _ words: [DetachedSQLToken]) -> DetachedSQLToken? {
    let start = index >= 2 && words[index - 1].isSymbol(".") ? index - 2 : index
    return start > 0 ? words[start - 1] : nil
  }

  private static func use(
    _ word: DetachedSQLToken?, after: Bool
  ) -> WritableKeyPath<IndexCandidates.Uses, [IndexColumn]>? {
    guard let word else { return nil }
    switch word.text {
    case "=", "==": return \.equal
    case "<", "<=", ">", ">=": return \.compared
    default: break
    }
    guard after else { return nil }
    switch word.keyword {
    case "IS", "IN": return \.equal
    case "BETWEEN", "LIKE", "GLOB": return \.compared
    default: return nil
    }
  }
}
