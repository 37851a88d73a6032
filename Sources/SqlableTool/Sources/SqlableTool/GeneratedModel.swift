import Sqlable

struct GeneratedModel {
  struct Property {
    /// The name, in backticks if Swift requires them.
    let name: String
    let column: ReadTable.Column
    let isNullable: Bool
    /// True if the struct's value is nil until the row is stored.
    let isFilledBySQLite: Bool
    var options: [String] = []
    /// True if the declaration states the type, because Swift can't infer the type from the referenced properties.
    var statesType = false
    var remarks: [String]

    var valueType: String { column.type.swiftName + (isNullable ? "?" : "") }
    var type: String { column.type.swiftName + (isOptional ? "?" : "") }
    var isOptional: Bool { isNullable || isFilledBySQLite }
  }

  struct Index {
    /// The terms. A column in descending order is followed by `.desc`.
    let terms: [String]
    let arguments: [String]

    var text: String { "Index(\((terms + arguments).joined(separator: ", ")))" }
  }

  let typeName: String
  let source: ReadTable
  let usesMacro: Bool
  var properties: [Property] = []
  var constraints: [String] = []
  var indexes: [Index] = []
  var options: [String] = []
  var fullText: String?
  var remarks: [String] = []
  /// The parts of the table that the model can't declare, as SQL or in words.
  var undeclared: [String] = []
  /// The names of the declared constraints, in lower case. SQLite allows several constraints with one name. Only the
  /// first of them is declared with the name.
  private var constraintNames: Set<String> = []

  /// Creates the model of a table. `typeNames` are the type names of all models.
  init(_ source: ReadTable, named typeName: String, among typeNames: [String], usesMacro: Bool) {
    self.source = source
    self.typeName = typeName
    // A macro also generates `write(to:)`, so a read-only model is written without a macro.
    self.usesMacro = usesMacro && !source.isReadOnly
    // A column and a table with the same name can get the same name in Swift, and the property would hide the type.
    // This can happen in writing systems without capital letters, and with names that start with a symbol.
    var names = SwiftNames(reserving: SwiftNames.reservedProperties.union(typeNames))
    properties = source.columns.map { Property($0, named: names.property(for: $0.name), in: source) }
  }

  func property(_ column: SchemaText) -> Property? { properties.first { column.isName($0.column.name) } }

  var key: [Property] { properties.filter { $0.column.row.key > 0 }.sorted { $0.column.row.key < $1.column.row.key } }
}

extension GeneratedModel.Property {
  fileprivate init(_ column: ReadTable.Column, named name: String, in table: ReadTable) {
    self.name = name
    self.column = column
    let isRowid = column.row.key > 0 && (table.keyIsRowid || table.table == nil)
    isNullable = !isRowid && (column.hasNull || !column.row.isRequired)
    isFilledBySQLite = isRowid || column.row.isGenerated
    remarks = column.type.remarks
    if column.hasNull, column.row.isRequired {
      remarks.append(column.row.key > 0 ? "part of the key, but holds NULL" : "NOT NULL, but holds NULL")
    }
  }
}

// MARK: Declarations

extension GeneratedModel {
  /// Adds all declarations that a model can make for its table.
  ///
  /// - Parameters:
  ///   - models: The models that foreign keys can reference.
  ///   - searches: The FTS5 tables. Some of these tables can be indexes of other tables.
  mutating func declare(with models: [GeneratedModel], searches: [(name: String, arguments: FullTextArguments)]) {
    if source.lacksColumns { remarks.append("A column whose name is empty is left out.") }
    switch source.kind {
    case .table(let table):
      declareColumns(of: table)
      declareKey(of: table)
      declareConstraints(of: table, models)
      declareIndexes(of: table)
      if table.isStrict { options.append(".strict") }
      if table.isWithoutRowid { options.append(".withoutRowid") }
      let search = searches.first { $0.arguments.isIndex(named: $0.name, of: table, source) }
      fullText = search.map { index(named: $0.name, $0.arguments) }
      for trigger in table.triggers {
        if let search, FullTextArguments.isTrigger(trigger.name, of: search.name) { continue }
        undeclared.append(trigger.sql.text)
      }
    case .fullText(let arguments): declareFullText(arguments)
    case .virtual(let module): remarks.append("A virtual table, which is only read: \(module.text)")
    case .view(let view):
      remarks.append("A view, which is only read.")
      if let query = view.parts?.query, !source.lacksColumns {
        options.append(".view(View(sql: \(query.text.swiftLiteral)))")
      }
      for trigger in view.triggers { undeclared.append(trigger.sql.text) }
    }
  }

