// Declarations with different spelling that SQLite treats as equal.

import SqlableCore

extension DatabaseSchema.Table {
  func hasSameType(_ column: DatabaseSchema.Column, as otherColumn: DatabaseSchema.Column, of other: Self) -> Bool {
    if column.type == otherColumn.type { return true }
    // A primary key is the rowid only if its declared type is INTEGER.
    guard isRowid(column.name) == other.isRowid(otherColumn.name) else { return false }
    guard isStrict, other.isStrict else { return TypeAffinity.isSame(column.type.text, otherColumn.type.text) }
    let integers: [SchemaText] = ["INT", "INTEGER"]
    return integers.contains(column.type) && integers.contains(otherColumn.type)
  }

  private func isRowid(_ column: String) -> Bool {
    keyIsRowid && primaryKey?.columns.first?.expression.isName(column) == true
  }

  /// True if a column belongs to the primary key. A model declares its key columns NOT NULL even if the table does not.
  func isKey(_ column: String) -> Bool {
    primaryKey?.columns.contains { $0.expression.isName(column) } ?? false
  }
}

extension DatabaseSchema.Column {
  /// True if an INSERT without a value stores the same default in this column and in `other`.
  func hasSameDefault(as other: DatabaseSchema.Column) -> Bool {
    if defaultValue == other.defaultValue { return true }
    if let ownDefault = defaultValue, let otherDefault = other.defaultValue, ownDefault.isBlob, otherDefault.isBlob {
      return ownDefault.text.uppercased() == otherDefault.text.uppercased()
    }
    guard let ownDefault = storedDefault, let otherDefault = other.storedDefault else { return false }
    return ownDefault == otherDefault
  }

  /// The value that the default stores; nil for a computed default.
  @inline(never)
  var storedDefault: DatabaseValue? {
    guard let defaultValue else { return .null }
    return defaultValue.constant.map { TypeAffinity(of: type.text).stored($0) }
  }
}

extension SchemaText {
  fileprivate var constant: DatabaseValue? {
    let tokens = SQLTokenList(text)
    let isNegative = tokens.isSign(0, UInt8(ascii: "-"))
    let index = isNegative || tokens.isSign(0, UInt8(ascii: "+")) ? 1 : 0
    guard tokens.count == index + 1 else { return nil }
    let word = tokens.text(index).uppercased()
    switch tokens.kind(index) {
    case .number: return SchemaText.number((isNegative ? "-" : "") + word)
    case _ where index > 0: return nil
    // In a DEFAULT clause, SQLite reads a name as a text.
    case .text, .name: return tokens.name(0).map { .text($0) }
    case .word:
      switch word {
      case "NULL": return .null
      case "TRUE": return .integer(1)
      case "FALSE": return .integer(0)
      case "CURRENT_TIME", "CURRENT_DATE", "CURRENT_TIMESTAMP": return nil
      default: return tokens.name(0).map { .text($0) }
      }
    case .blob, .parameter, .symbol, .illegal, nil: return nil
    }
  }

  private static func number(_ text: String) -> DatabaseValue? {
    guard text.first(where: { $0 != "-" })?.isNumber == true || text.contains(".") else { return nil }
    let text = text.filter { $0 != "_" }  // SQLite's digit separator
    return text.contains("X") ? nil : Int64(text).map { .integer($0) } ?? Double(text).map { .real($0) }
  }

  fileprivate var isBlob: Bool { text.uppercased().hasPrefix("X'") }
}

extension DatabaseSchema.Column {
  /// True if the column has a default that a model's column of this type can't declare: an expression other than a
  /// constant, or a constant that the type can't store.
  func hasComputedDefault(for type: ColumnType) -> Bool {
    guard let defaultValue, !defaultValue.isBlob else { return false }
    return storedDefault.map { !type.stores($0) } ?? true
  }
}

