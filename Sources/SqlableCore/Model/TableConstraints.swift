/// A constraint of a table: ``Unique``, ``PrimaryKeys``, ``Check`` or ``ForeignKeys``.
public protocol TableConstraint: Sendable {}

/// The part of a constraint that only the library uses. Every constraint of the library conforms.
package protocol AppliedConstraint: TableConstraint {
  func write(to table: inout TableConstraints)
}

package struct TableConstraints: Sendable {
  /// The primary keys. A table with more than one primary key is an error.
  package var primaryKeys: [KeyConstraint] = []
  package var uniques: [KeyConstraint] = []
  package var checks: [Check] = []
  package var foreignKeys: [(columns: [String], reference: ForeignKeyReference)] = []

  /// Returns the names and conflict policies of the table's and the columns' constraints.
  func clauses(with columns: [Column]) -> [ConstraintClauses] {
    var clauses: [ConstraintClauses] = []
    for column in columns {
      let options = column.definition.options
      clauses += [options.primaryKey?.clauses, options.notNull, options.unique].compactMap(\.self)
      clauses += options.checks.map(\.clauses) + options.foreignKeys.map(\.clauses)
    }
    clauses += (primaryKeys + uniques).map(\.clauses)
    return clauses + checks.map(\.clauses) + foreignKeys.map(\.reference.clauses)
  }
}

package struct KeyConstraint: Sendable, Hashable {
  package let columns: [IndexColumn]
  package let clauses: ConstraintClauses
}

/// Requires a value, or a combination of values, to be unique among the rows. NULLs never conflict.
///
/// ```swift
/// Column("email", .text, Unique())                                                    // "email" TEXT NOT NULL UNIQUE
/// static let tableConstraints = [Unique(Bicycle.name, Bicycle.color)]                      // UNIQUE ("name", "color")
/// ```
public struct Unique: ColumnOption, AppliedOption, TableConstraint, AppliedConstraint {
  private let columns: [IndexColumn]
  private let clauses: ConstraintClauses

  /// Makes a column unique, as an option in the column's declaration.
  ///
  /// - Parameters:
  ///   - onConflict: The policy for an insert or update of a value that exists: `UNIQUE ON CONFLICT IGNORE`. A
  ///     statement's own policy takes precedence.
  ///   - name: The constraint's name: `CONSTRAINT "name" UNIQUE`.
  public init(onConflict: ConflictPolicy? = nil, name: String? = nil) {
    columns = []
    clauses = ConstraintClauses(name: name, onConflict: onConflict)
  }

  /// Makes a combination of columns unique, as an element of the table's constraints.
  public init(
    _ first: any IndexTerm, _ others: any IndexTerm..., onConflict: ConflictPolicy? = nil, name: String? = nil
  ) {
    columns = ([first] + others).map(\.indexColumn)
    clauses = ConstraintClauses(name: name, onConflict: onConflict)
  }

  package func apply(to options: inout ColumnOptions) {
    options.set(\.unique, to: clauses, "Unique")
    if !columns.isEmpty { options.defect = "the option Unique can't list columns; use tableConstraints" }
  }

  /// True for a constraint of the table; false for an option of a column.
  var hasColumns: Bool { !columns.isEmpty }

  package func write(to table: inout TableConstraints) {
    table.uniques.append(KeyConstraint(columns: columns, clauses: clauses))
  }
}

/// A primary key of several columns.
///
/// ```swift
/// static let tableConstraints = [PrimaryKeys(Seat.row, Seat.number.desc)]
/// // PRIMARY KEY ("row", "number" DESC)
/// ```
public struct PrimaryKeys: TableConstraint, AppliedConstraint {
  private let key: KeyConstraint

  /// - Parameters:
  ///   - columns: The columns, in the order of the key.
  ///   - onConflict: The policy for an insert or update with a key that exists. A statement's own policy takes
  ///     precedence.
  ///   - name: The constraint's name: `CONSTRAINT "name" PRIMARY KEY (…)`.
  public init(_ columns: any IndexTerm..., onConflict: ConflictPolicy? = nil, name: String? = nil) {
    self.init(columns: columns, onConflict: onConflict, name: name)
  }

  package init(columns: [any IndexTerm], onConflict: ConflictPolicy? = nil, name: String? = nil) {
    key = KeyConstraint(
      columns: columns.map(\.indexColumn), clauses: ConstraintClauses(name: name, onConflict: onConflict))
  }

