extension SqliteDatabase {
  /// Creates the model's own full-text table, unless it is there as the model declares it. Gives whether it has.
  func createFullTextTable(_ table: FullTextTable) throws -> Bool {
    let sql = FullTextDefinition(table).createTable()
    guard let current = try schemaText(of: table.name) else {
      try checkHasFullText()
      try execute(SQL(verbatim: sql))
      return true
    }
    guard current.isExactly(sql) else {
      throw mismatch(
        "table \(table.name) is there, but not as the full-text table that the model declares; FTS5 can't change it",
        table)
    }
    return false
  }

  /// Creates the full-text index beside a table and its triggers, or makes them anew where they are not as the model
  /// declares them. Gives whether it has.
  func createFullTextIndex(_ table: FullTextTable, isNewTable: Bool) throws -> Bool {
    let definition = FullTextDefinition(table)
    let (sql, triggers) = (definition.createTable(), definition.triggers())
    let current = try schemaText(of: table.name)
    let areTriggersThere = try triggers.allSatisfy { try schemaText(of: $0.name)?.isExactly($0.sql) == true }
    let isCurrent = current?.isExactly(sql) == true
    if isCurrent, areTriggersThere { return false }
    guard current == nil || isOwnIndex(current, table) else { throw isTaken(table.name, table) }
    try checkHasFullText()
    for trigger in triggers {
      // A program may replace every function, so Swift searches the text.
      let found = try query(
        "SELECT type, sql FROM main.sqlite_schema WHERE name = \(trigger.name) COLLATE NOCASE",
        as: String.self, String?.self)
      guard !found.isEmpty else { continue }
      let isOwn = found.allSatisfy { type, sql in
        type.isExactly("trigger") && sql?.suffix(after: table.quotedName) != nil
      }
      guard isOwn else { throw isTaken(trigger.name, table) }
      try execute(SQL(verbatim: "DROP TRIGGER \(trigger.name.quotedName)"))
    }
    if !isCurrent {
      if current != nil { try execute(SQL(verbatim: "DROP TABLE \(table.quotedName)")) }
      try execute(SQL(verbatim: sql))
    }
    for trigger in triggers { try execute(SQL(verbatim: trigger.sql)) }
    // Without its triggers it may have missed changes, and where its table was dropped it was left behind.
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

  /// Whether a table is a full-text index of the same table, with whatever columns and options.
  private func isOwnIndex(_ sql: String?, _ table: FullTextTable) -> Bool {
    guard let sql, case .external(let content, _) = table.content else { return false }
    return sql.begins(with: "CREATE VIRTUAL TABLE \(table.quotedName) USING fts5(")
      && sql.suffix(after: "content = \(content.quotedText), ") != nil
  }

  private func checkHasFullText() throws {
    guard try openConnection().fullTextAPI != nil else { throw SqlError.withoutFullText }
  }

  private func isTaken(_ name: String, _ table: FullTextTable) -> SqlError {
    mismatch("the full-text index \(table.name) needs the name \(name), which is taken; give it one of its own", table)
  }

  private func mismatch(_ message: String, _ table: FullTextTable) -> SqlError {
    SqlError(.schema(.mismatch(message)), message: message, table: table.name, label: configuration.label)
  }

  // MARK: Upkeep

  /// Makes the full-text index of a model anew from the texts that are stored.
  ///
  /// ```swift
  /// try db.rebuildFullText(Article.self)     // INSERT INTO "article_fulltext" ("article_fulltext") VALUES ('rebuild')
  /// ```
  ///
  /// For an index that another program has not kept in step, and after a tokenizer of one's own has changed its mind.
  /// Throws `.misuse` for a model without full-text search, or without stored texts.
  ///
  /// - Parameter tableName: The table, where it is another one than the model's own.
  public func rebuildFullText(_ model: (some Sqlable).Type, in tableName: String? = nil) throws {
    let table = try fullText(of: model, tableName)
    guard table.content != .none else {
      throw misuse("the full-text table \(table.name) has no texts to be made anew from")
    }
    try run("rebuild", on: table)
  }

  /// Merges the parts of the model's full-text index into one, which makes searching faster and takes its time.
  ///
  /// `INSERT INTO "article_fulltext" ("article_fulltext") VALUES ('optimize')`
  public func optimizeFullText(_ model: (some Sqlable).Type, in tableName: String? = nil) throws {
    try run("optimize", on: try fullText(of: model, tableName))
  }

  /// Whether the model's full-text index is sound and says what the stored texts say.
  ///
  /// `INSERT INTO "article_fulltext" ("article_fulltext", "rank") VALUES ('integrity-check', 1)`
  ///
  /// It reads the whole table, and takes the write lock meanwhile. False asks for ``rebuildFullText(_:in:)``. Without
  /// stored texts only the index itself is looked at.
  public func isFullTextIntact(_ model: (some Sqlable).Type, in tableName: String? = nil) throws -> Bool {
    let table = try fullText(of: model, tableName)
    do {
      try run("integrity-check", on: table, isComparing: table.isExternal)
      return true
    } catch let error as SqlError where error.kind == .corrupt && error.extendedCode == 267 {
      // SQLITE_CORRUPT_VTAB: the index, and not the database file.
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
