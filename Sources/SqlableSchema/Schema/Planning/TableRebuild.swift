import SqlableCore

/// A step that copies a table's rows into a new table, as SQLite's documentation prescribes.
struct TableRebuild {
  let change: TableChange
  let changes: [SchemaPlan.Change]

  private var table: TableInfo { change.table }
  private var existing: DatabaseSchema.Table { change.existing }
  private var connection: Connection { change.planner.connection }

  /// The name of the new table until the old table is dropped.
  static func temporaryName(of table: String) -> String { "sqlable_new_\(table)" }

  func step() throws -> SchemaPlan.Step {
    let rows = try change.rowCount
    let (old, new) = (table.name.quotedName, TableRebuild.temporaryName(of: table.name).quotedName)
    let keptColumns = change.keptColumns
    let create = try TableDefinition(table).createTable(
      for: connection, named: TableRebuild.temporaryName(of: table.name),
      with: (keptColumns.map(\.sql), change.keptConstraints), defaults: change.foreignDefaults)
    let copied = try copied(rows: rows)
    var statements: [SchemaPlan.Statement] = [.init(create)]
    if !copied.isEmpty {
      let names = copied.map(\.column).joined(separator: ", ")
      let terms = copied.map(\.term).joined(separator: ", ")
      // OR ABORT overrides the constraints' conflict clauses, which would skip, replace or change conflicting rows.
      var copy = SchemaPlan.Statement(
        "INSERT OR ABORT INTO \(new) (\(names)) SELECT \(terms) FROM \(old)", copied.compactMap(\.value))
      if change.rowid != "NULL" { copy.copy = .init(table: old, rowid: change.rowid) }
      statements.append(copy)
    }
    if change.model.primaryKey?.isAutoincrement == true, existing.primaryKey?.isAutoincrement == true {
      // Use the exact spellings, because SQLite compares the names in sqlite_sequence as texts, including case.
      let (oldText, newText) = (existing.name.quotedText, TableRebuild.temporaryName(of: table.name).quotedText)
      statements.append(.init("DELETE FROM sqlite_sequence WHERE name = \(newText)"))
      statements.append(
        .init(
          "INSERT INTO sqlite_sequence (name, seq) SELECT \(newText), seq FROM sqlite_sequence WHERE name = \(oldText)")
      )
    }
    statements.append(.init("DROP TABLE \(old)"))
    statements.append(.init("ALTER TABLE \(new) RENAME TO \(old)"))
    statements += try indexes().map { .init($0) }
    statements += existing.triggers.map { .init($0.sql.text) }
    return SchemaPlan.Step(
      table.name, changes, statements, losesData: losesData, rebuilds: true, rows: rows, diagnoses: diagnoses())
  }

  /// True if the step drops a column, or drops a column's values because the column becomes a generated column.
  private var losesData: Bool {
    changes.contains { change in
      change.kind == .dropColumn || change.kind == .changeGenerated && self.change.isComputedNow(change.name ?? "")
    }
  }

  /// Returns each column to fill, with the term for its new values, and the value bound in this term, if any.
  private func copied(rows: Int) throws -> [(column: String, term: String, value: DatabaseValue?)] {
    var copied: [(column: String, term: String, value: DatabaseValue?)] = []
    if !table.keyIsRowid, change.rowid != "NULL", newRowid != "NULL" { copied.append((newRowid, change.rowid, nil)) }
    for column in table.columns where column.definition.options.generated == nil {
      let name = column.name.quotedName
      let filling = try change.filling(of: column)
      if let old = existing[column: column.name] {
        let isFilled = filling != nil && !old.isNotNull
        copied.append(
          (name, isFilled ? "coalesce(\(old.name.quotedName), ?)" : old.name.quotedName, isFilled ? filling : nil))
      } else if let filling {
        copied.append((name, "?", filling))
      } else if !column.type.isNullable, column.definition.options.defaultValue == nil, rows > 0,
        !(table.keyIsRowid && column.name.isExactly(table.columns[table.key[0]].name))
      {
        let old = change.formerNames(of: column).joined(separator: " or ")
        throw SchemaPlanner.mismatch(
          "column \(table.name).\(column.name) needs a value for existing rows: it can't be NULL and has no default; "
            + "use filling: [\"\(table.name).\(column.name)\": …]"
            + (old.isEmpty ? "" : ", or `renamed:` if the column is the new name of \(old)"),
          table.name, column.name)
      }
    }
    for column in change.keptColumns where column.generated == nil {
      copied.append((column.name.quotedName, column.name.quotedName, nil))
    }
    return copied
  }