  package func write(to table: inout TableConstraints) { table.primaryKeys.append(key) }
}

/// A foreign key of several columns.
///
/// ```swift
/// ForeignKeys([a, b], to: Seat.self, [Seat.row, Seat.number])
/// // FOREIGN KEY ("a", "b") REFERENCES "seat" ("row", "number")
/// ```
public struct ForeignKeys: TableConstraint, AppliedConstraint {
  private let columns: [String]
  private let reference: ForeignKeyReference

  public init<Target: Sqlable>(
    _ columns: [any ColumnConvertible], to target: Target.Type,
    _ targetColumns: @autoclosure @escaping @Sendable () -> [any ColumnConvertible],
    onDelete: ForeignKeyAction = .noAction, onUpdate: ForeignKeyAction = .noAction, deferred: Bool = false,
    name: String? = nil
  ) {
    self.columns = columns.map(\.column.name)
    reference = ForeignKeyReference(
      to: Target.self, columns: { targetColumns().map(\.column.name) }, onDelete: onDelete, onUpdate: onUpdate,
      isDeferred: deferred, name: name)
  }

  package func write(to table: inout TableConstraints) { table.foreignKeys.append((columns, reference)) }
}

/// A column of an index or key, or a term of an index, with the sort direction.
public struct IndexColumn: Sendable, Hashable {
  /// The column's name; for a term, the term's words joined by underscores.
  @ByteComparedName private var text: String?
  package let isDescending: Bool
  package let term: DeclaredExpression?

  package var name: String { text ?? "" }

  package init(name: String, isDescending: Bool) {
    (self.isDescending, term) = (isDescending, nil)
    text = name
  }

  init(_ term: DeclaredExpression, isDescending: Bool) {
    (self.isDescending, self.term) = (isDescending, term)
    text = term.words.joined(separator: "_")
  }

  /// Makes an index term from an SQL expression.
  ///
  /// ```swift
  /// Index(IndexColumn(sql: "lower(name)"))     // CREATE INDEX "bicycle_lower_name" ON "bicycle" (lower(name))
  /// ```
  ///
  /// The text is inserted unchanged. Write the text in the program; never take it from user input.
  public init(sql: String, descending: Bool = false) { self.init(.sql(sql), isDescending: descending) }
}

/// A column of an index or key, or a term of an index. The order is ascending, or descending with `.desc`.
public protocol IndexTerm: Sendable {
  var indexColumn: IndexColumn { get }
}

extension IndexColumn: IndexTerm {
  public var indexColumn: IndexColumn { self }
}

extension Column: IndexTerm {
  public var indexColumn: IndexColumn { IndexColumn(name: name, isDescending: false) }
}

extension TypedColumn: IndexTerm {
  public var indexColumn: IndexColumn { IndexColumn(name: name, isDescending: false) }
}

/// An index of a table.
///
/// ```swift
/// static let tableIndexes = [Index(color), Index(name, color.desc, unique: true), Index(name.lowercase())]
/// // CREATE INDEX "bicycle_color" ON "bicycle" ("color")
/// // CREATE UNIQUE INDEX "bicycle_name_color_desc" ON "bicycle" ("name", "color" DESC)
/// // CREATE INDEX "bicycle_lower_name" ON "bicycle" (lower("name"))
/// ```
///
/// Values in a term become literals. A term that a ``Check`` can't contain can't be indexed. SQLite uses the index of a
/// term for the same term in a statement: see the guide on schemas.
public struct Index: Sendable, Hashable {
  package let columns: [IndexColumn]
  package let isUnique: Bool
  /// The condition that selects the indexed rows; nil if the index contains all rows.
  package let condition: DeclaredExpression?
  private let givenName: String?

  /// - Parameters:
  ///   - columns: The columns or terms, in the order of the index.
  ///   - unique: True if the index rejects a second row with the same values. Rows with a NULL never conflict.
  ///   - name: The index's name. The default joins the names of table and columns, and `desc`, by underscores. In
  ///     another table with the model's layout, the name of that table precedes the given name: `archive_by_color`.
  public init(_ columns: any IndexTerm..., unique: Bool = false, name: String? = nil) {
    self.init(columns: columns.map(\.indexColumn), isUnique: unique, name: name)
  }

