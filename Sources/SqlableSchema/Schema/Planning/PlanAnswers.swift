import SqlableCore

extension SchemaPlanner {
  struct Answers {
    /// The new names of columns, keyed by their old names: `color` or `bicycle.color`.
    var renamed: [String: String] = [:]
    var renamedTables: [String: String] = [:]
    /// Columns that were not renamed, although a column of the same type is added.
    var notRenamed: Set<String> = []
    /// The values for rows without a value in a column, keyed by the column's name: `price` or `bicycle.price`.
    var filling: [String: any SqlValue] = [:]
    var dropping: SchemaDropping = []

    func isNewName(_ column: String, in table: String) -> Bool {
      renamed.contains { Answers.canBe(of: table, $0.key) && $0.value.isSameName(as: column) }
    }

    /// True if a key of the answers, such as `color` or `bicycle.color`, can name a column of the table.
    private static func canBe(of table: String, _ key: String) -> Bool {
      !key.utf8.contains(UInt8(ascii: ".")) || key.foldedName.starts(with: "\(table).".foldedName)
    }

    /// Throws `.misuse` if an answer names a column that no model declares, as the new name of a column or as a column
    /// to fill.
    func check(for tables: [TableInfo]) throws {
      for name in filling.keys {
        let isDeclared = tables.contains { table in
          table.columns.contains { name.isSameName(as: $0.name) || name.isSameName(as: "\(table.name).\($0.name)") }
        }
        guard isDeclared else {
          throw SqlError.misuse("the argument `filling` names column \(name), but no model has the column")
        }
      }
      for (old, new) in renamed {
        let isDeclared = tables.contains { table in
          Answers.canBe(of: table.name, old) && table.columns.contains { $0.name.isSameName(as: new) }
        }
        guard isDeclared else {
          throw SqlError.misuse("column \(old) can't be renamed: no model of the schema has a column \(new)")
        }
      }
    }

    /// Returns the entry for a column. An entry with the table's name has precedence over an entry without a table.
    static func entry<Value>(_ entries: [String: Value], _ table: String, _ column: String) -> Value? {
      entries.first { $0.key.isSameName(as: "\(table).\(column)") }?.value
        ?? entries.first { $0.key.isSameName(as: column) }?.value
    }

    /// Returns the old and new names of the columns to rename in a table.
    ///
    /// If the model still declares the old name, the column is renamed only in two cases: the key in `renamed` has the
    /// table's name (`bicycle.color`), or another column gets the old name. In any other case, the key might be meant
    /// for a column of another table. Throws `.misuse` if the new names form a cycle, because the table has the same
    /// columns before and after such renames.
    func renames(of table: TableInfo, _ existing: DatabaseSchema.Table) throws -> [(old: String, new: String)] {
      var renames: [(old: String, new: String)] = []
      for column in existing.columns {
        guard let new = Answers.entry(renamed, table.name, column.name), !new.isSameName(as: column.name) else {
          continue
        }
        let isKept = table.columns.contains { $0.name.isSameName(as: column.name) }
        guard let target = table.columns.first(where: { $0.name.isSameName(as: new) }) else {
          if isKept { continue }
          throw SqlError.misuse("column \(column.name) can't be renamed: the model has no column \(new)")
            .at(table: table.name, column: column.name)
        }
        // The model declares a column with the old name too, and the table already has the new name. So an earlier plan
        // has renamed the column.
        if isKept, existing[column: target.name] != nil {
          try checkCircle(from: column.name, in: table, existing)
          continue
        }
        renames.append((column.name, target.name))
      }
      return renames.filter { rename in
        let isKept = table.columns.contains { $0.name.isSameName(as: rename.old) }
        return !isKept || renamed.keys.contains { $0.isSameName(as: "\(table.name).\(rename.old)") }
          || renames.contains { $0.new.isSameName(as: rename.old) }
      }
    }

    private func checkCircle(from column: String, in table: TableInfo, _ existing: DatabaseSchema.Table) throws {
      var name = column
      for _ in existing.columns {
        guard let new = Answers.entry(renamed, table.name, name), existing[column: new] != nil else { return }
        name = new
        guard name.isSameName(as: column) else { continue }
        throw SqlError.misuse(
          "column \(column) can't be renamed: the new names form a cycle; rename the columns in a migration, with SQL"
        ).at(table: table.name, column: column)
      }
    }
  }
}
