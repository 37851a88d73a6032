// What a model declares of full-text search.

/// Whether a full-text table keeps the texts beside the index.
public enum FullTextContent: Sendable, Hashable {
  /// It does: rows read as they were written.
  case stored
  /// It does not: all columns read as NULL, and rows are inserted and found, but never updated or deleted.
  case none
}

/// Keeps a column of a full-text table out of the index: it is stored, read and filtered on, and not searched.
///
/// ```swift
/// Column("url", .text, Unindexed())     // "url" UNINDEXED
/// ```
public struct Unindexed: ColumnOption, Hashable {
  public init() {}

  public func apply(to options: inout ColumnOptions) { options.isUnindexed = true }
}

/// A full-text index of some of a table's columns, kept in step with the table by triggers.
///
/// ```swift
/// static let tableFullText = FullTextIndex(title, body, tokenizer: .porter)
/// // CREATE VIRTUAL TABLE "article_fulltext" USING fts5("title", "body", content = 'article', content_rowid = 'id', …)
/// ```
///
/// The texts are stored once, in the table. It needs an integer primary key. The columns are texts.
public struct FullTextIndex: Sendable, Hashable {
  let columns: [Column]
  let tokenizer: Tokenizer
  let prefixes: [Int]
  let name: String?

  /// - Parameters:
  ///   - columns: The columns that are searched. Without any there is no index.
  ///   - tokenizer: How texts are cut into words.
  ///   - prefixes: How many characters the beginnings of words have that are to be found fast; 1 to 999.
  ///   - name: The name of the index's table; without one it is the table's and `_fulltext`.
  public init(
    _ columns: any ColumnConvertible..., tokenizer: Tokenizer = .unicode61, prefixes: [Int] = [], name: String? = nil
  ) {
    self.columns = columns.map(\.column)
    self.tokenizer = tokenizer
    self.prefixes = prefixes
    self.name = name
  }
}

/// The full-text table that belongs to a model: its own table, or the index beside it.
struct FullTextTable: Sendable {
  enum Content: Sendable, Hashable {
    case stored, none
    /// In the model's table, by the name of its key.
    case external(table: String, key: String)
  }

  let name: String
  /// Without the rowid.
  let columns: [Column]
  let tokenizer: Tokenizer
  let prefixes: [Int]
  let content: Content

  init?(_ model: (some Sqlable).Type, columns: [Column]) {
    for case .fullText(let tokenizer, let prefixes, let content) in model.tableOptions {
      name = model.tableName
      self.columns = columns.filter { !$0.name.isSameName(as: FullTextTable.rowid) }
      (self.tokenizer, self.prefixes) = (tokenizer, prefixes)
      self.content = content == .none ? .none : .stored
      return
    }
    let index = model.tableFullText
    guard !index.columns.isEmpty else { return nil }
    name = index.name ?? model.tableName + "_fulltext"
    (self.columns, tokenizer, prefixes) = (index.columns, index.tokenizer, index.prefixes)
    let key = columns.first { $0.definition.options.primaryKey != nil }
    content = .external(
      table: model.tableName, key: key?.name ?? model.tableConstraints.singleKey ?? FullTextTable.rowid)
  }

  /// The full-text table of another table of the layout.
  init(_ own: FullTextTable, besideTable table: String) {
    (columns, tokenizer, prefixes) = (own.columns, own.tokenizer, own.prefixes)
    switch own.content {
    case .stored, .none: (name, content) = (table, own.content)
    case .external(_, let key): (name, content) = (table + "_fulltext", .external(table: table, key: key))
    }
  }

  static let rowid = "rowid"

  /// Whether it is a table beside the model's.
  var isExternal: Bool {
    if case .external = content { true } else { false }
  }

  /// The column of the model's table by which a row is found.
  var rowid: String {
    if case .external(_, let key) = content { key } else { FullTextTable.rowid }
  }

  /// `"note"`
  var quotedName: String { name.quotedName }

