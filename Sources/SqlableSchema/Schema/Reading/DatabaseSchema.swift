import SqlableCore

/// The tables and views of a database, as a value to compare, store and print.
///
/// ```swift
/// let schema = try db.schema()
/// for table in schema.tables { print(table.name, table.columns.map(\.name)) }
/// try JSONEncoder().encode(schema)
/// ```
///
/// Types and expressions are compared word by word: blanks, comments, case and quotes around names are ignored. Tables,
/// views, indexes and triggers are sorted by name. Columns keep the table's order.
public struct DatabaseSchema: Sendable, Hashable, Codable {
  public var tables: [Table] = []
  public var views: [View] = []

  public init() {}

  /// An ordinary or virtual table.
  public struct Table: Sendable, Hashable, Codable {
    public var name: String
    public var columns: [Column] = []
    public var primaryKey: PrimaryKey?
    public var uniques: [Unique] = []
    public var checks: [Check] = []
    public var foreignKeys: [ForeignKey] = []
    /// The indexes created by CREATE INDEX, without the indexes that SQLite creates for constraints.
    public var indexes: [Index] = []
    public var triggers: [Trigger] = []
    public var isStrict = false
    public var isWithoutRowid = false
    /// The module of a virtual table with its arguments, such as `fts5(…)`; nil for an ordinary table.
    public var module: SchemaText?
    /// The text of the CREATE statement, which comparisons ignore.
    @EqualityIgnored public var sql: String

    init(name: String, sql: String) {
      self.name = name
      self.sql = sql
    }
  }

  /// A column of a table.
  public struct Column: Sendable, Hashable, Codable {
    public var name: String
    /// The declared type; empty for a column without a type.
    public var type: SchemaText
    public var isNotNull = false
    /// The conflict clause of NOT NULL, such as `REPLACE`; nil for `ABORT`, SQLite's default.
    public var notNullConflict: SchemaText?
    /// The name of the NOT NULL constraint; nil for a constraint without a name. Comparisons of schemas ignore it.
    @EqualityIgnored public var notNullName: String?
    /// The DEFAULT expression; nil for a column without DEFAULT.
    public var defaultValue: SchemaText?
    /// The collation; nil for `BINARY`.
    public var collation: SchemaText?
    public var generated: Generated?

    init(name: String, type: SchemaText = "") {
      self.name = name
      self.type = type
    }

    /// The definition of a generated column: the expression, and whether SQLite stores the values.
    public struct Generated: Sendable, Hashable, Codable {
      public var expression: SchemaText
      public var isStored: Bool
    }
  }

  /// A key column or index term.
  public struct Term: Sendable, Hashable, Codable {
    /// The column's name, or the expression.
    public var expression: SchemaText
    public var collation: SchemaText?
    public var isDescending = false
  }

  public struct PrimaryKey: Sendable, Hashable, Codable {
    public var columns: [Term]
    public var isAutoincrement = false
    /// The conflict clause of the key, such as `REPLACE`; nil for `ABORT`, SQLite's default.
    public var onConflict: SchemaText?
    @EqualityIgnored public var name: String?
  }

  public struct Unique: Sendable, Hashable, Codable {
    public var columns: [Term]
    public var onConflict: SchemaText?
    @EqualityIgnored public var name: String?
  }

  public struct Check: Sendable, Hashable, Codable {
    public var expression: SchemaText
    @EqualityIgnored public var name: String?
  }

  public struct ForeignKey: Sendable, Hashable, Codable {
    public var columns: [SchemaText]
    public var table: SchemaText
    /// The referenced columns; empty if the foreign key references the primary key of `table`.
    public var references: [SchemaText]
    public var onDelete: ForeignKeyAction = .noAction
    public var onUpdate: ForeignKeyAction = .noAction
    public var isDeferred = false
    @EqualityIgnored public var name: String?
  }

  public struct Index: Sendable, Hashable, Codable {
    public var name: String
    public var terms: [Term]
    public var isUnique = false
    /// The WHERE condition of a partial index.
    public var condition: SchemaText?
    @EqualityIgnored public var sql: String
  }

  public struct Trigger: Sendable, Hashable, Codable {
    public var name: String
    public var sql: SchemaText
  }

  public struct View: Sendable, Hashable, Codable {
    public var name: String
    public var sql: SchemaText
    public var triggers: [Trigger] = []