  /// Makes an index of the rows that satisfy an SQL condition. The condition is inserted unchanged. Write the condition
  /// in the program; never take it from user input.
  public init(_ columns: any IndexTerm..., unique: Bool = false, where condition: String, name: String? = nil) {
    self.init(columns: columns.map(\.indexColumn), isUnique: unique, condition: .sql(condition), name: name)
  }

  package init(
    columns: [IndexColumn], isUnique: Bool = false, condition: DeclaredExpression? = nil, name: String? = nil
  ) {
    (self.columns, self.isUnique, self.condition, givenName) = (columns, isUnique, condition, name)
  }

  /// Returns the index's name in a table of the model. Index names are unique in a database. If the table's name
  /// differs from the model's, an index name that the model declares therefore gets the table's name as a prefix.
  package func name(in table: TableInfo) -> String { name(inTable: table.name, ofModelNamed: table.modelName) }

  private func name(inTable table: String, ofModelNamed modelName: String) -> String {
    guard let givenName else { return automaticName(inTable: table) }
    return table.isSameName(as: modelName) ? givenName : "\(table)_\(givenName)"
  }

  /// Returns the names that the index can have had before the table or its columns were renamed. The result includes
  /// the model's name for the index without a prefix, because earlier versions of the library added no prefix.
  ///
  /// - Parameters:
  ///   - table: The table with its current name.
  ///   - formerTables: The former names of the table.
  ///   - columns: The old names of columns, keyed by the case-folded new names.
  package func formerNames(
    in table: TableInfo, named formerTables: [String], columns: [[UInt8]: String]
  ) -> [String] {
    if let givenName {
      return formerTables.map { name(inTable: $0, ofModelNamed: table.modelName) } + [givenName]
    }
    return ([table.name] + formerTables).flatMap { table in
      [automaticName(inTable: table) { columns[$0.foldedName] ?? $0 }, automaticName(inTable: table)]
    }
  }

  /// Returns the name of an index that is declared without a name.
  package func automaticName(inTable table: String, _ renamed: (String) -> String = { $0 }) -> String {
    let terms = columns.map { column in
      (column.term?.words.map(renamed).joined(separator: "_") ?? renamed(column.name))
        + (column.isDescending ? "_desc" : "")
    }
    return ([table] + terms + (condition.map { ["where"] + $0.words.map(renamed) } ?? [])).joined(separator: "_")
  }

  /// The names of the index's columns; nil if the index has a term or a condition.
  var columnsOfAllRows: [String]? {
    condition == nil && columns.allSatisfy { $0.term == nil } ? columns.map(\.name) : nil
  }
}

/// An option that applies to the table, not to one column.
public enum TableOption: Sendable, Hashable {
  /// Makes SQLite reject values that can't be converted to the column's type without loss.
  case strict
  /// Stores the rows in the order of the primary key, without a rowid.
  case withoutRowid
  /// Makes the table itself a full-text table, `CREATE VIRTUAL TABLE … USING fts5(…)`.
  ///
  /// ```swift
  /// static let tableOptions: [TableOption] = [.fullText(tokenizer: .porter, prefixes: [2, 3])]
  /// // CREATE VIRTUAL TABLE "note" USING fts5("title", "body", tokenize = 'porter …', prefix = '2 3')
  /// ```
  ///
  /// Every column must be `TEXT` or ``Unindexed``. The key, if the table has one, must be an integer column named
  /// `rowid`.
  ///
  /// - Parameters:
  ///   - tokenizer: The tokenizer that splits text into words.
  ///   - prefixes: The prefix lengths to index for fast prefix queries, in characters, 1 to 999.
  ///   - content: `.stored` stores the text in addition to the index; `.none` stores only the index.
  case fullText(tokenizer: Tokenizer = .unicode61, prefixes: [Int] = [], content: FullTextContent = .stored)
  /// Makes the table a view, which can only be read.
  ///
  /// ```swift
  /// static let tableOptions: [TableOption] = [.view(View(Bicycle.select(Bicycle.color, Bicycle.id.count())…))]
  /// // CREATE VIEW "color_count" ("color", "count") AS SELECT "color", count("id") FROM "bicycle" …
  /// ```
  ///
  /// The view's columns can't have options, except that one column can be the ``PrimaryKey``. `byId(_:)` finds a row by
  /// this key. Changing or observing a view throws `.misuse`.
  case view(View)
}

extension [TableOption] {
  var view: View? {
    for case .view(let view) in self { return view }
    return nil
  }
}
