import SqlableCore

/// A difference between a model and its table, or between two schemas.
///
/// ```swift
/// for difference in try Schema(Bicycle.self, Person.self).differences(db) { print(difference) }
/// // bicycle.color: the type is TEXT, and should be INTEGER
/// // bicycle: the index bicycle_name is missing
/// ```
public struct SchemaDifference: Sendable, Hashable, Codable {
  public let table: String
  /// The differing column; nil if the difference is not in a column.
  public let column: String?
  public let kind: Kind
  /// The name of the differing index or trigger.
  public let name: String?
  /// The expected text; nil for an object that should not exist or a property that should not be set.
  public let expected: String?
  /// The actual text; nil for a missing object or an unset property.
  public let found: String?
  /// True if the difference is an extra object that does not affect a program with these models.
  ///
  /// These extra objects are harmless: tables, views, triggers, non-unique indexes, and columns that are nullable,
  /// generated or have a default. Constraints and unique indexes are harmless if a row without values for the extra
  /// columns satisfies them. Examples are UNIQUE constraints and foreign keys with an extra column that is NULL in such
  /// a row. A CHECK is harmless if it reads only harmless columns, or compares a column that is NULL in such a row.
  public internal(set) var isHarmless = false

  init(
    _ table: String, column: String? = nil, _ kind: Kind, name: String? = nil, expected: String?, found: String?
  ) {
    (self.table, self.column, self.kind, self.name) = (table, column, kind, name)
    (self.expected, self.found) = (expected, found)
  }

  /// The kind of the differing object or property.
  public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
    case table, column, type, notNull, defaultValue, collation, generated, primaryKey, unique, check, foreignKey
    case index, trigger, view, strict, withoutRowid, fullText
  }

  /// True if the database contains an object that no model declares.
  public var isExtra: Bool { expected == nil && kind.isObject }

  /// True if a model declares an object that is missing in the database.
  public var isMissing: Bool { found == nil && kind.isObject }

  fileprivate var harmless: SchemaDifference {
    var difference = self
    difference.isHarmless = true
    return difference
  }

  /// Returns the difference, marked as harmless if it is an extra object that does not affect the models.
  func marked(in table: DatabaseSchema.Table, of model: DatabaseSchema.Table) -> SchemaDifference {
    guard isExtra else { return self }
    var difference = self
    difference.isHarmless =
      switch kind {
      case .column:
        column.flatMap { table[column: $0] }.map { !$0.needsValue } ?? false
      case .index:
        table.indexes.first { $0.name.isSameName(as: name ?? "") }.map {
          !$0.isUnique || model.repeatsUniqueness($0) || table.hasNull($0.terms.map(\.expression), besides: model)
        } ?? true
      case .unique:
        table.uniques.contains { $0.sql == found && table.hasNull($0.columns.map(\.expression), besides: model) }
      case .foreignKey: table.foreignKeys.contains { $0.sql == found && table.hasNull($0.columns, besides: model) }
      case .check:
        table.checks.contains { $0.sql == found && $0.isSatisfied(in: table, byRowsOf: model) }
      case .trigger: true
      default: false
      }
    return difference
  }
}

extension SchemaDifference.Kind {
  /// True if the kind is about a whole object, such as a table or an index. Other kinds are about a property of an
  /// object, such as NOT NULL.
  fileprivate var isObject: Bool {
    switch self {
    case .table, .column, .unique, .check, .foreignKey, .index, .trigger, .view, .fullText: true
    default: false
    }
  }

  fileprivate var words: String {
    switch self {
    case .notNull: "NOT NULL"
    case .unique: "UNIQUE constraint"
    case .check: "CHECK constraint"
    case .defaultValue: "default"
    case .generated: "generated expression"
    case .primaryKey: "primary key"
    case .foreignKey: "foreign key"
    case .strict: "option STRICT"
    case .withoutRowid: "option WITHOUT ROWID"
    case .fullText: "full-text index"
    default: rawValue
    }
  }
}

extension SchemaDifference: CustomStringConvertible {
  /// A text such as `bicycle.color: the type is TEXT, and should be INTEGER`.
  public var description: String {
    let location = column.map { "\(table).\($0)" } ?? table
    let words = ["the", kind.words] + (isWhole ? [] : name.map { [$0] } ?? [])
    let subject = words.joined(separator: " ")
    let problem =
      switch (expected, found) {
      case (_, nil) where kind.isObject: "\(subject) is missing" + (isWhole || name != nil ? "" : ": \(expected ?? "")")
      case (nil, _) where kind.isObject:
        "\(subject) is not expected" + (isWhole || name != nil ? "" : ": \(found ?? "")")
      case (_, let found?) where kind == .table: "\(subject) is \(found), and should be a table"
      default: "\(subject) is \(found ?? "missing"), and should be \(expected ?? "absent")"
      }
    return "\(location): \(problem)"
  }

