import SqlableCore
import SqlableSchema

/// The parts of a table's definition that the log's triggers depend on.
struct LoggedTable {
  struct Column {
    let name: String
    /// The SQL of the default that OR REPLACE stores instead of NULL; nil if the column can be NULL or has no default.
    let replacement: String?
    let isGenerated: Bool
    /// The type to which CAST converts a value so that a comparison has the column's affinity; nil for a column without
    /// an affinity.
    let castType: String?
    /// The expression of a generated column. Always nil if all unique indexes of the table consist of ordinary columns,
    /// because the expression is then not needed.
    var expression: String?
    /// The SQL of the declared collation. Always nil if all unique indexes of the table consist of ordinary columns.
    var collation: String?
  }

  /// A term of a unique index: a column, or an expression.
  struct Term {
    let column: String?
    let expression: String
    let collation: String
  }

  struct UniqueIndex {
    var terms: [Term]
    /// The condition of a partial index.
    var condition: String?

    /// True if the columns of the terms alone decide whether two rows conflict.
    var isPlain: Bool { condition == nil && terms.allSatisfy { $0.column != nil } }
  }

  let name: String
  var columns: [Column] = []
  /// The name of the rowid; nil for a table without a rowid.
  var rowid: String?
  /// The terms of the primary key; empty for a table without a primary key, and for a key that is the rowid.
  var rowKey: [Term] = []
  /// The columns of the primary key; empty for a table without a primary key.
  var primaryKey: [String] = []
  private var isWithoutRowid = false
  var uniques: [UniqueIndex] = []
  /// True if a changed key can change other columns of the same row, because the table references itself.
  var updatesItself = false
  /// True if a deleted row can delete other rows of the table, because the table references itself.
  var deletesItself = false
  /// True if a trigger of the program can change rows of the table while a REPLACE is running.
  var hasBeforeTriggers = false

  /// - Parameter table: The name of an ordinary table in `main`.
  init(named table: String, on connection: Connection) throws {
    // Spell the name as the schema does, because the texts of the triggers are compared with the stored texts.
    let spelling = try connection.rows(
      "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name = \(table.quotedText) COLLATE NOCASE")
    let name = spelling.first?.first ?? table
    self.name = name
    let rows = try connection.rows("PRAGMA main.table_xinfo(\(name.quotedName))")
    columns = rows.map { row in
      // `notnull` is 1 for a NOT NULL column; the default is empty for a column without a default.
      Column(
        name: row[1], replacement: row[3] == "1" && !row[4].isEmpty ? row[4] : nil,
        isGenerated: row[6] == "2" || row[6] == "3", castType: TypeAffinity(of: row[2]).castType)
    }
    let keyRows = rows.filter { $0[5] != "0" }.sorted { (Int($0[5]) ?? 0) < (Int($1[5]) ?? 0) }
    primaryKey = keyRows.map { $0[1] }
    rowid = String.rowidName(avoiding: columns.map(\.name))
    for index in try connection.rows("PRAGMA main.index_list(\(name.quotedName))") where index[2] == "1" {
      try add(indexNamed: index[1], isKey: index[3] == "pk", isPartial: index[4] == "1", on: connection)
    }
    if uniques.contains(where: { $0.terms.contains(where: isComputed) }) { try readDefinitions(on: connection) }
    // In a trigger's stored text, the word after `CREATE TRIGGER name` shows its time. BEFORE is the default.
    hasBeforeTriggers = try connection.triggers(of: name).contains { trigger in
      !trigger.isOfLog && !SQLTokenList(trigger.sql).isWord(3, "after")
    }
    for key in try connection.rows("PRAGMA main.foreign_key_list(\(name.quotedName))")
    where key[2].isSameName(as: name) {
      if !["NO ACTION", "RESTRICT"].contains(key[5]) { updatesItself = true }
      if key[6] == "CASCADE" { deletesItself = true }
    }
  }

  private mutating func add(
    indexNamed index: String, isKey: Bool, isPartial: Bool, on connection: Connection
  ) throws {
    let rows = try connection.rows("PRAGMA main.index_xinfo(\(index.quotedName))")
    let text =
      try connection.rows("SELECT sql FROM main.sqlite_schema WHERE name = \(index.quotedText)").first?.first ?? ""
    var parsed: DatabaseSchema.Index?
    if isPartial || rows.contains(where: { $0[1] == "-2" }) {
      var reader = SchemaReader(text)
      parsed = try reader.index().index
    }
    var terms: [Term] = []
    for (position, row) in rows.enumerated() where row[5] == "1" {
      let isExpression = row[1] == "-2"
      let expression = isExpression ? parsed?.terms[position].expression.text ?? "NULL" : row[2].quotedName
      terms.append(Term(column: isExpression ? nil : row[2], expression: expression, collation: row[4]))
    }
    uniques.append(UniqueIndex(terms: terms, condition: parsed?.condition?.text))
    guard isKey else { return }
    rowKey = terms
    // The index of a key ends with the rowid, column -1, unless the table has no rowid.
    if !rows.contains(where: { $0[1] == "-1" }) { (rowid, isWithoutRowid) = (nil, true) }
  }

