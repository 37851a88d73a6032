import SqlableCore

struct TableChange {
  let table: TableInfo
  let existing: DatabaseSchema.Table
  let model: DatabaseSchema.Table
  let differences: [SchemaDifference]
  let planner: SchemaPlanner

  init(
    table: TableInfo, existing: DatabaseSchema.Table, model: DatabaseSchema.Table, differences: [SchemaDifference],
    planner: SchemaPlanner
  ) throws {
    (self.table, self.existing, self.model, self.planner) = (table, existing, model, planner)
    self.differences = try differences.withoutAddedConstraints(of: table, to: existing, from: model, planner.connection)
  }

  private var connection: Connection { planner.connection }
  private var name: String { table.name.quotedName }

  func steps() throws -> [SchemaPlan.Step] {
    let changes = changes
    guard !changes.isEmpty else { return [] }
    if try needsRebuild {
      return [try TableRebuild(change: self, changes: changes).step()]
    }
    var steps: [SchemaPlan.Step] = []
    let former = formerIndexes.map(\.old)
    for difference in differences where drops(difference) && difference.kind == .index {
      if let name = difference.name, former.contains(where: name.isSameName) { continue }
      steps.append(drop(difference))
    }
    for difference in differences where drops(difference) && difference.kind == .column {
      guard let column = difference.column else { continue }
      steps.append(
        try step(
          .dropColumn, column, ["ALTER TABLE \(name) DROP COLUMN \(column.quotedName)"], losesData: true,
          readsRows: true))
    }
    for column in missingColumns {
      var statements = [
        SchemaPlan.Statement(try TableDefinition(table).addColumn(column, for: connection))
      ]
      if let value = try filling(of: column) {
        statements.append(.init("UPDATE \(name) SET \(column.name.quotedName) = ?", [value]))
      }
      steps.append(
        SchemaPlan.Step(
          table.name, [.init(.addColumn, column.name)], statements, rows: statements.count > 1 ? try rowCount : 0))
    }
    for index in table.indexes {
      let indexName = index.name(in: table)
      guard
        let difference = differences.first(where: { $0.kind == .index && $0.name?.isSameName(as: indexName) == true })
      else { continue }
      let former = formerIndexes.first { $0.new.isSameName(as: indexName) }?.old
      let dropped = difference.isMissing ? former : indexName
      var statements = dropped.map { ["DROP INDEX \($0.quotedName)"] } ?? []
      statements.append(try TableDefinition(table).create(index, for: connection))
      steps.append(
        try step(
          dropped == nil ? .addIndex : .changeIndex, indexName, from: former, statements, readsRows: true,
          diagnoses: model.indexes.filter { $0.name.isSameName(as: indexName) }.compactMap(duplicates)))
    }
    return steps
  }

  var mightDropColumns: Bool {
    get throws {
      let changes = changes
      guard !changes.isEmpty else { return false }
      return try changes.contains { $0.kind == .dropColumn } || needsRebuild
    }
  }

  private func step(
    _ kind: SchemaPlan.Change.Kind, _ name: String, from oldName: String? = nil, _ statements: [String],
    losesData: Bool = false, readsRows: Bool = false, diagnoses: [SchemaPlan.Diagnosis] = []
  ) throws -> SchemaPlan.Step {
    SchemaPlan.Step(
      table.name, [.init(kind, name, from: oldName)], statements.map { .init($0) }, losesData: losesData,
      rows: readsRows ? try rowCount : 0, diagnoses: diagnoses)
  }

