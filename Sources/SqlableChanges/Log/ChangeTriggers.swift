import SqlableCore

/// The triggers that log the changes of one table.
///
/// AFTER triggers log the changes. SQLite calls no trigger for a row that REPLACE deletes, unless `recursive_triggers`
/// is on. A BEFORE trigger therefore copies the rows with which a new row conflicts into a table of candidates. If
/// there are candidates, another AFTER trigger logs a delete for each candidate that is gone. After OR IGNORE or an
/// upsert, a candidate stays in the table of candidates until its row changes or another row conflicts. No trigger can
/// remove such a candidate earlier, because the candidate might belong to an outer statement, whose BEFORE trigger runs
/// the current statement.
///
/// Most changes have no candidates. Their cost is the call of each trigger, about 1,000 instructions, and the INSERT
/// into the log.
///
/// A conflict clause such as OR IGNORE in the program's statement also applies to the statements of its triggers, so no
/// statement here may violate a constraint.
struct ChangeTriggers {
  let table: LoggedTable
  /// The id of the table's entry in ``ChangeTables/tables``.
  let entry: Int
  let kept: KeptColumns

  static let count = 7

  private var name: String { table.name.quotedName }
  private var images: [String] { table.images(kept) }
  private var values: String { images.indices.map { ChangeTables.value($0).quotedName }.joined(separator: ", ") }
  private var oldValues: String { images.indices.map { ChangeTables.oldValue($0).quotedName }.joined(separator: ", ") }
  private var log: String { ChangeTables.log.quotedName }
  private var candidates: String { ChangeTables.candidates.quotedName }

  /// The triggers with their names, in the order of their creation. SQLite calls the newest trigger first. The log
  /// therefore contains, in this order: the deletes of a REPLACE, the change of the row, and the changes by the
  /// program's older triggers. The names are sorted, because a plan that rebuilds the table creates the triggers in the
  /// order of their names. The part of a name after the table's name begins with an underscore and contains no other,
  /// so that triggers of two tables can't have the same name.
  var all: [(name: String, sql: String)] {
    let hasChanged = keyChange.map { "(\($0)) AND " } ?? ""
    let ofKeys = keyNames.map { " OF \($0.map(\.quotedName).joined(separator: ", "))" } ?? ""
    let parts = [
      ("beforeInsert", "BEFORE INSERT", " WHEN \(conflictExists(besides: nil))", note(besides: nil)),
      (
        "beforeUpdate", "BEFORE UPDATE\(ofKeys)",
        " WHEN \(namesInputs)\(hasChanged)(\(conflictExists(besides: "old")))",
        note(besides: "old")
      ),
      ("delete", "AFTER DELETE", "", table.deletesItself ? ownDelete : [forgetOld, image(.deleted, "old")]),
      ("insert", "AFTER INSERT", "", [image(.inserted, "new")]),
      ("insertReplaced", "AFTER INSERT", " WHEN \(candidateExists)", [logReplaced(), forgetReplaced()]),
      ("update", "AFTER UPDATE", "", [updateImages] + ownUpdate),
      ("updateReplaced", "AFTER UPDATE", " WHEN \(candidateExists)", afterUpdate),
    ]
    return parts.map { suffix, event, condition, body in
      let trigger = "\(ChangeTables.triggerPrefix)\(table.name)_\(suffix)"
      let text = body.map { "\($0);" }.joined(separator: " ")
      return (trigger, "CREATE TRIGGER \(trigger.quotedName) \(event) ON \(name)\(condition) BEGIN \(text) END")
    }
  }

  // MARK: Images

  private func list(of row: String) -> String { images.map { "\(row).\($0.quotedName)" }.joined(separator: ", ") }

  private var insertImage: String { "INSERT INTO \(log) (\"table\", \"kind\", \"at\", \(values))" }

  private var insertImages: String { "INSERT INTO \(log) (\"table\", \"kind\", \"at\", \(values), \(oldValues))" }

  private func head(_ kind: LoggedKind) -> String { "\(entry), \(kind.rawValue), \(ChangeTables.time)" }

  private func image(_ kind: LoggedKind, _ row: String) -> String {
    "\(insertImage) VALUES (\(head(kind)), \(list(of: row)))"
  }

  private var updateImages: String {
    "\(insertImages) VALUES (\(head(.updated)), \(list(of: "new")), \(list(of: "old")))"
  }

  // MARK: Rows