  /// Reads the expressions and collations of the columns from the table's definition, because no PRAGMA returns them.
  private mutating func readDefinitions(on connection: Connection) throws {
    let text = try connection.rows(
      "SELECT sql FROM main.sqlite_schema WHERE type = 'table' AND name = \(name.quotedText) COLLATE NOCASE")
    var reader = SchemaReader(text.first?.first ?? "")
    let table = try reader.table()
    for (position, column) in columns.enumerated() {
      let definition = table[column: column.name]
      columns[position].expression = definition?.generated?.expression.text
      columns[position].collation = definition?.collation?.text
    }
  }

  /// The name of the rowid if the table has a key other than the rowid; otherwise nil. The log stores this rowid as the
  /// id of a ``RowChange``.
  var hiddenRowid: String? { rowKey.isEmpty ? nil : rowid }

  /// Returns the columns whose values the log keeps. A row without a declared key is identified by its rowid.
  func images(_ kept: KeptColumns) -> [String] {
    let key = primaryKey.isEmpty ? [rowid].compactMap(\.self) : []
    let hidden = [hiddenRowid].compactMap(\.self)
    switch kept {
    case .rows: return key + columns.map(\.name) + hidden
    case .keys: return key + primaryKey + hidden
    case .columns(let chosen):
      let names = primaryKey + chosen
      return key + columns.map(\.name).filter { name in names.contains(where: name.isSameName) } + hidden
    }
  }

  /// The columns of the table that the log does not keep.
  func omitted(_ kept: KeptColumns) -> [String] {
    let images = images(kept)
    return columns.map(\.name).filter { name in !images.contains(where: name.isExactly) }
  }

  /// The names of the columns that identify a row in the log.
  var identity: [String] { primaryKey.isEmpty ? [rowid].compactMap(\.self) : primaryKey }

  var isIdentifiable: Bool { rowid != nil || isWithoutRowid }

  // MARK: Expressions

  private func isComputed(_ term: Term) -> Bool {
    term.column.map { name in columns.contains { $0.isGenerated && $0.name.isExactly(name) } } ?? true
  }

  /// The columns whose names an expression contains.
  func columns(in expression: String) -> [Column] {
    let tokens = SQLTokenList(expression)
    // Skip texts, such as JSON paths, because a text is not a name.
    let names = (0..<tokens.count).filter { tokens.kind($0) != .text }.compactMap(tokens.name)
    return columns.filter { column in names.contains(where: column.name.isSameName) }
  }

  /// The columns on which the value of a term depends, including the columns that generated columns read.
  private func inputs(of term: Term) -> [Column] {
    var inputs = term.column.map { name in columns.filter { $0.name.isExactly(name) } } ?? columns(in: term.expression)
    var next = 0
    while next < inputs.count {
      let more = inputs[next].expression.map(columns(in:)) ?? []
      inputs += more.filter { column in !inputs.contains { $0.name.isExactly(column.name) } }
      next += 1
    }
    return inputs
  }

  /// The ordinary columns from which the generated columns in unique indexes are computed.
  var inputsOfGenerated: [String] {
    uniques.flatMap(\.terms).map(inputs(of:)).filter { $0.contains(where: \.isGenerated) }.joined()
      .filter { !$0.isGenerated }.map(\.name).reduce(into: []) { distinct, name in
        if !distinct.contains(where: name.isExactly) { distinct.append(name) }
      }
  }

  /// Throws `.misuse` if a BEFORE trigger can't know the rows with which a new row conflicts. SQLite assigns an
  /// automatic key, and replaces a NULL by the column's default, only after the BEFORE triggers.
  func checkConflicts() throws {
    func refuse(_ reason: String) throws {
      throw SqlError.misuse("a change log can't record table \(name): \(reason)").at(table: name)
    }
    for term in uniques.flatMap(\.terms) where isComputed(term) {
      let inputs = inputs(of: term)
      if rowKey.isEmpty, let key = primaryKey.first, inputs.contains(where: { $0.name.isExactly(key) }) {
        try refuse("a unique index depends on key \(key), whose value SQLite sets after the log's BEFORE triggers")
      }
      for column in inputs where column.isGenerated {
        let generated = Term(column: column.name, expression: column.name.quotedName, collation: "")
        guard let input = self.inputs(of: generated).first(where: { $0.replacement != nil }) else { continue }
        try refuse(
          "a unique index contains generated column \(column.name), which depends on the default of column "
            + "\(input.name)")
      }
    }
  }
}

extension TypeAffinity {
  /// The type to which CAST converts a value so that a comparison has this affinity. CAST to INTEGER would remove the
  /// fraction of a number.
  fileprivate var castType: String? {
    switch self {
    case .text: "TEXT"
    case .real: "REAL"
    case .integer, .numeric: "NUMERIC"
    case .blob: nil
    }
  }
}