  /// The model's indexes that have an old name in the database, for example from before a rename of the table. `new` is
  /// the model's name of the index.
  var formerIndexes: [(old: String, new: String)] {
    let columns = planner.formerColumns[table.name.foldedName] ?? [:]
    let tables = planner.formerNames(of: table)
    return table.indexes.compactMap { index in
      let name = index.name(in: table)
      guard let declared = model.indexes.first(where: { $0.name.isSameName(as: name) }),
        !existing.indexes.contains(where: { $0.name.isSameName(as: name) })
      else { return nil }
      let names = index.formerNames(in: table, named: tables, columns: columns)
      let former = existing.indexes.first { index in
        names.contains(where: index.name.isSameName) && index.isSame(as: declared)
          && !model.indexes.contains { $0.name.isSameName(as: index.name) }
      }
      return former.map { ($0.name, name) }
    }
  }

  /// The computed defaults that the model does not declare, as SQL for CREATE TABLE, keyed by the folded column
  /// name.
  var foreignDefaults: [[UInt8]: String] {
    table.columns.reduce(into: [:]) { defaults, column in
      defaults[column.name.foldedName] = existing.foreignDefault(of: column.name, besides: model, table)?.defaultClause
    }
  }

  private func drop(_ difference: SchemaDifference) -> SchemaPlan.Step {
    let index = difference.name ?? ""
    return SchemaPlan.Step(table.name, [.init(.dropIndex, index)], [.init("DROP INDEX \(index.quotedName)")])
  }

  // MARK: Changes

  var rowCount: Int { get throws { try planner.rowCount(of: table.name) } }

  var missingColumns: [Column] { table.columns.filter { existing[column: $0.name] == nil } }

  /// The table's columns that the model does not declare and the plan keeps.
  var keptColumns: [DatabaseSchema.Column] {
    planner.answers.dropping.contains(.columns)
      ? [] : existing.columns.filter { column in table.columns.allSatisfy { !$0.name.isSameName(as: column.name) } }
  }

  /// Returns the names of the undeclared columns that might have been renamed to this column.
  func formerNames(of column: Column) -> [String] { existing.formerNames(of: column.name, in: model) }

  /// Returns the value of `filling` for rows without a value in the column; nil if `filling` does not contain the
  /// column. Throws if the column's type can't store the value.
  func filling(of column: Column) throws -> DatabaseValue? {
    guard let fill = SchemaPlanner.Answers.entry(planner.answers.filling, table.name, column.name) else { return nil }
    let value = try fill.databaseValue(in: column.type).checked()
    guard column.type.stores(value) else {
      throw column.type.mismatch(value.storageClass).at(table: table.name, column: column.name)
    }
    return value
  }

  private func drops(_ difference: SchemaDifference) -> Bool {
    guard difference.isExtra else { return false }
    return switch difference.kind {
    case .column: planner.answers.dropping.contains(.columns)
    case .index: planner.answers.dropping.contains(.indexes)
    default: false
    }
  }

  private var changes: [SchemaPlan.Change] {
    differences.compactMap { difference in
      let column = difference.column
      if let change = difference.kind.changeByRebuild { return .init(change, column) }
      switch difference.kind {
      case .column:
        if difference.isMissing { return .init(.addColumn, column) }
        return drops(difference) ? .init(.dropColumn, column) : nil
      case .unique, .check, .foreignKey:
        if difference.isMissing { return .init(.addConstraint, difference.expected) }
        return .init(.dropConstraint, difference.found)
      case .index:
        if difference.isExtra { return drops(difference) ? .init(.dropIndex, difference.name) : nil }
        let former = formerIndexes.first { $0.new.isSameName(as: difference.name ?? "") }?.old
        return .init(difference.isMissing && former == nil ? .addIndex : .changeIndex, difference.name, from: former)
      // The full-text index has a separate step.
      default: return nil
      }
    }
  }

  /// True if the table must be rebuilt because ALTER TABLE can't make the change.
  private var needsRebuild: Bool {
    get throws {
      for difference in differences {
        if difference.kind.changeByRebuild != nil { return true }
        switch difference.kind {
        case .unique, .check, .foreignKey: if !concernsKeptColumns(difference) { return true }
        case .column:
          if difference.isMissing,
            let column = table.columns.first(where: { $0.name.isExactly(difference.column ?? "") })
          {
            if try !canBeAdded(column) { return true }
          } else if drops(difference), let column = difference.column, !canBeDropped(column) {
            return true
          }
        default: break
        }
      }
      return false
    }
  }