  /// Returns the indexes of the model, and the undeclared indexes that the rebuilt table keeps.
  private func indexes() throws -> [String] {
    let declaredIndexes = try table.indexes.map { try TableDefinition(table).create($0, for: connection) }
    let names = table.indexes.map { $0.name(in: table) } + change.formerIndexes.map(\.old)
    let columns = table.columns.map(\.name) + change.keptColumns.map(\.name)
    let keptIndexes = existing.indexes.filter { index in
      if names.contains(where: index.name.isSameName) { return false }
      if change.planner.answers.dropping.contains(.indexes) { return false }
      // An index that mentions a dropped column is dropped too.
      return existing.columns.allSatisfy { column in
        columns.contains(where: column.name.isSameName) || !index.mentions(column.name)
      }
    }
    return declaredIndexes + keptIndexes.map(\.sql)
  }

  private var newRowid: String {
    if table.isWithoutRowid { return "NULL" }
    return String.rowidName(avoiding: table.columns.map(\.name) + change.keptColumns.map(\.name)) ?? "NULL"
  }

  private func diagnoses() -> [SchemaPlan.Diagnosis] {
    let (old, rowid) = (table.name.quotedName, change.rowid)
    var diagnoses: [SchemaPlan.Diagnosis] = []
    for difference in change.differences {
      if difference.kind == .notNull, let column = difference.column, change.model[column: column]?.isNotNull == true {
        diagnoses.append(
          .init(
            column: column, fault: "have no value",
            sql: "SELECT \(rowid) FROM \(old) WHERE \(column.quotedName) IS NULL LIMIT 10"))
      }
      if difference.kind == .check, difference.isMissing, let check = difference.expected {
        let condition = check.dropFirst("CHECK ".count)
        diagnoses.append(
          .init(
            column: nil, fault: "violate \(check)", sql: "SELECT \(rowid) FROM \(old) WHERE NOT \(condition) LIMIT 10"))
      }
      if difference.kind == .type,
        let column = table.columns.first(where: { $0.name.isSameName(as: difference.column ?? "") })
      {
        let classes = (column.type.storedClasses + ["null"]).map { "'\($0)'" }.joined(separator: ", ")
        diagnoses.append(
          .init(
            column: column.name,
            fault: "have values that are not \(change.model[column: column.name]?.type.text ?? "")",
            sql:
              "SELECT \(newRowid) FROM \(old) WHERE typeof(\(column.name.quotedName)) NOT IN (\(classes)) LIMIT 10",
            time: .after))
        if let condition = column.type.unreadable(column.name.quotedName) {
          diagnoses.append(
            .init(
              column: column.name, fault: "have values that can't be read as \(column.type.name)",
              sql: "SELECT \(rowid) FROM \(old) WHERE \(condition) LIMIT 10", time: .before))
        }
        if column.type.countsUnits, existing[column: column.name]?.type.isInteger != true {
          diagnoses.append(
            .init(
              column: column.name, fault: "have values that a migration must convert to \(column.type.name)",
              sql: "SELECT \(rowid) FROM \(old) WHERE \(column.name.quotedName) IS NOT NULL LIMIT 10", time: .before))
        } else if let condition = column.type.loss(of: column.name.quotedName) {
          diagnoses.append(
            .init(
              column: column.name, fault: "have values that \(column.type.sqlName) can't hold exactly",
              sql: "SELECT \(rowid) FROM \(old) WHERE \(condition) LIMIT 10", time: .before))
        }
      }
    }
    if table.keyIsRowid, !existing.keyIsRowid, let key = existing[column: table.columns[table.key[0]].name] {
      // Find rows with NULL, because in an integer key SQLite would replace NULL by a new id.
      diagnoses.append(
        .init(
          column: key.name, fault: "have no value",
          sql: "SELECT \(rowid) FROM \(old) WHERE \(key.name.quotedName) IS NULL LIMIT 10", time: .before))
    }
    let keys =
      change.differences.contains { $0.kind == .primaryKey } ? change.model.primaryKey.map { [$0.columns] } ?? [] : []
    for terms in keys + change.model.uniques.map(\.columns) {
      let columns = terms.compactMap { term in existing.columns.first { term.expression.isName($0.name) }?.name }
      if columns.count == terms.count { diagnoses.append(change.duplicates(columns)) }
    }
    return diagnoses + change.model.indexes.compactMap(change.duplicates)
  }
}