  /// Returns an SQL condition that is true if two aliases of one statement stand for the same row.
  private func isSame(_ left: String, _ right: String) -> String {
    guard let rowid = table.rowid else {
      return table.rowKey.map { term in
        "\(left).\(term.expression) COLLATE \(term.collation.quotedName) = \(right).\(term.expression)"
      }.joined(separator: " AND ")
    }
    return "\(left).\(rowid) = \(right).\(rowid)"
  }

  /// An SQL condition that is true if a candidate is a copy of a row.
  ///
  /// A primary key identifies the row, unless it contains NULL. `VACUUM` can change the rowid of a row that has a
  /// primary key, while a candidate of an earlier statement still has the old rowid.
  ///
  /// - Parameter candidate: The alias or the quoted name of the table of candidates. An unqualified name could be that
  ///   of a column of the logged table.
  private func isCopy(of row: String, _ candidate: String) -> String {
    let hasRowid = table.rowid.map { "\(row).\($0) = \(candidate).\"row\"" }
    let key = table.rowKey.map { term in
      let position = images.firstIndex { $0.isExactly(term.column ?? "") } ?? 0
      return (term: term, value: "\(candidate).\(ChangeTables.value(position).quotedName)")
    }
    guard !key.isEmpty else { return hasRowid ?? "0" }
    let hasKey = key.map { term, value in
      "\(row).\(term.expression) COLLATE \(term.collation.quotedName) = \(value)"
    }.joined(separator: " AND ")
    guard let hasRowid else { return hasKey }
    let hasNull = key.map { "\($0.value) IS NULL" }.joined(separator: " OR ")
    return "((\(hasKey)) OR (\(hasRowid) AND (\(hasNull))))"
  }

  // MARK: Conflicts

  /// The SQL of a column's value in the new row. For a NULL in a NOT NULL column, OR REPLACE stores the column's
  /// default.
  private func new(_ column: String) -> String {
    guard let replacement = table.columns.first(where: { $0.name.isExactly(column) })?.replacement else {
      return "new.\(column.quotedName)"
    }
    return "coalesce(new.\(column.quotedName), (\(replacement)))"
  }

  /// Returns a sub-SELECT with the value of an expression for the new row.
  ///
  /// `new.a` has no affinity. CAST gives the value the column's affinity. A comparison in the expression, such as
  /// `a = '1'`, then converts its operands as it does for the column.
  private func newValue(_ expression: String, isCast: Bool) -> String {
    let values = table.columns(in: expression).map { column in
      let value = new(column.name)
      let cast = isCast ? column.castType.map { "CAST(\(value) AS \($0))" } : nil
      // Repeat the column's collation, because the result of `coalesce` has no collation.
      let collation = column.collation.map { " COLLATE \($0)" } ?? ""
      return "\(cast ?? value)\(collation) AS \(column.name.quotedName)"
    }
    return values.isEmpty ? "(\(expression))" : "(SELECT \(expression) FROM (SELECT \(values.joined(separator: ", "))))"
  }

  /// The SQL conditions under which an existing row `t` conflicts with the new row: one or two for each unique index,
  /// and one for the rowid.
  ///
  /// - Parameter newValue: Returns the SQL of an expression's value for the new row.
  private func conflicts(_ newValue: (_ expression: String, _ isCast: Bool) -> String) -> [String] {
    let conflicts = table.uniques.flatMap { index in
      // The SQL compares the index's expression twice: with CAST and without. CAST alone is wrong for two kinds of
      // values that a column's affinity does not convert: a blob in a TEXT column, and a text such as 'abc' in a
      // numeric column.
      let hasAffinity = index.terms.contains { term in
        term.column == nil && table.columns(in: term.expression).contains { $0.castType != nil }
      }
      let forms = hasAffinity ? [true, false] : [false]
      return forms.map { isCast in
        let terms = index.terms.map { term in
          let (value, collation) = (term.column.map(new), term.collation.quotedName)
          return term.column.map { "t.\($0.quotedName) COLLATE \(collation) = \(value ?? "NULL")" }
            ?? "(\(term.expression)) COLLATE \(collation) = \(newValue(term.expression, isCast))"
        }
        return (terms + (index.condition.map { ["(\($0))"] } ?? [])).joined(separator: " AND ")
      }
    }
    return (table.rowid.map { ["t.\($0) = new.\($0)"] } ?? []) + conflicts
  }

  private var conflicts: [String] { conflicts(newValue) }