  /// True if a whole table, column or view differs. The description begins with the name of this table, column or view,
  /// so the name is not repeated.
  private var isWhole: Bool { kind == .table || kind == .column || kind == .view }
}

// MARK: Comparing

extension DatabaseSchema {
  /// Returns the differences from another schema. `expected` is the text in the other schema, and `found` is the text
  /// in this schema.
  ///
  /// The comparison ignores the order of columns and the names of constraints. It also ignores whether a constraint of
  /// a single column is part of the column's definition or follows all columns.
  public func differences(from other: DatabaseSchema) -> [SchemaDifference] {
    var differences: [SchemaDifference] = []
    for expected in other.tables {
      if let existing = self[table: expected.name] {
        differences += existing.differences(from: expected, in: self).map { $0.marked(in: existing, of: expected) }
      } else {
        differences.append(.init(expected.name, .table, expected: expected.sql, found: nil))
      }
    }
    for existing in tables where other[table: existing.name] == nil {
      differences.append(.init(existing.name, .table, expected: nil, found: existing.sql).harmless)
    }
    for expected in other.views {
      let existing = views.first { $0.name.isSameName(as: expected.name) }
      if existing?.sql != expected.sql {
        differences.append(.init(expected.name, .view, expected: expected.sql.text, found: existing?.sql.text))
      }
      differences += Table.triggers(expected.triggers, existing?.triggers ?? [], of: expected.name)
    }
    for existing in views where !other.views.contains(where: { $0.name.isSameName(as: existing.name) }) {
      differences.append(.init(existing.name, .view, expected: nil, found: existing.sql.text).harmless)
    }
    return differences
  }
}

extension DatabaseSchema.Table {
  func differences(from other: DatabaseSchema.Table, in schema: DatabaseSchema?) -> [SchemaDifference] {
    guard self != other else { return [] }
    var differences: [SchemaDifference] = []
    func note(
      _ kind: SchemaDifference.Kind, _ expected: String?, _ found: String?, column: String? = nil, name: String? = nil
    ) {
      differences.append(
        SchemaDifference(self.name, column: column, kind, name: name, expected: expected, found: found))
    }
    for column in other.columns {
      if let existing = self[column: column.name] {
        if !hasSameType(existing, as: column, of: other) {
          note(.type, column.type.text, existing.type.text, column: existing.name)
        }
        for (kind, expected, found) in existing.differences(from: column) {
          if kind == .notNull, isKey(existing.name), other.isKey(existing.name) { continue }
          note(kind, expected, found, column: existing.name)
        }
      } else {
        note(.column, column.type.text, nil, column: column.name)
      }
    }
    for column in columns where other[column: column.name] == nil {
      note(.column, nil, column.type.text, column: column.name)
    }
    if module != other.module, module.map({ existing in other.module.map(existing.isSameModule) ?? false }) != true {
      note(.table, other.sql, sql)
    }
    if isStrict != other.isStrict { note(.strict, other.isStrict.word, isStrict.word) }
    if isWithoutRowid != other.isWithoutRowid { note(.withoutRowid, other.isWithoutRowid.word, isWithoutRowid.word) }
    if primaryKey != other.primaryKey { note(.primaryKey, other.primaryKey?.sql, primaryKey?.sql) }
    differences += constraints(.unique, of: other, \.uniques, ==)
    differences += constraints(.check, of: other, \.checks, ==)
    differences += constraints(.foreignKey, of: other, \.foreignKeys) { $0.isSame(as: $1, in: schema) }
    for index in other.indexes {
      let match = indexes.first { $0.name.isSameName(as: index.name) }
      if match.map({ !$0.isSame(as: index) }) ?? true { note(.index, index.sql, match?.sql, name: index.name) }
    }
    for index in indexes where !other.indexes.contains(where: { $0.name.isSameName(as: index.name) }) {
      note(.index, nil, index.sql, name: index.name)
    }
    return differences + DatabaseSchema.Table.triggers(other.triggers, triggers, of: name)
  }