    /// The view's column list and query; nil if the text can't be parsed. `columns` is nil for a view without a column
    /// list.
    package var parts: (columns: [SchemaText]?, query: SchemaText)? {
      var reader = SchemaReader(sql.text)
      return try? reader.view()
    }
  }

  /// The texts that created the tables, indexes, views and triggers, in executable order.
  public var statements: [String] {
    var statements: [String] = []
    for table in tables { statements += [table.sql] + table.indexes.map(\.sql) }
    statements += views.map(\.sql.text)
    for triggers in tables.map(\.triggers) + views.map(\.triggers) { statements += triggers.map(\.sql.text) }
    return statements
  }

  /// Returns the table with a name, compared by SQLite's rules; nil if no table has this name.
  public subscript(table name: String) -> Table? {
    // Tables that were read from a database are sorted, so a binary search finds most of them.
    var (low, high) = (0, tables.count)
    while low < high {
      let middle = (low + high) / 2
      if tables[middle].name < name { low = middle + 1 } else { high = middle }
    }
    if low < tables.count, tables[low].name.isSameName(as: name) { return tables[low] }
    return tables.first { $0.name.isSameName(as: name) }
  }
}

extension DatabaseSchema.Table {
  /// Returns the column with a name, compared by SQLite's rules; nil if no column has this name.
  public subscript(column name: String) -> DatabaseSchema.Column? { columns.first { $0.name.isSameName(as: name) } }

  /// True if the primary key is the rowid: a single ascending INTEGER column of a rowid table.
  package var keyIsRowid: Bool {
    guard !isWithoutRowid, let key = primaryKey, key.columns.count == 1, let name = key.columns[0].expression.name
    else { return false }
    return self[column: name]?.type == "INTEGER" && !key.columns[0].isDescending
  }
}

/// SQL text that is compared word by word: blanks, comments, case and quotes around names are ignored.
public struct SchemaText: Sendable, Hashable, Codable, CustomStringConvertible, ExpressibleByStringLiteral {
  /// The SQL as originally written.
  public let text: String
  private let compared: [UInt8]

  public init(_ text: String) {
    let tokens = SQLTokenList(text)
    self.init(tokens, 0..<tokens.count)
  }

  public init(stringLiteral text: String) { self.init(text) }

  init(_ tokens: SQLTokenList, _ range: Range<Int>) {
    text = tokens.text(range)
    compared = tokens.compared(range)
  }

  package init(name: String) {
    text = name.isPlainName ? name : name.quotedName
    compared = name.foldedName
  }

  package func isName(_ name: String) -> Bool { compared == name.foldedName }

  /// The name without quotes; nil if the text is an expression or a number.
  package var name: String? {
    let tokens = SQLTokenList(text)
    return tokens.count == 1 ? tokens.name(0) : nil
  }

  func isFolded(_ name: [UInt8]) -> Bool { compared == name }

  public var description: String { text }

  public static func == (left: SchemaText, right: SchemaText) -> Bool { left.compared == right.compared }
  public func hash(into hasher: inout Hasher) { hasher.combine(compared) }

  public init(from decoder: any Decoder) throws { self.init(try String(from: decoder)) }
  public func encode(to encoder: any Encoder) throws { try text.encode(to: encoder) }
}

/// A property that `==` and `hash(into:)` ignore.
@propertyWrapper
public struct EqualityIgnored<Value: Sendable & Codable>: Sendable, Hashable, Codable {
  public var wrappedValue: Value

  public init(wrappedValue: Value) { self.wrappedValue = wrappedValue }

  public static func == (left: EqualityIgnored, right: EqualityIgnored) -> Bool { true }
  public func hash(into hasher: inout Hasher) {}

  public init(from decoder: any Decoder) throws { wrappedValue = try Value(from: decoder) }
  public func encode(to encoder: any Encoder) throws { try wrappedValue.encode(to: encoder) }
}

// Without these methods, the encoder would write nil as null, and the decoder would require the key.
extension KeyedEncodingContainer {
  mutating func encode<Value>(_ value: EqualityIgnored<Value?>, forKey key: Key) throws {
    try encodeIfPresent(value.wrappedValue, forKey: key)
  }
}

extension KeyedDecodingContainer {
  func decode<Value>(_ type: EqualityIgnored<Value?>.Type, forKey key: Key) throws -> EqualityIgnored<Value?> {
    EqualityIgnored(wrappedValue: try decodeIfPresent(Value.self, forKey: key))
  }
}