  private func exists(_ conflict: String, besides row: String?) -> String {
    let other = row.map { " AND NOT (\(isSame("t", $0)))" } ?? ""
    return "EXISTS (SELECT 1 FROM \(name) AS t WHERE \(conflict)\(other))"
  }

  private func conflictExists(besides row: String?) -> String {
    conflicts.map { exists($0, besides: row) }.joined(separator: " OR ")
  }

  /// True if a stored BEFORE INSERT trigger finds all rows with which a new row can conflict. The trigger might have
  /// been created before a unique index of the table.
  func findsAllConflicts(_ trigger: String) -> Bool {
    let trigger = trigger.foldedSQL
    // RENAME COLUMN does not change the aliases in a sub-SELECT, so compare only the text around the sub-SELECT.
    return conflicts { _, _ in "\0" }.allSatisfy { conflict in
      var rest = trigger[...]
      return exists(conflict, besides: nil).split(separator: "\0").allSatisfy { part in
        guard let range = rest.firstRange(of: String(part).foldedSQL) else { return false }
        rest = rest[range.upperBound...]
        return true
      }
    }
  }

  /// An SQL condition that is true if an update changed a value on which a conflict depends; nil if a change of any
  /// column can cause a conflict.
  private var keyChange: String? {
    guard table.uniques.allSatisfy(\.isPlain) else { return nil }
    var names: [String] = []
    for name in table.uniques.flatMap({ $0.terms.compactMap(\.column) }) where !names.contains(where: name.isExactly) {
      names.append(name)
    }
    let columns = names.map { "new.\($0.quotedName) COLLATE BINARY IS NOT old.\($0.quotedName)" }
    return ((table.rowid.map { ["new.\($0) IS NOT old.\($0)"] } ?? []) + columns).joined(separator: " OR ")
  }

  /// The columns that an UPDATE must set to cause a conflict; nil if setting other columns can also cause a conflict.
  /// `UPDATE OF` compares names, so all names of the rowid are included.
  private var keyNames: [String]? {
    guard table.uniques.allSatisfy(\.isPlain) else { return nil }
    var names = table.rowid == nil ? [] : table.primaryKey + ["rowid", "oid", "_rowid_"]
    for name in table.uniques.flatMap({ $0.terms.compactMap(\.column) }) {
      guard let column = table.columns.first(where: { $0.name.isExactly(name) }), !column.isGenerated else {
        return nil
      }
      names.append(name)
    }
    return names.reduce(into: []) { distinct, name in
      if !distinct.contains(where: name.isSameName) { distinct.append(name) }
    }
  }

  /// An SQL condition that is always true, and names the columns on which generated columns of unique indexes depend.
  ///
  /// In a BEFORE UPDATE trigger, SQLite computes the generated columns of `new` only from the columns that the
  /// statement sets or the trigger names. The other columns count as NULL.
  private var namesInputs: String {
    table.inputsOfGenerated.map { "new.\($0.quotedName) IS new.\($0.quotedName) AND " }.joined()
  }

  /// Returns the statements that store, as candidates, the rows that conflict with the new row.
  private func note(besides row: String?) -> [String] {
    let any = conflicts.map { "(\($0))" }.joined(separator: " OR ")
    let other = row.map { " AND NOT (\(isSame("t", $0)))" } ?? ""
    let rowid = table.rowid.map { "t.\($0)" } ?? "NULL"
    return [
      forget,
      "INSERT INTO \(candidates) (\"table\", \"row\", \(values)) SELECT \(entry), \(rowid), \(list(of: "t")) "
        + "FROM \(name) AS t WHERE (\(any))\(other)",
    ]
  }

  /// Removes this table's rows from the table of candidates. A candidate whose delete is already logged has the
  /// negative entry id.
  private var forget: String { "DELETE FROM \(candidates) WHERE \(isOwnCandidate)" }

  private var candidateExists: String { "EXISTS (SELECT 1 FROM \(candidates) WHERE \(isOwnCandidate))" }