  private func concernsKeptColumns(_ difference: SchemaDifference) -> Bool {
    difference.isExtra && keptConstraints.contains { $0 == difference.found }
  }

  var keptConstraints: [String] {
    let keptNames = Set(keptColumns.map(\.name.foldedName))
    let isKept = { (names: [SchemaText]) in names.contains { name in keptNames.contains { name.isFolded($0) } } }
    let uniques = existing.uniques.filter { isKept($0.columns.map(\.expression)) }.map(\.sql)
    let keys = existing.foreignKeys.filter { isKept($0.columns) }.map(\.sql)
    let checks = existing.checks.filter { check in
      let tokens = SQLTokenList(check.expression.text)
      return (0..<tokens.count).contains { tokens.name($0).map { keptNames.contains($0.foldedName) } ?? false }
    }.map(\.sql)
    return uniques + keys + checks
  }

  private func canBeAdded(_ column: Column) throws -> Bool {
    let options = column.definition.options
    guard Library.checksAddedColumns || (options.checks.isEmpty && options.generated == nil) else { return false }
    return (try? TableDefinition(table).addColumn(column, for: connection)) != nil
  }

  /// True if DROP COLUMN succeeds on the copy, in a savepoint that is rolled back.
  private func canBeDropped(_ column: String) -> Bool {
    let copy = planner.copy.connection
    do {
      try copy.pragma("SAVEPOINT dropping")
      defer { for end in ["ROLLBACK TO dropping", "RELEASE dropping"] { _ = try? copy.pragma(end) } }
      try copy.pragma("ALTER TABLE \(name) DROP COLUMN \(column.quotedName)")
      return true
    } catch { return false }
  }

  /// True if an ordinary column becomes a generated column and therefore loses its values.
  func isComputedNow(_ column: String) -> Bool {
    existing[column: column]?.generated == nil && model[column: column]?.generated != nil
  }

  // MARK: Rows at fault

  /// The SQL name of the existing table's rowid; `NULL` if no name can refer to a rowid.
  var rowid: String {
    existing.isWithoutRowid ? "NULL" : String.rowidName(avoiding: existing.columns.map(\.name)) ?? "NULL"
  }

  func duplicates(_ columns: [String]) -> SchemaPlan.Diagnosis {
    duplicates(columns.map(\.quotedName), columns.joined(separator: ", "), columns.count == 1 ? columns[0] : nil, "")
  }

  /// Returns the query for rows with duplicate values in a unique index; nil for an index that is not unique.
  func duplicates(_ index: DatabaseSchema.Index) -> SchemaPlan.Diagnosis? {
    guard index.isUnique else { return nil }
    let terms = index.terms.map { $0.expression.text + ($0.collation.map { " COLLATE \($0)" } ?? "") }
    let names = index.terms.map { $0.expression.name ?? $0.expression.text }
    return duplicates(
      terms, names.joined(separator: ", "), index.terms.count == 1 ? index.terms[0].expression.name : nil,
      index.condition.map { " AND (\($0))" } ?? "")
  }

  private func duplicates(
    _ terms: [String], _ words: String, _ column: String?, _ condition: String
  ) -> SchemaPlan.Diagnosis {
    let present = terms.map { "\($0) IS NOT NULL" }.joined(separator: " AND ")
    return SchemaPlan.Diagnosis(
      column: column, fault: "have the same \(words) as other rows",
      sql: "SELECT min(\(rowid)) FROM \(name) WHERE \(present)\(condition) "
        + "GROUP BY \(terms.joined(separator: ", ")) HAVING count(*) > 1 LIMIT 10")
  }
}