  private mutating func declareColumns(of table: DatabaseSchema.Table) {
    for index in properties.indices {
      let column = properties[index].column
      if let type = column.schema?.type.text, !source.isDeclared(type, as: column), DeclaredType.isType(type) {
        properties[index].options.append("DeclaredType(\(type.swiftLiteral))")
      }
      switch column.defaultValue {
      case .none: break
      case .constant(let value):
        if let option = column.type.defaultOption(value) {
          properties[index].options.append(option)
        } else {
          properties[index].remarks.append(
            "the default is not declared in the model: \(column.schema?.defaultValue?.text ?? "")")
        }
      case .expression(let sql): properties[index].options.append("Default(sql: \(sql.swiftLiteral))")
      }
      if let collation = column.schema?.collation {
        let name = collation.name ?? collation.text
        let option: String
        switch name.uppercased() {
        case "NOCASE": option = ".nocase"
        case "RTRIM": option = ".rtrim"
        default: option = ".named(\(name.swiftLiteral))"
        }
        properties[index].options.append("Collate\(option)")
      }
      if let generated = column.schema?.generated {
        let stored = generated.isStored ? ", stored: true" : ""
        properties[index].options.append("Generated(\(generated.expression.text.swiftLiteral)\(stored))")
      }
      declareNotNull(of: column.schema, at: index)
    }
  }

  private mutating func declareNotNull(of column: DatabaseSchema.Column?, at index: Int) {
    guard let column, column.notNullConflict != nil || column.notNullName != nil else { return }
    guard column.notNullConflict.canBeDeclared, !properties[index].isNullable else {
      if let conflict = column.notNullConflict { undeclared.append("\(column.name) NOT NULL ON CONFLICT \(conflict)") }
      return
    }
    let arguments = clauses(column.notNullName, column.notNullConflict)
    if !arguments.isEmpty { properties[index].options.append("NotNull(\(arguments.joined(separator: ", ")))") }
  }

  private mutating func declareKey(of table: DatabaseSchema.Table) {
    guard let key = table.primaryKey else {
      remarks.append("Without a primary key: update(), delete() and save() throw.")
      return
    }
    let collations = key.columns.compactMap(\.collation)
    if !collations.isEmpty || !key.onConflict.canBeDeclared { undeclared.append(key.sql) }
    let names = key.columns.map { property($0.expression).map { [$0] } ?? [] }
    guard names.allSatisfy({ !$0.isEmpty }) else {
      undeclared.append(key.sql)
      return
    }
    // In a column's definition, INTEGER PRIMARY KEY DESC is not the rowid and has a separate index. In a table
    // constraint, PRIMARY KEY (… DESC) is the rowid.
    let isDescending = key.columns[0].isDescending
    let clauses = clauses(key.name, key.onConflict)
    if names.count == 1, !isDescending || !source.keyIsRowid {
      let arguments = (key.isAutoincrement ? ["autoincrement: true"] : []) + (isDescending ? ["descending: true"] : [])
      insert("PrimaryKey(\((arguments + clauses).joined(separator: ", ")))", names[0][0])
    } else {
      constraints.append("PrimaryKeys(\((terms(key.columns) + clauses).joined(separator: ", ")))")
    }
    let mayBeNull = names.joined().filter { !$0.isFilledBySQLite && $0.column.schema?.isNotNull == false }
    if !table.isWithoutRowid, !mayBeNull.isEmpty { remarks.append("The table allows NULL in the key.") }
  }

