/// The option of a full-text table to store the text in addition to the index.
public enum FullTextContent: Sendable, Hashable {
  /// The table stores the text, so that a read returns the text that was written.
  case stored
  /// The table does not store the text. A read returns NULL for every column. Rows can be inserted and found, but not
  /// updated or deleted.
  case none
}

/// Excludes a column of a full-text table from the index. Statements can read and filter the column, but not search it.
///
/// ```swift
/// Column("url", .text, Unindexed())     // "url" UNINDEXED
/// ```
public struct Unindexed: ColumnOption, AppliedOption, Hashable {
  public init() {}

  package func apply(to options: inout ColumnOptions) { options.isUnindexed = true }
}

/// A full-text index of some of a table's columns. Triggers update the index.
///
/// ```swift
/// static let tableFullText = FullTextIndex(title, body, tokenizer: .porter)
/// // CREATE VIRTUAL TABLE "article_fulltext" USING fts5("title", "body", content = 'article', content_rowid = 'id', …)
/// ```
///
/// The index does not store the text again. The table needs an integer primary key, and the columns must be `TEXT`.
public struct FullTextIndex: Sendable, Hashable {
  let columns: [Column]
  let tokenizer: Tokenizer
  let prefixes: [Int]
  let name: String?

  /// - Parameters:
  ///   - columns: The columns to index. An empty list declares no index.
  ///   - tokenizer: The tokenizer that splits text into words.
  ///   - prefixes: The prefix lengths to index for fast prefix queries, in characters, 1 to 999.
  ///   - name: The name of the index. The default is the table's name and `_fulltext`.
  public init(
    _ columns: any ColumnConvertible..., tokenizer: Tokenizer = .unicode61, prefixes: [Int] = [], name: String? = nil
  ) {
    self.init(columns: columns.map(\.column), tokenizer: tokenizer, prefixes: prefixes, name: name)
  }

  package init(columns: [Column], tokenizer: Tokenizer = .unicode61, prefixes: [Int] = [], name: String? = nil) {
    self.columns = columns
    self.tokenizer = tokenizer
    self.prefixes = prefixes
    self.name = name
  }
}

/// The full-text table of a model: the model's table, or a separate index of the model's table.
package struct FullTextTable: Sendable {
  package enum Content: Sendable, Hashable {
    case stored, none
    /// The model's table stores the text. The index finds the text by the key.
    case external(table: String, key: String)
  }

  package let name: String
  /// The attached database that contains the full-text table; nil if SQLite searches all databases for the table.
  let database: String?
  package let columns: [Column]
  package let tokenizer: Tokenizer
  package let prefixes: [Int]
  package let content: Content

  init?(_ model: any Sqlable.Type, columns: [Column]) {
    for case .fullText(let tokenizer, let prefixes, let content) in model.tableOptions {
      (name, database) = (model.tableName, nil)
      self.columns = columns.filter { !$0.name.isSameName(as: FullTextTable.rowid) }
      (self.tokenizer, self.prefixes) = (tokenizer, prefixes)
      self.content = content == .none ? .none : .stored
      return
    }
    let index = model.tableFullText
    guard !index.columns.isEmpty else { return nil }
    (name, database) = (index.name ?? model.tableName + "_fulltext", nil)
    (self.columns, tokenizer, prefixes) = (index.columns, index.tokenizer, index.prefixes)
    let key = columns.first { $0.definition.options.primaryKey != nil }
    content = .external(
      table: model.tableName, key: key?.name ?? model.declaredConstraints.singleKey ?? FullTextTable.rowid)
  }

  init(_ original: FullTextTable, forTable table: String, in database: String?) {
    (columns, tokenizer, prefixes) = (original.columns, original.tokenizer, original.prefixes)
    self.database = database
    switch original.content {
    case .stored, .none: (name, content) = (table, original.content)
    case .external(let former, _) where former.isExactly(table): (name, content) = (original.name, original.content)
    case .external(_, let key): (name, content) = (table + "_fulltext", .external(table: table, key: key))
    }
  }

  static let rowid = "rowid"

  package var isExternal: Bool {
    if case .external = content { true } else { false }
  }

  /// The column of the model's table that stores a row's id.
  var rowid: String {
    if case .external(_, let key) = content { key } else { FullTextTable.rowid }
  }

  /// The name in FROM: `"note"`, or `"archive"."note"` if attached. To qualify a column, SQL uses only `name`.
  package var quotedName: String { name.quotedName(inDatabase: database) }

  /// Returns the position of an indexed column. Throws for a column that is not indexed.
  package func position(of column: Column) throws -> Int {
    guard let position = columns.position(of: column.definition), !column.definition.options.isUnindexed else {
      throw SqlError.invalidStatement("column \(column.name) is not in the full-text index \(name)")
        .at(table: name, column: column.name)
    }
    return position
  }
}

