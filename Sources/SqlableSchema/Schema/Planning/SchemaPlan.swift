import SqlableCore

/// The changes that make a database match the models, as a value to print, review, store, compare and apply.
///
/// ```swift
/// let plan = try Schema(Bicycle.self).plan(db, renamed: ["colour": "color"])
/// print(plan)
/// // bicycle: rename column colour to color
/// //   ALTER TABLE "bicycle" RENAME COLUMN "colour" TO "color"
/// // bicycle: add column price; change the type of frame (rebuilds the table; about 12000 rows)
/// //   CREATE TABLE "sqlable_new_bicycle" …
/// try plan.apply(db)
/// ```
public struct SchemaPlan: Sendable, Hashable, Codable {
  public let steps: [Step]
  /// The questions that must be answered before the plan can be applied.
  public let questions: [Question]
  /// The SHA-256 of the schema that the plan was made for.
  let schema: String

  /// True if the database matches the models, apart from differences that the plan keeps.
  public var isEmpty: Bool { steps.isEmpty && questions.isEmpty }
  /// True if the plan deletes stored data.
  public var losesData: Bool { steps.contains(where: \.losesData) }
  /// True if the plan copies all rows of a table.
  public var rebuilds: Bool { steps.contains(where: \.rebuilds) }

  /// The changes of one table, with their SQL.
  public struct Step: Sendable, Hashable, Codable {
    /// The table's name after the step.
    public let table: String
    public let changes: [Change]
    public let statements: [Statement]
    /// True if the step deletes a column, or the values of a column that becomes generated.
    public let losesData: Bool
    /// True if the step copies all rows into a new table.
    public let rebuilds: Bool
    /// The approximate number of rows that the step reads or writes; 0 if the step changes only the schema.
    public let rows: Int
    /// Queries for the rows that make the step fail.
    let diagnoses: [Diagnosis]

    init(
      _ table: String, _ changes: [Change], _ statements: [Statement], losesData: Bool = false, rebuilds: Bool = false,
      rows: Int = 0, diagnoses: [Diagnosis] = []
    ) {
      (self.table, self.changes, self.statements) = (table, changes, statements)
      (self.losesData, self.rebuilds, self.rows, self.diagnoses) = (losesData, rebuilds, rows, diagnoses)
    }

    /// True if the step changes the schema of no other table. A rename also changes triggers, views and foreign keys of
    /// other tables, and a full-text index has tables of its own.
    var changesOnlyItsTable: Bool {
      changes.allSatisfy { ![.renameTable, .renameColumn, .buildFullText].contains($0.kind) }
    }
  }

  /// A statement of a step.
  public struct Statement: Sendable, Hashable, Codable {
    public let sql: String
    /// The values, in the order of the `?`.
    public let values: [DatabaseValue]
    /// The rows that the statement copies, if they can be copied in batches; nil otherwise.
    var copy: Copy?

    init(_ sql: String, _ values: [DatabaseValue] = []) { (self.sql, self.values) = (sql, values) }

    struct Copy: Sendable, Hashable, Codable {
      let table: String
      let rowid: String
      /// The maximum number of rows in a batch.
      static let part = 100_000
    }
  }

  /// A change of a table.
  public struct Change: Sendable, Hashable, Codable {
    public let kind: Kind
    /// The column, index, trigger or constraint; nil if the change affects the table itself.
    public let name: String?
    /// The name before a rename; nil without a rename.
    public let oldName: String?

    init(_ kind: Kind, _ name: String? = nil, from oldName: String? = nil) {
      (self.kind, self.name, self.oldName) = (kind, name, oldName)
    }

    public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
      case addTable, renameTable
      case addColumn, renameColumn, dropColumn
      case changeType, changeNotNull, changeDefault, changeCollation, changeGenerated
      case changePrimaryKey, changeOptions
      case addConstraint, dropConstraint
      case addIndex, changeIndex, dropIndex
      case buildFullText
      case addView, changeView
      case addTrigger, dropTrigger
      /// Drops the triggers of the table's change log before other changes of the table.
      case pauseChangeLog
      /// Creates the triggers of the table's change log again, for the columns that the table then has.
      case updateChangeLog
    }
  }

  /// A question that only the program's author can answer: was a column renamed?
  public struct Question: Sendable, Hashable, Codable {
    public let table: String
    /// The column that might have been renamed.
    public let dropped: String
    /// The possible new names of `dropped`: the added columns of the same type. If the model still has the column, the
    /// array contains only the new name from the parameter `renamed`.
    public let added: [String]
  }

  /// A query for the ids of rows that do not fit a change.
  struct Diagnosis: Sendable, Hashable, Codable {
    let column: String?
    /// The problem, as the end of a sentence that begins with "The rows": `have the same name as others`.
    let fault: String
    /// A query that selects the ids of at most ten rows with this problem.
    let sql: String
    var time = Time.failure

    /// The time to run the query: before the step, after the step, or only if the step fails.
    enum Time: String, Sendable, Hashable, Codable {
      case before, after, failure
    }
  }
}