  private mutating func insert(_ option: String, _ property: Property) {
    guard let index = properties.firstIndex(where: { $0.name == property.name }) else { return }
    properties[index].options.insert(option, at: 0)
  }

  /// Returns the columns of an index or key. Terms that are not columns are omitted.
  private func terms(_ terms: [DatabaseSchema.Term]) -> [String] {
    terms.compactMap { term in property(term.expression).map { $0.name + (term.isDescending ? ".desc" : "") } }
  }

  /// Returns true if the terms are distinct columns without explicit collations.
  private func canDeclare(_ list: [DatabaseSchema.Term]) -> Bool {
    list.allSatisfy { $0.collation == nil } && terms(list).count == list.count
      && Set(list.map(\.expression)).count == list.count
  }

  private mutating func clauses(_ name: String?, _ conflict: SchemaText?) -> [String] {
    var arguments: [String] = []
    if conflict.canBeDeclared, let conflict { arguments.append("onConflict: .\(conflict.text.lowercased())") }
    if let name, !name.isEmpty, constraintNames.insert(name.lowercased()).inserted {
      arguments.append("name: \(name.swiftLiteral)")
    }
    return arguments
  }

  /// Returns true if the model declares these columns as key or unique, so that a foreign key can reference them.
  private func isUnique(_ columns: [Property]) -> Bool {
    guard let table = source.table else { return false }
    let names = columns.map { SchemaText(name: $0.column.name) }
    func isSame(_ terms: [DatabaseSchema.Term]) -> Bool {
      canDeclare(terms) && terms.count == names.count && terms.allSatisfy { names.contains($0.expression) }
    }
    let isKey =
      key.count == columns.count && key.allSatisfy { keyProperty in columns.contains { $0.name == keyProperty.name } }
    return isKey || table.uniques.contains { isSame($0.columns) && $0.onConflict.canBeDeclared }
      || table.indexes.contains { $0.isUnique && $0.condition == nil && isSame($0.terms) }
  }

  private mutating func declareConstraints(of table: DatabaseSchema.Table, _ models: [GeneratedModel]) {
    for unique in table.uniques {
      guard canDeclare(unique.columns), unique.onConflict.canBeDeclared else {
        undeclared.append(unique.sql)
        continue
      }
      let clauses = clauses(unique.name, unique.onConflict)
      let isOne = unique.columns.count == 1 && !unique.columns[0].isDescending
      let name = isOne ? property(unique.columns[0].expression)?.name : nil
      let isFree = { (property: Property) in !property.options.contains { $0.hasPrefix("Unique(") } }
      if let index = properties.firstIndex(where: { $0.name == name && isFree($0) }) {
        properties[index].options.append("Unique(\(clauses.joined(separator: ", ")))")
      } else {
        constraints.append("Unique(\((terms(unique.columns) + clauses).joined(separator: ", ")))")
      }
    }
    for check in table.checks {
      let arguments = [check.expression.text.swiftLiteral] + clauses(check.name, nil)
      constraints.append("Check(\(arguments.joined(separator: ", ")))")
    }
    for key in table.foreignKeys {
      if !declare(key, models) { undeclared.append(key.sql) }
    }
  }