  private var isOwnCandidate: String {
    "\"table\" = \(entry)\(table.deletesItself ? " OR \"table\" = -\(entry)" : "")"
  }

  private var forgetOld: String {
    "DELETE FROM \(candidates) WHERE \"table\" = \(entry) AND \(isCopy(of: "old", candidates))"
  }

  private func isGone(_ candidate: String) -> String {
    "NOT EXISTS (SELECT 1 FROM \(name) AS t WHERE \(isCopy(of: "t", candidate)))"
  }

  /// Returns an SQL condition that is true if a candidate is gone, or if the new row has taken its place.
  private func isReplaced(_ candidate: String, besides row: String?) -> String {
    // `IS NOT 1` instead of NOT, because the comparison of a key that contains NULL is NULL.
    let other = row.map { " AND (\(isCopy(of: $0, candidate))) IS NOT 1" } ?? ""
    return "((\(isCopy(of: "new", candidate))) OR \(isGone(candidate)))\(other)"
  }

  private func logReplaced(besides row: String? = nil) -> String { logGone(isReplaced("c", besides: row)) }

  /// Removes the candidates whose deletes are logged. Other candidates can belong to an outer statement.
  private func forgetReplaced(besides row: String? = nil) -> String {
    "DELETE FROM \(candidates) WHERE (\(isOwnCandidate)) AND "
      + "(\"table\" = -\(entry) OR \(isReplaced(candidates, besides: row)))"
  }

  /// The statements for candidates after an update. The updated row can itself be a candidate, in two cases: the update
  /// is the last step of an upsert, or a BEFORE trigger of a REPLACE has updated a row that REPLACE then deletes.
  private var afterUpdate: [String] {
    guard table.hasBeforeTriggers else { return [forgetOld, logReplaced(), forgetReplaced()] }
    let rowid = table.rowid.map { "new.\($0)" } ?? "NULL"
    let copies = images.enumerated().map { "\(ChangeTables.value($0).quotedName) = new.\($1.quotedName)" }
    return [
      logReplaced(besides: "old"), forgetReplaced(besides: "old"),
      "UPDATE \(candidates) SET \"row\" = \(rowid), \(copies.joined(separator: ", ")) "
        + "WHERE \"table\" = \(entry) AND \(isCopy(of: "old", candidates))",
    ]
  }

  private func logGone(_ condition: String) -> String {
    let copied = images.indices.map { "c.\(ChangeTables.value($0).quotedName)" }.joined(separator: ", ")
    return "\(insertImage) SELECT \(head(.deleted)), \(copied) FROM \(candidates) AS c "
      + "WHERE c.\"table\" = \(entry) AND (\(condition))"
  }

  // MARK: Tables that reference themselves

  /// Logs a foreign key's action once more, if the action has changed the updated row itself. SQLite runs the action
  /// before this trigger. So the log already has the action's change, but ahead of the update that caused the action.
  private var ownUpdate: [String] {
    guard table.updatesItself else { return [] }
    let differs = images.map { "t.\($0.quotedName) COLLATE BINARY IS NOT new.\($0.quotedName)" }
    return [
      "\(insertImages) SELECT \(head(.updated)), \(list(of: "t")), \(list(of: "new")) FROM \(name) AS t "
        + "WHERE \(isSame("t", "new")) AND (\(differs.joined(separator: " OR ")))"
    ]
  }

  /// Logs the deleted row, and the candidate rows that no longer exist. When UPDATE OR REPLACE replaces a row, a
  /// cascade can also delete the row that is being updated. SQLite then calls no AFTER UPDATE trigger, so this trigger
  /// logs the replaced row.
  private var ownDelete: [String] {
    let isMarked = "\"table\" = -\(entry) AND \(isCopy(of: "old", candidates))"
    return [
      "\(insertImage) SELECT \(head(.deleted)), \(list(of: "old")) "
        + "WHERE NOT EXISTS (SELECT 1 FROM \(candidates) WHERE \(isMarked))",
      "DELETE FROM \(candidates) WHERE \"table\" IN (\(entry), -\(entry)) AND \(isCopy(of: "old", candidates))",
      logGone(isGone("c")),
      "UPDATE \(candidates) SET \"table\" = -\(entry) WHERE \"table\" = \(entry) AND \(isGone(candidates))",
    ]
  }
}

extension String {
  /// The bytes of SQL text, with names and keywords in lower case, because SQLite ignores their case.
  fileprivate var foldedSQL: [UInt8] {
    let tokens = SQLTokenList(self)
    var bytes = Array(utf8)
    for position in 0..<tokens.count where tokens.isWord(position) || tokens.isQuotedName(position) {
      for index in tokens.range(position) { bytes[index] = bytes[index].foldedLetter }
    }
    return bytes
  }

  /// True if two SQL texts differ at most in the case of names and keywords.
  func isSameSQL(as other: String) -> Bool {
    isExactly(other) || isSameName(as: other) && foldedSQL == other.foldedSQL
  }
}
