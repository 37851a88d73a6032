import SqlableCore

extension SqliteDatabase {
  /// Throws `.schema(.mismatch)` if an existing table differs from its model in a way that `createTable` can't mend.
  func checkDrift(
    of tables: [TableInfo], in schema: Schema, on connection: Connection, _ rows: [[UInt8]: [SchemaRow]]
  ) throws {
    var drift: [SchemaDrift] = []
    for table in tables where table.fullText?.isExternal != false {
      let existing = try DatabaseSchema(rows[table.name.foldedName] ?? [])
      drift += try existing.drift(from: table, with: schema.triggers(of: table, for: connection), connection)
    }
    guard let first = drift.first else { return }
    let message =
      "createTable can't bring existing tables up to date: " + drift.map(\.text).joined(separator: "; ")
      + "; change the tables with a plan or a migration"
    throw SqlError(
      .schema(.mismatch(message)), message: message, table: first.table, column: first.column,
      label: configuration.label)
  }
}

private struct SchemaDrift {
  let table: String
  let column: String?
  let text: String
}

extension DatabaseSchema {
  /// Returns the differences that `createTable` can't mend. These are the columns that `createTable` can't add, and the
  /// differences that remain after adding the missing columns and indexes.
  fileprivate func drift(
    from info: TableInfo, with triggers: [Trigger], _ connection: Connection
  ) throws -> [SchemaDrift] {
    var differences = try SchemaComparison.differences(of: self, from: info, with: triggers, connection).filter {
      // The full-text index and its triggers are built separately, so they are not compared here.
      $0.table.isSameName(as: info.name)
        && ($0.kind != .trigger || triggers.map(\.name).contains(where: ($0.name ?? "").isSameName))
    }
    var drift: [SchemaDrift] = []
    if let existing = self[table: info.name],
      case let missing = info.columns.filter({ existing[column: $0.name] == nil }), !missing.isEmpty,
      let model = try DatabaseSchema(of: info, for: connection)[table: info.name]
    {
      differences = try differences.withoutAddedConstraints(of: info, to: existing, from: model, connection)
      for column in missing {
        if let text = try existing.reasonNotToAdd(column, of: info, model, connection) {
          drift.append(SchemaDrift(table: info.name, column: column.name, text: text))
        }
      }
    }
    return drift
      + differences.filter { !$0.isHarmless && !$0.isAddable }.map {
        SchemaDrift(table: $0.table, column: $0.column, text: $0.description)
      }
  }
}

extension DatabaseSchema.Table {
  fileprivate func reasonNotToAdd(
    _ column: Column, of info: TableInfo, _ model: DatabaseSchema.Table, _ connection: Connection
  ) throws -> String? {
    var reason: String?
    do { _ = try TableDefinition(info).addColumn(column, for: connection) } catch let error as SqlError {
      guard case .schema = error.kind else { throw error }
      reason = error.message
    }
    let old = formerNames(of: column.name, in: model)
    guard !old.isEmpty else { return reason }
    return (reason ?? "column \(name).\(column.name) is missing")
      + ", and might be the new name of \(old.joined(separator: " or "))"
  }

  /// Returns the columns that might have been renamed to `column`: columns that the model does not have.
  func formerNames(of column: String, in model: DatabaseSchema.Table) -> [String] {
    columns.map(\.name).filter { name in
      model[column: name] == nil && !newNames(of: name, among: [column], of: model).isEmpty
    }
  }

  /// Returns the added columns with the type of `old`. Each of them might be the new name of `old`.
  func newNames(of old: String, among added: [String], of model: DatabaseSchema.Table) -> [String] {
    added.filter { name in
      guard let new = model[column: name], let oldColumn = self[column: old] else { return false }
      return hasSameType(oldColumn, as: new, of: model)
    }
  }
}

extension SchemaDifference {
  fileprivate var isAddable: Bool { isMissing && [.table, .column, .index, .trigger, .view].contains(kind) }
}

extension [SchemaDifference] {
  /// Returns the differences without the CHECK and foreign key constraints that ADD COLUMN creates with the missing
  /// columns.
  func withoutAddedConstraints(
    of info: TableInfo, to existing: DatabaseSchema.Table, from model: DatabaseSchema.Table, _ connection: Connection
  ) throws -> [SchemaDifference] {
    let added = info.columns.filter { existing[column: $0.name] == nil }
    let checks = try added.flatMap { try TableDefinition(info).checks(of: $0, for: connection) }.map {
      DatabaseSchema.Check(expression: SchemaText($0)).sql
    }
    let references = added.filter { !$0.definition.options.foreignKeys.isEmpty }.map(\.name)
    let keys = model.foreignKeys.filter { key in
      key.columns.count == 1 && references.contains { key.columns[0].isName($0) }
    }.map(\.sql)
    return filter { difference in
      let comesWithColumn = difference.isMissing && [.check, .foreignKey].contains(difference.kind)
      return !comesWithColumn || !(checks + keys).contains { $0 == difference.expected }
    }
  }
}