  /// Declares a foreign key. Returns false if the model can't declare the key.
  private mutating func declare(_ key: DatabaseSchema.ForeignKey, _ models: [GeneratedModel]) -> Bool {
    let columns = key.columns.compactMap(property)
    guard columns.count == key.columns.count,
      let target = models.first(where: { key.table.isName($0.source.name) && $0.source.table != nil })
    else { return false }
    let referred = key.references.isEmpty ? target.key : key.references.compactMap(target.property)
    guard referred.count == columns.count, key.references.isEmpty || referred.count == key.references.count,
      target.isUnique(referred), Set(columns.map(\.name)).count == columns.count
    else { return false }
    var arguments: [String] = []
    if key.onDelete != .noAction { arguments.append("onDelete: .\(key.onDelete.swiftName)") }
    if key.onUpdate != .noAction { arguments.append("onUpdate: .\(key.onUpdate.swiftName)") }
    if key.isDeferred { arguments.append("deferred: true") }
    arguments += clauses(key.name, nil)
    let index = properties.firstIndex { $0.name == columns[0].name }
    let isKey = referred.map(\.name) == target.key.map(\.name)
    // Two attributes with key paths to each other would be a circular reference, but two constraints are not.
    let isOption = columns.count == 1 && (isKey || !usesMacro)
    if isOption, let index, !properties[index].options.contains(where: { $0.hasPrefix("ForeignKey<") }) {
      if !isKey {
        arguments.insert("column: \(target.typeName).\(referred[0].name)", at: 0)
        properties[index].statesType = true
      }
      properties[index].options.append("ForeignKey<\(target.typeName)>(\(arguments.joined(separator: ", ")))")
    } else {
      let columnNames = columns.map(\.name).joined(separator: ", ")
      let referredNames = referred.map { "\(target.typeName).\($0.name)" }.joined(separator: ", ")
      let parts = ["[\(columnNames)]", "to: \(target.typeName).self", "[\(referredNames)]"] + arguments
      constraints.append("ForeignKeys(\(parts.joined(separator: ", ")))")
    }
    return true
  }

  private mutating func declareIndexes(of table: DatabaseSchema.Table) {
    for index in table.indexes {
      let names = index.terms.map { ($0.expression.name ?? "") + ($0.isDescending ? "_desc" : "") }
      let declared = canDeclare(index.terms) ? terms(index.terms) : index.terms.map(\.declaration)
      var arguments: [String] = []
      if index.isUnique { arguments.append("unique: true") }
      if let condition = index.condition { arguments.append("where: \(condition.text.swiftLiteral)") }
      let usual = ([source.name] + names).joined(separator: "_")
      if !canDeclare(index.terms) || index.condition != nil || !usual.utf8.elementsEqual(index.name.utf8) {
        arguments.append("name: \(index.name.swiftLiteral)")
      }
      indexes.append(Index(terms: declared, arguments: arguments))
    }
  }
}

// MARK: Full-text search

extension GeneratedModel {
  private mutating func declareFullText(_ arguments: FullTextArguments) {
    for index in properties.indices {
      if properties[index].column.row.key > 0 {
        properties[index].options.append("PrimaryKey()")
      } else if arguments.unindexed.contains(properties[index].column.name) {
        properties[index].options.append("Unindexed()")
      }
    }
    var parts = arguments.options
    if arguments.content?.isEmpty == true { parts.append("content: .none") }
    options.append(".fullText(\(parts.joined(separator: ", ")))")
    if let content = arguments.content, !content.isEmpty {
      remarks.append("The text is stored in \(content): write to that table or view.")
    }
    undeclared += arguments.otherOptions
  }

  private func index(named name: String, _ arguments: FullTextArguments) -> String {
    var parts = arguments.columns.compactMap { column in
      properties.first { $0.column.name.utf8.elementsEqual(column.utf8) }?.name
    }
    parts += arguments.options
    if !name.utf8.elementsEqual((source.name + "_fulltext").utf8) { parts.append("name: \(name.swiftLiteral)") }
    return "FullTextIndex(\(parts.joined(separator: ", ")))"
  }
}

extension DatabaseSchema.Term {
  /// The declaration of the term as an `IndexColumn` of SQL text.
  fileprivate var declaration: String {
    let sql = expression.text + (collation.map { " COLLATE \($0)" } ?? "")
    return "IndexColumn(sql: \(sql.swiftLiteral)\(isDescending ? ", descending: true" : ""))"
  }
}

extension SchemaText? {
  fileprivate var canBeDeclared: Bool {
    switch self {
    case nil, .some("replace"), .some("ignore"): true
    default: false
    }
  }
}

extension SchemaText {
  fileprivate var canBeDeclared: Bool { Optional(self).canBeDeclared }
}

extension ForeignKeyAction {
  fileprivate var swiftName: String {
    switch self {
    case .noAction: "noAction"
    case .restrict: "restrict"
    case .setNull: "setNull"
    case .setDefault: "setDefault"
    case .cascade: "cascade"
    }
  }
}