  /// The place of a column that is searched; throws for one that is not.
  func position(of column: Column) throws -> Int {
    guard let position = columns.position(of: column.definition), !column.definition.options.isUnindexed else {
      throw SqlError.invalidStatement("column \(column.name) is not in the full-text index \(name)")
        .at(table: name, column: column.name)
    }
    return position
  }
}

extension [TableConstraint] {
  /// The column that a constraint makes the primary key by itself.
  fileprivate var singleKey: String? {
    let key = reduce(into: TableConstraints()) { $1.write(to: &$0) }.primaryKey
    return key.count == 1 ? key[0].name : nil
  }
}

extension FullTextTable {
  /// What is wrong with the declaration, thrown by every statement of the model.
  ///
  /// - Parameter key: The primary key, where it is the row's id.
  func defect(of model: (some Sqlable).Type, key: Column?, hasKey: Bool) -> SqlError? {
    let message = (isExternal ? defect(besideTable: model, key) : defect(asTable: model, key, hasKey)) ?? defectOfIndex
    return message.map { .misuse("the model of table \(model.tableName) \($0)").at(table: model.tableName) }
  }

  private var defectOfIndex: String? {
    if name.isEmpty || name.utf8.contains(0) { return "names its full-text index with nothing, or with a NUL byte" }
    if tokenizer.arguments.contains(where: { $0.utf8.contains(0) }) || tokenizer.arguments[0].isEmpty {
      return "has a tokenizer with an empty name, or with a NUL byte"
    }
    if prefixes.count > 31 || !prefixes.allSatisfy((1...999).contains) {
      return "has prefixes that FTS5 does not take: up to 31, of 1 to 999 characters"
    }
    if Set(columns.map(\.name.foldedName)).count < columns.count { return "has a column twice in its full-text index" }
    for column in columns {
      let options = column.definition.options
      if column.name.isSameName(as: FullTextTable.rowid) || column.name.isSameName(as: "rank")
        || column.name.isSameName(as: name)
      {
        return "has a full-text column called \(column.name), which FTS5 keeps for itself"
      }
      if !options.isUnindexed, column.type.storageClass != .text {
        return "has column \(column.name) in a full-text index, which takes texts; Unindexed() keeps one out of it"
      }
    }
    if columns.allSatisfy(\.definition.options.isUnindexed) { return "has a full-text index of no columns" }
    return nil
  }

  private func defect(asTable model: (some Sqlable).Type, _ key: Column?, _ hasKey: Bool) -> String? {
    if model.tableOptions.count > 1 { return "is a full-text table, which takes no other table option" }
    if !model.tableFullText.columns.isEmpty { return "is a full-text table, which has no full-text index beside it" }
    if !model.tableConstraints.isEmpty || !model.tableIndexes.isEmpty {
      return "is a full-text table, which has no constraints and no indexes"
    }
    if hasKey, key?.name != FullTextTable.rowid {
      return "is a full-text table, whose key can only be an integer column called rowid"
    }
    if key == nil, model.tableLayout.contains(where: { $0.name.isSameName(as: FullTextTable.rowid) }) {
      return "is a full-text table, whose column rowid is its key: an integer, PrimaryKey()"
    }
    for column in model.tableLayout {
      let options = column.definition.options
      if options.primaryKey?.autoincrement == true { return "is a full-text table, whose key can't be autoincrement" }
      if options.isUnique || options.defaultValue != nil || options.collation != nil || options.check != nil
        || options.generated != nil || options.foreignKey != nil
      {
        return "is a full-text table, whose column \(column.name) can have no option but Unindexed()"
      }
    }
    return nil
  }

  private func defect(besideTable model: (some Sqlable).Type, _ key: Column?) -> String? {
    if name.isSameName(as: model.tableName) { return "gives its full-text index its own name" }
    if key == nil { return "has a full-text index, which needs an integer primary key" }
    for column in columns {
      if model.tableLayout.position(of: column.definition) == nil {
        return "has column \(column.name) in its full-text index, and not in its layout"
      }
      if column.definition.options.isUnindexed { return "has Unindexed() on \(column.name), outside a full-text table" }
    }
    return nil
  }
}
