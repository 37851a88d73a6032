// Declarations that are spelled differently, and are the same to SQLite.

import SqlableCore

extension DatabaseSchema.Table {
  /// Whether two columns of one name have the same type.
  func hasSameType(_ own: DatabaseSchema.Column, as column: DatabaseSchema.Column, of other: Self) -> Bool {
    if own.type == column.type { return true }
    // Only the type INTEGER itself makes a key the rowid.
    guard isRowid(own.name) == other.isRowid(column.name) else { return false }
    guard isStrict, other.isStrict else { return TypeAffinity.isSame(own.type.text, column.type.text) }
    let integers: [SchemaText] = ["INT", "INTEGER"]
    return integers.contains(own.type) && integers.contains(column.type)
  }

  private func isRowid(_ column: String) -> Bool {
    keyIsRowid && primaryKey?.columns.first?.expression.isName(column) == true
  }

  /// Whether a column is part of the primary key, whose columns a model has NOT NULL whatever the table says.
  func isKey(_ column: String) -> Bool {
    primaryKey?.columns.contains { $0.expression.isName(column) } ?? false
  }
}

extension DatabaseSchema.Column {
  /// Whether both get the same value where an insert leaves them out.
  func hasSameDefault(as other: DatabaseSchema.Column) -> Bool {
    if defaultValue == other.defaultValue { return true }
    if let own = defaultValue, let other = other.defaultValue, own.isBlob, other.isBlob {
      return own.text.uppercased() == other.text.uppercased()
    }
    guard let own = storedDefault, let other = other.storedDefault else { return false }
    return own == other
  }

  /// The value that the default stores; nil for one that is computed.
  var storedDefault: DatabaseValue? {
    guard let defaultValue else { return .null }
    return defaultValue.constant.map { TypeAffinity(of: type.text).stored($0) }
  }
}

extension SchemaText {
  /// The value of a literal; nil for an expression.
  fileprivate var constant: DatabaseValue? {
    let tokens = SQLTokenList(text)
    let isNegative = tokens.isSign(0, UInt8(ascii: "-"))
    let place = isNegative || tokens.isSign(0, UInt8(ascii: "+")) ? 1 : 0
    guard tokens.count == place + 1 else { return nil }
    let word = tokens.text(place).uppercased()
    switch tokens.kind(place) {
    case .number: return SchemaText.number((isNegative ? "-" : "") + word)
    case _ where place > 0: return nil
    // SQLite takes a name for a text here.
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
    return text.contains("X") ? nil : Int64(text).map { .integer($0) } ?? Double(text).map { .real($0) }
  }

  /// Whether it is a blob, which is a constant too.
  fileprivate var isBlob: Bool { text.uppercased().hasPrefix("X'") }
}

extension DatabaseSchema.Column {
  /// Whether a model's column of a type can't have the default that a table's column has.
  func hasUndeclarableDefault(for type: ColumnType) -> Bool {
    guard let defaultValue, !defaultValue.isBlob else { return false }
    return storedDefault.map { !type.stores($0) } ?? true
  }
}

extension DatabaseSchema.ForeignKey {
  /// Whether both refer to the same columns: without a list of columns, those of the parent's primary key.
  func isSame(as other: DatabaseSchema.ForeignKey, in schema: DatabaseSchema?) -> Bool {
    if self == other { return true }
    var (own, other) = (self, other)
    guard own.references.isEmpty != other.references.isEmpty, own.table == other.table else { return false }
    let parent = own.table.name.flatMap { schema?[table: $0] }
    let key = parent?.primaryKey?.columns.map(\.expression)
    let list = own.references.isEmpty ? other.references : own.references
    guard key.map({ $0 == list }) ?? (parent == nil && list.count == columns.count) else { return false }
    (own.references, other.references) = ([], [])
    return own == other
  }
}

extension SchemaText {
  /// Whether two virtual tables have the same module and arguments.
  func isSameModule(as other: SchemaText) -> Bool {
    if self == other { return true }
    guard let own = FullTextArguments(self), let other = FullTextArguments(other) else { return false }
    return own.isSame(as: other)
  }
}

extension FullTextArguments {
  fileprivate func isSame(as other: FullTextArguments) -> Bool {
    let names = { (arguments: FullTextArguments) in
      [
        arguments.columns.map(\.foldedName),
        arguments.unindexed.map(\.foldedName).sorted { $0.lexicographicallyPrecedes($1) },
        [arguments.content.map(\.foldedName) ?? [0]], [arguments.contentKey.foldedName],
        arguments.others.map(\.foldedName).sorted { $0.lexicographicallyPrecedes($1) },
      ]
    }
    let tokenizer = { (arguments: FullTextArguments) in arguments.tokenizer ?? ["unicode61"] }
    guard names(self) == names(other), Set(prefixes) == Set(other.prefixes) else { return false }
    let (own, others) = (tokenizer(self), tokenizer(other))
    // The arguments of a tokenizer may be characters, whose case counts.
    return own.first?.foldedName == others.first?.foldedName && own.dropFirst() == others.dropFirst()
  }
}

extension DatabaseSchema.Table {
  /// Whether an index of a database that is in no model repeats a constraint or index that the model has.
  func repeatsUniqueness(_ index: DatabaseSchema.Index) -> Bool {
    let lists = uniques.map(\.columns) + (primaryKey.map { [$0.columns] } ?? [])
    return indexes.contains { $0.isUnique && $0.isSame(as: index) }
      || index.condition == nil && lists.contains { Set($0) == Set(index.terms) }
  }
}