extension DatabaseSchema.ForeignKey {
  /// True if the two foreign keys reference the same columns. A foreign key without columns references the parent's
  /// primary key.
  func isSame(as other: DatabaseSchema.ForeignKey, in schema: DatabaseSchema?) -> Bool {
    if self == other { return true }
    var (foreignKey, other) = (self, other)
    guard foreignKey.references.isEmpty != other.references.isEmpty, foreignKey.table == other.table else {
      return false
    }
    let parent = foreignKey.table.name.flatMap { schema?[table: $0] }
    let key = parent?.primaryKey?.columns.map(\.expression)
    let list = foreignKey.references.isEmpty ? other.references : foreignKey.references
    guard key.map({ $0 == list }) ?? (parent == nil && list.count == columns.count) else { return false }
    (foreignKey.references, other.references) = ([], [])
    return foreignKey == other
  }
}

extension SchemaText {
  func isSameModule(as other: SchemaText) -> Bool {
    if self == other { return true }
    guard let arguments = FullTextArguments(self), let otherArguments = FullTextArguments(other) else { return false }
    return arguments.isSame(as: otherArguments)
  }
}

extension FullTextArguments {
  fileprivate func isSame(as other: FullTextArguments) -> Bool {
    let names = { (arguments: FullTextArguments) in
      [
        arguments.columns.map(\.foldedName),
        arguments.unindexed.map(\.foldedName).ordered { $0.lexicographicallyPrecedes($1) },
        [arguments.content.map(\.foldedName) ?? [0]], [arguments.contentKey.foldedName],
        arguments.otherOptions.map(\.foldedName).ordered { $0.lexicographicallyPrecedes($1) },
      ]
    }
    let tokenizer = { (arguments: FullTextArguments) in arguments.tokenizer ?? ["unicode61"] }
    guard names(self) == names(other), Set(prefixes) == Set(other.prefixes) else { return false }
    let (ownTokenizer, otherTokenizer) = (tokenizer(self), tokenizer(other))
    // Compare the arguments case-sensitively: the argument of `separators` is a list of characters.
    return ownTokenizer.first?.foldedName == otherTokenizer.first?.foldedName
      && ownTokenizer.dropFirst() == otherTokenizer.dropFirst()
  }
}

extension DatabaseSchema.Column {
  var needsValue: Bool { isNotNull && defaultValue == nil && generated == nil }

  /// True if a row without a value for the column stores NULL.
  @inline(never)
  fileprivate var isNullByDefault: Bool { !isNotNull && generated == nil && storedDefault == .null }
}

extension DatabaseSchema.Table {
  /// True if one of the columns is not in the model and is NULL in the rows that the model writes. UNIQUE and foreign
  /// keys ignore such a row.
  @inline(never)
  func hasNull(_ names: [SchemaText], besides model: DatabaseSchema.Table) -> Bool {
    columns.contains { column in
      column.isNullByDefault && model[column: column.name] == nil && names.contains { $0.isName(column.name) }
    }
  }
}

extension DatabaseSchema.Check {
  /// True if every row of the model satisfies the condition. This is known in two cases: the condition reads only
  /// columns that the model lacks, or it compares such a column, and the column is NULL unless an insert sets a value.
  func isSatisfied(in table: DatabaseSchema.Table, byRowsOf model: DatabaseSchema.Table) -> Bool {
    let tokens = SQLTokenList(expression.text)
    let names = (0..<tokens.count).filter { tokens.kind($0) != .text }.compactMap { tokens.name($0) }
    let extra = table.columns.filter { column in
      model[column: column.name] == nil && names.contains(where: column.name.isSameName)
    }
    guard !extra.isEmpty, extra.allSatisfy({ !$0.needsValue && $0.generated == nil }) else { return false }
    guard names.contains(where: { model[column: $0] != nil }) else { return true }
    // `NULL > size` is NULL, which satisfies a CHECK.
    return tokens.count == 3 && extra.contains(where: \.isNullByDefault)
  }
}

extension DatabaseSchema.Table {
  /// True if an index that no model declares repeats a constraint or index that the model declares.
  func repeatsUniqueness(_ index: DatabaseSchema.Index) -> Bool {
    let lists = uniques.map(\.columns) + (primaryKey.map { [$0.columns] } ?? [])
    return indexes.contains { $0.isUnique && $0.isSame(as: index) }
      || index.condition == nil && lists.contains { Set($0) == Set(index.terms) }
  }
}