  private func constraints<Constraint: SchemaConstraint>(
    _ kind: SchemaDifference.Kind, of other: DatabaseSchema.Table, _ list: (DatabaseSchema.Table) -> [Constraint],
    _ isSame: (Constraint, Constraint) -> Bool
  ) -> [SchemaDifference] {
    let (expected, existing) = (list(other), list(self))
    let missing = expected.filter { constraint in !existing.contains { isSame(constraint, $0) } }
    let extra = existing.filter { constraint in !expected.contains { isSame(constraint, $0) } }
    return missing.map { SchemaDifference(name, kind, expected: $0.sql, found: nil) }
      + extra.map { SchemaDifference(name, kind, expected: nil, found: $0.sql) }
  }

  fileprivate static func triggers(
    _ expected: [DatabaseSchema.Trigger], _ existing: [DatabaseSchema.Trigger], of table: String
  ) -> [SchemaDifference] {
    let missing = expected.compactMap { trigger -> SchemaDifference? in
      let match = existing.first { $0.name.isSameName(as: trigger.name) }
      guard match?.sql != trigger.sql else { return nil }
      return SchemaDifference(table, .trigger, name: trigger.name, expected: trigger.sql.text, found: match?.sql.text)
    }
    let extra = existing.filter { trigger in !expected.contains { $0.name.isSameName(as: trigger.name) } }
    return missing
      + extra.map { SchemaDifference(table, .trigger, name: $0.name, expected: nil, found: $0.sql.text) }
  }
}

extension DatabaseSchema.Column {
  fileprivate func differences(
    from other: DatabaseSchema.Column
  ) -> [(kind: SchemaDifference.Kind, expected: String?, found: String?)] {
    var differences: [(SchemaDifference.Kind, String?, String?)] = []
    if isNotNull != other.isNotNull || notNullConflict != other.notNullConflict {
      differences.append((.notNull, other.notNullWords, notNullWords))
    }
    if !hasSameDefault(as: other) {
      differences.append((.defaultValue, other.defaultValue?.text, defaultValue?.text))
    }
    if collation != other.collation {
      differences.append((.collation, other.collation?.text ?? "BINARY", collation?.text ?? "BINARY"))
    }
    if generated != other.generated { differences.append((.generated, other.generated?.sql, generated?.sql)) }
    return differences
  }
}

extension DatabaseSchema.Column {
  fileprivate var notNullWords: String { isNotNull.word + (notNullConflict.map { " ON CONFLICT \($0)" } ?? "") }
}

extension DatabaseSchema.Index {
  /// True if the indexes have the same terms, uniqueness and condition. Names are ignored.
  func isSame(as other: DatabaseSchema.Index) -> Bool {
    terms == other.terms && isUnique == other.isUnique && condition == other.condition
  }
}

extension Bool {
  fileprivate var word: String { self ? "set" : "not set" }
}

// MARK: As SQL

protocol SchemaConstraint: Equatable {
  var sql: String { get }
}

extension DatabaseSchema.Term {
  var sql: String {
    expression.text + (collation.map { " COLLATE \($0)" } ?? "") + (isDescending ? " DESC" : "")
  }
}

extension [DatabaseSchema.Term] {
  fileprivate var sql: String { "(\(map(\.sql).joined(separator: ", ")))" }
}

extension DatabaseSchema.PrimaryKey: SchemaConstraint {
  package var sql: String {
    "PRIMARY KEY \(columns.sql)" + (isAutoincrement ? " AUTOINCREMENT" : "")
      + (onConflict.map { " ON CONFLICT \($0)" } ?? "")
  }
}

extension DatabaseSchema.Unique: SchemaConstraint {
  package var sql: String { "UNIQUE \(columns.sql)" + (onConflict.map { " ON CONFLICT \($0)" } ?? "") }
}

extension DatabaseSchema.Check: SchemaConstraint {
  var sql: String { "CHECK (\(expression))" }
}

extension DatabaseSchema.ForeignKey: SchemaConstraint {
  package var sql: String {
    let list = { (names: [SchemaText]) in "(\(names.map(\.text).joined(separator: ", ")))" }
    return "FOREIGN KEY \(list(columns)) REFERENCES \(table)" + (references.isEmpty ? "" : " \(list(references))")
      + (onDelete == .noAction ? "" : " ON DELETE \(onDelete.rawValue)")
      + (onUpdate == .noAction ? "" : " ON UPDATE \(onUpdate.rawValue)")
      + (isDeferred ? " DEFERRABLE INITIALLY DEFERRED" : "")
  }
}

extension DatabaseSchema.Column.Generated {
  fileprivate var sql: String { "(\(expression)) \(isStored ? "STORED" : "VIRTUAL")" }
}