extension SchemaPlan: CustomStringConvertible {
  /// The changes, each with its SQL.
  public var description: String {
    if isEmpty { return "nothing to change" }
    let questions = questions.map { "question: \($0)" }
    let steps = steps.map { step in
      ([step.description] + step.statements.map { "  " + $0.sql }).joined(separator: "\n")
    }
    return (questions + steps).joined(separator: "\n")
  }
}

extension SchemaPlan.Step: CustomStringConvertible {
  /// `bicycle: drop column price (loses data; rebuilds the table; about 12000 rows)`
  public var description: String {
    var notes: [String] = []
    if losesData { notes.append("loses data") }
    if rebuilds { notes.append("rebuilds the table") }
    if rows > 0 { notes.append("about \(rows) rows") }
    let tail = notes.isEmpty ? "" : " (\(notes.joined(separator: "; ")))"
    return "\(table): \(changes.map(\.description).joined(separator: "; "))\(tail)"
  }
}

extension SchemaDifference.Kind {
  /// The change by which a rebuild of the table removes a difference of this kind. Nil if such a difference can also be
  /// removed without a rebuild.
  var changeByRebuild: SchemaPlan.Change.Kind? {
    switch self {
    case .type: .changeType
    case .notNull: .changeNotNull
    case .defaultValue: .changeDefault
    case .collation: .changeCollation
    case .generated: .changeGenerated
    case .primaryKey: .changePrimaryKey
    case .strict, .withoutRowid: .changeOptions
    case .table, .column, .unique, .check, .foreignKey, .index, .trigger, .view, .fullText: nil
    }
  }
}

extension SchemaPlan.Change: CustomStringConvertible {
  /// `rename column colour to color`
  public var description: String {
    let name = name ?? ""
    return switch kind {
    case .addTable: "create the table"
    case .renameTable: "rename the table from \(oldName ?? "")"
    case .addColumn: "add column \(name)"
    case .renameColumn: "rename column \(oldName ?? "") to \(name)"
    case .dropColumn: "drop column \(name)"
    case .changeType: "change the type of \(name)"
    case .changeNotNull: "change whether \(name) can be NULL"
    case .changeDefault: "change the default of \(name)"
    case .changeCollation: "change the collation of \(name)"
    case .changeGenerated: "change the generated expression of \(name)"
    case .changePrimaryKey: "change the primary key"
    case .changeOptions: "change the table's options"
    case .addConstraint: "add \(name)"
    case .dropConstraint: "drop \(name)"
    case .addIndex: "create index \(name)"
    case .changeIndex: oldName.map { "rename index \($0) to \(name)" } ?? "change index \(name)"
    case .dropIndex: "drop index \(name)"
    case .buildFullText: "build the full-text index \(name)"
    case .addView: "create the view"
    case .changeView: "change the view"
    case .addTrigger: "create trigger \(name)"
    case .dropTrigger: "drop trigger \(name)"
    case .pauseChangeLog: "pause the change log"
    case .updateChangeLog: "update the change log"
    }
  }
}

extension SchemaPlan.Question: CustomStringConvertible {
  /// `was bicycle.colour renamed to color?`
  public var description: String { "was \(table).\(dropped) renamed to \(added.joined(separator: " or "))?" }
}

/// The kinds of objects that a plan is allowed to drop if no model declares them.
public struct SchemaDropping: OptionSet, Sendable, Hashable {
  public let rawValue: Int

  public init(rawValue: Int) { self.rawValue = rawValue }

  /// Drops columns of the models' tables together with their values.
  public static let columns = SchemaDropping(rawValue: 1)
  /// Drops indexes of the models' tables, except the indexes that SQLite creates for constraints.
  public static let indexes = SchemaDropping(rawValue: 2)
}