extension ColumnType {
  /// The storage classes in which a column of the type stores values, as SQLite names them.
  fileprivate var storedClasses: [String] {
    switch storageClass {
    case .integer: ["integer"]
    case .real: ["real", "integer"]
    case .text: ["text"]
    case .blob: ["blob"]
    case .null: []
    }
  }

  /// True if the column stores a whole number of smaller units: 1234 for the decimal 12.34, or milliseconds for a date.
  fileprivate var countsUnits: Bool { scale ?? 0 > 0 || base == .date(.unixMilliseconds) }

  /// Returns a condition that selects the values that are not dates in ISO 8601. The condition also selects a few dates
  /// that the library can read, such as a date with the zone +20:00.
  private func unreadableDate(_ column: String, assumingUTC: Bool) -> String {
    let (two, length) = ("[0-9][0-9]", "length(\(column))")
    let (day, hour, minute) = ("\(two)\(two)-\(two)-\(two)", "[01][0-9]", "[0-5][0-9]")
    // The time begins at the twelfth character.
    let zones = [("Z", 1), ("[+-]\(hour):\(minute)", 6), ("[+-]\(hour)\(minute)", 5), ("[+-]\(hour)", 3)]
      .map { "WHEN substr(\(column), 12) GLOB '*\($0)' THEN substr(\(column), 1, \(length) - \($1))" }
    let text = "\"text without zone\""
    let hasZoneOrBlank = "(\(text) <> \(column) OR substr(\(column), 11, 1) = ' ')"
    let time = "\(text) GLOB '\(day)[ T]\(two):\(two)' OR \(text) GLOB '\(day)[ T]\(two):\(two):\(two)'"
    let fraction = "\(text) GLOB '\(day)[ T]\(two):\(two):\(two).[0-9]*' AND substr(\(text), 21) NOT GLOB '*[^0-9]*'"
    let isDay = assumingUTC ? " OR \(column) GLOB '\(day)'" : ""
    // julianday() also accepts February 30 and 24:00, so check the day and the hour too.
    let isDate =
      "((\(time) OR \(fraction))\(assumingUTC ? "" : " AND \(hasZoneOrBlank)")\(isDay))"
      + " AND substr(\(text), 12, 2) < '24' AND julianday(\(text)) IS NOT NULL"
      + " AND date(substr(\(text), 1, 10), '+0 days') = substr(\(text), 1, 10)"
    let body = "SELECT CASE \(zones.joined(separator: " ")) ELSE \(column) END AS \(text)"
    return "\(column) IS NOT NULL AND NOT coalesce(typeof(\(column)) = 'text'"
      + " AND (SELECT \(isDate) FROM (\(body))), 0)"
  }

