import SqlableCore

extension SqliteDatabase {
  /// Creates the model's own full-text table, unless the table exists as declared. Returns true if the table was
  /// created.
  package func createFullTextTable(_ table: FullTextTable) throws -> Bool {
    let sql = FullTextDefinition(table).createTable()
    guard let current = try schemaText(of: table.name) else {
      try checkHasFullText()
      try execute(SQL(verbatim: sql))
      return true
    }
    guard current.isExactly(sql) else {
      throw mismatch(
        "full-text table \(table.name) differs from the model, and FTS5 can't change an existing table; "
          + "replace the table in a migration",
        table)
    }
    return false
  }

  /// Creates a table's full-text index and triggers, or recreates the parts that differ. Returns true if anything
  /// changed.
  package func createFullTextIndex(_ table: FullTextTable, isNewTable: Bool) throws -> Bool {
    let definition = FullTextDefinition(table)
    let (sql, triggers) = (definition.createTable(), definition.triggers())
    let current = try schemaText(of: table.name)
    let areTriggersThere = try triggers.allSatisfy { try schemaText(of: $0.name)?.isExactly($0.sql) == true }
    let isCurrent = current?.isExactly(sql) == true
    if isCurrent, areTriggersThere { return false }
    guard current == nil || isOwnIndex(current, table) else { throw nameTaken(table.name, table) }
    try checkHasFullText()
    for trigger in triggers {
      // Compare the text in Swift, because a program can replace any SQL function.
      let existing = try query(
        "SELECT type, sql FROM main.sqlite_schema WHERE name = \(trigger.name) COLLATE NOCASE",
        as: String.self, String?.self)
      guard !existing.isEmpty else { continue }
      let isOwnTrigger = existing.allSatisfy { type, sql in
        type.isExactly("trigger") && sql?.suffix(after: table.quotedName) != nil
      }
      guard isOwnTrigger else { throw nameTaken(trigger.name, table) }
      try execute(SQL(verbatim: "DROP TRIGGER \(trigger.name.quotedName)"))
    }
    if !isCurrent {
      if current != nil { try execute(SQL(verbatim: "DROP TABLE \(table.quotedName)")) }
      try execute(SQL(verbatim: sql))
    }
    for trigger in triggers { try execute(SQL(verbatim: trigger.sql)) }
    // An index without its triggers might have missed changes, or be left over from a dropped table. So the index is
    // rebuilt.
    if !isNewTable || current != nil { try run("rebuild", on: table) }
    return true
  }

  private func schemaText(of name: String) throws -> String? {
    try query(
      """
      SELECT CASE WHEN sql IS NULL THEN '' ELSE sql END FROM main.sqlite_schema
      WHERE name = \(name) COLLATE NOCASE
      """, as: String.self
    ).first
  }

  /// True if the SQL creates a full-text index of the same table, regardless of columns and options.
  private func isOwnIndex(_ sql: String?, _ table: FullTextTable) -> Bool {
    guard let sql, case .external(let content, _) = table.content else { return false }
    return sql.begins(with: "CREATE VIRTUAL TABLE \(table.quotedName) USING fts5(")
      && sql.suffix(after: "content = \(content.quotedText), ") != nil
  }

  private func checkHasFullText() throws {
    guard try openConnection().fullTextAPI != nil else { throw SqlError.withoutFullText }
  }

  private func nameTaken(_ name: String, _ table: FullTextTable) -> SqlError {
    mismatch("full-text index \(table.name) needs the name \(name), which is taken; give the index another name", table)
  }

  private func mismatch(_ message: String, _ table: FullTextTable) -> SqlError {
    SqlError(.schema(.mismatch(message)), message: message, table: table.name, label: configuration.label)
  }

  // MARK: Maintenance

  /// Rebuilds the full-text index of a model from the stored text.
  ///
  /// ```swift
  /// try db.rebuildFullText(Article.self)     // INSERT INTO "article_fulltext" ("article_fulltext") VALUES ('rebuild')
  /// ```
  ///
  /// Call this method if another program has not updated the index, or after you change a custom tokenizer. Throws
  /// `.misuse` for a model without full-text search or without stored text. `tableName` names a table other than the
  /// model's own.
  public func rebuildFullText(_ model: (some Sqlable).Type, in tableName: String? = nil) throws {
    let table = try fullText(of: model, tableName)
    guard table.content != .none else {
      throw misuse("can't rebuild full-text table \(table.name), which stores no text; insert the rows again")
    }
    try run("rebuild", on: table)
  }

  /// Merges the segments of the model's full-text index into one segment. Merging is slow, but makes searches faster.
  ///
  /// `INSERT INTO "article_fulltext" ("article_fulltext") VALUES ('optimize')`
  public func optimizeFullText(_ model: (some Sqlable).Type, in tableName: String? = nil) throws {
    try run("optimize", on: try fullText(of: model, tableName))
  }

  /// Returns true if the model's full-text index is intact and consistent with the stored text.
  ///
  /// `INSERT INTO "article_fulltext" ("article_fulltext", "rank") VALUES ('integrity-check', 1)`
  ///
  /// The check reads the whole table while holding the write lock. If the method returns false, call
  /// ``rebuildFullText(_:in:)``. Without stored text, the method checks only the index itself.
  public func isFullTextIntact(_ model: (some Sqlable).Type, in tableName: String? = nil) throws -> Bool {
    let table = try fullText(of: model, tableName)
    do {
      try run("integrity-check", on: table, isComparing: table.isExternal)
      return true
    } catch let error as SqlError where error.kind == .corrupt && error.extendedCode == 267 {
      // SQLITE_CORRUPT_VTAB: the index is corrupt, not the database file.
      return false
    }
  }

  private func fullText(of model: (some Sqlable).Type, _ tableName: String?) throws -> FullTextTable {
    let table = try TableInfo.of(model, named: tableName ?? TableInfo.of(model).name)
    guard let fullText = table.fullText else {
      throw misuse("the model of table \(table.name) has no full-text search").at(table: table.name)
    }
    return fullText
  }

  private func run(_ command: String, on table: FullTextTable, isComparing: Bool = false) throws {
    let (name, rank) = (table.quotedName, isComparing ? ", \"rank\"" : "")
    let value = isComparing ? ", 1" : ""
    try execute(SQL(verbatim: "INSERT INTO main.\(name) (\(name)\(rank)) VALUES ('\(command)'\(value))"))
  }
}