extension TableConstraints {
  fileprivate var singleKey: String? {
    let key = primaryKeys.first?.columns
    return key?.count == 1 ? key?[0].name : nil
  }
}

extension FullTextTable {
  /// Returns the error in the declaration, if any. Every statement of the model throws this error.
  ///
  /// - Parameter key: The column of the primary key; nil if the table has no key, or if the key is not the rowid.
  func defect(of model: any Sqlable.Type, key: Column?, hasKey: Bool) -> SqlError? {
    let message = (isExternal ? defect(besideTable: model, key) : defect(asTable: model, key, hasKey)) ?? defectOfIndex
    return message.map { .misuse("the model of table \(model.tableName) \($0)").at(table: model.tableName) }
  }

  private var defectOfIndex: String? {
    if name.isEmpty || name.utf8.contains(0) {
      return "has a full-text index with a name that is empty or contains a NUL byte"
    }
    if tokenizer.arguments.contains(where: { $0.utf8.contains(0) }) || tokenizer.arguments[0].isEmpty {
      return "has a tokenizer with an empty name, or with a NUL byte in an argument"
    }
    if prefixes.count > 31 || !prefixes.allSatisfy((1...999).contains) {
      return "has invalid full-text prefixes: FTS5 allows up to 31 prefixes, with lengths from 1 to 999 characters"
    }
    if let name = columns.map(\.name).firstDoubled { return "has column \(name) twice in its full-text index" }
    for column in columns {
      let options = column.definition.options
      if column.name.isSameName(as: FullTextTable.rowid) || column.name.isSameName(as: "rank")
        || column.name.isSameName(as: name)
      {
        return "has a full-text column with the reserved name \(column.name)"
      }
      if !options.isUnindexed, column.type.storageClass != .text {
        let remedy = isExternal ? "remove the column from the index" : "use Unindexed()"
        return "has column \(column.name) in its full-text index, but the column is not TEXT; \(remedy)"
      }
    }
    if columns.allSatisfy(\.definition.options.isUnindexed) { return "has a full-text index without indexed columns" }
    return nil
  }

  private func defect(asTable model: any Sqlable.Type, _ key: Column?, _ hasKey: Bool) -> String? {
    if model.tableOptions.count > 1 { return "is a full-text table, and can't have other table options" }
    if !model.tableFullText.columns.isEmpty { return "is a full-text table, and can't have another full-text index" }
    if !model.declaredConstraints.clauses(with: []).isEmpty || !model.tableIndexes.isEmpty {
      return "is a full-text table, and can't have constraints or indexes"
    }
    if hasKey, key?.name != FullTextTable.rowid {
      return "is a full-text table, and its key must be an integer column named rowid"
    }
    if key == nil, model.tableLayout.contains(where: { $0.name.isSameName(as: FullTextTable.rowid) }) {
      return "is a full-text table, and its column rowid must be an integer with PrimaryKey()"
    }
    for column in model.tableLayout {
      let options = column.definition.options
      if options.primaryKey?.autoincrement == true {
        return "is a full-text table, and its key can't have autoincrement"
      }
      if !options.standInFullText {
        return "is a full-text table, and its column \(column.name) can only have the option Unindexed()"
      }
    }
    return nil
  }

  private func defect(besideTable model: any Sqlable.Type, _ key: Column?) -> String? {
    if name.isSameName(as: model.tableName) { return "has a full-text index with the table's own name" }
    if key == nil {
      let declared = model.tableLayout.first { $0.definition.options.primaryKey != nil }
      guard let declared, declared.type.storageClass == .integer,
        declared.definition.options.primaryKey?.isDescending == true
      else {
        return "has a full-text index but no integer primary key"
      }
      return
        "has a full-text index, but its key \(declared.name) is descending; the index needs an ascending integer key"
    }
    for column in columns {
      if model.tableLayout.position(of: column.definition) == nil {
        return "has column \(column.name) in its full-text index but not in its layout"
      }
      if column.definition.options.isUnindexed {
        return "has Unindexed() on \(column.name), which only a full-text table can have; remove the option"
      }
    }
    return nil
  }
}