  /// Returns a condition for values that the column could store but the column's type can't read; nil for types without
  /// such values.
  ///
  /// A text column converts numbers to text. An integer column converts numeric text to integers or reals.
  fileprivate func unreadable(_ column: String) -> String? {
    switch base {
    case .boolean: return "\(column) IS NOT NULL AND CAST(\(column) AS NUMERIC) NOT IN (0, 1)"
    case .date(.iso8601): return unreadableDate(column, assumingUTC: false)
    case .date(.iso8601AssumingUTC), .date(.sqliteText): return unreadableDate(column, assumingUTC: true)
    case .date(.unixSeconds):
      let number = "CAST(\(column) AS NUMERIC)"
      // A date is read as a Double. An integer is unreadable if no Double represents it exactly; 2⁶³ - 1024 is the
      // highest 64-bit integer with an exact Double.
      return "typeof(\(number)) = 'integer'"
        + " AND (\(number) > 9223372036854774784 OR CAST(CAST(\(number) AS REAL) AS INTEGER) <> \(number))"
    default: return nil
    }
  }

  /// Returns a condition for values that the new type would change; nil if the new type changes no value.
  ///
  /// SQLite converts a text that looks like a number, such as a code that starts with 0 or +. In a REAL column, SQLite
  /// rounds integers beyond 2⁵³. SQLite converts reals to texts of 15 digits.
  fileprivate func loss(of column: String) -> String? {
    let isCode = "(\(column) GLOB '+*' OR ltrim(\(column), ' -') GLOB '0[0-9]*')"
    switch storageClass {
    case .integer: return "typeof(\(column)) = 'text' AND \(isCode)"
    case .real:
      let number = "CAST(\(column) AS NUMERIC)"
      // 2⁶³ - 1024 is the highest 64-bit integer that a REAL represents exactly.
      let isRounded = "(\(number) > 9223372036854774784 OR CAST(CAST(\(column) AS REAL) AS INTEGER) <> \(number))"
      let isLong = "\(column) NOT GLOB '*[eE]*' AND length(ltrim(\(column), ' +-0.')) > 18"
      return "typeof(\(number)) = 'integer' AND typeof(\(column)) <> 'real' AND \(isRounded)"
        + " OR typeof(\(column)) = 'text' AND (\(isCode) OR abs(CAST(\(column) AS REAL)) = 9e999 OR \(isLong))"
    case .text: return "typeof(\(column)) = 'real' AND CAST(CAST(\(column) AS TEXT) AS REAL) <> \(column)"
    case .blob, .null: return nil
    }
  }
}

extension DatabaseSchema.Index {
  fileprivate func mentions(_ column: String) -> Bool {
    (terms.map(\.expression) + (condition.map { [$0] } ?? [])).contains { text in
      let tokens = SQLTokenList(text.text)
      return (0..<tokens.count).contains { tokens.name($0)?.isSameName(as: column) ?? false }
    }
  }
}

extension DatabaseSchema.Column {
  fileprivate var sql: String {
    "\(name.quotedName) \(type)" + (isNotNull ? " NOT NULL" : "") + (notNullConflict.map { " ON CONFLICT \($0)" } ?? "")
      + (defaultValue.map { " DEFAULT \($0.defaultClause)" } ?? "")
      + (collation.map { " COLLATE \($0)" } ?? "")
      + (generated.map { " GENERATED ALWAYS AS (\($0.expression)) \($0.isStored ? "STORED" : "VIRTUAL")" } ?? "")
  }
}

extension SchemaText {
  /// True if SQLite treats the declared type as INTEGER.
  fileprivate var isInteger: Bool { text.uppercased().contains("INT") }

  var defaultClause: String { isLiteral ? text : "(\(text))" }

  /// True if the default needs no parentheses. Without parentheses, a single word is a text: `DEFAULT black`. In
  /// parentheses, the same word is a column name.
  fileprivate var isLiteral: Bool {
    let tokens = SQLTokenList(text)
    return tokens.count == 1 || tokens.count == 2 && (text.begins(with: "-") || text.begins(with: "+"))
  }
}
