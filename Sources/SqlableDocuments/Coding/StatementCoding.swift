// Encoding and decoding of statements. Docs/StatementFormat.md describes the format.

import FoundationEssentials
import SqlableCore

package struct DecodedStatement {
  package let operation: DocumentOperation
  package let tree: StatementTree
  package let rows: [StoredRow]

  package init(_ operation: DocumentOperation, _ tree: StatementTree, _ rows: [StoredRow]) {
    (self.operation, self.tree, self.rows) = (operation, tree, rows)
  }

  package init(_ document: Document, by decoder: DocumentDecoder) throws {
    guard case .object(let members) = document else { throw decoder.failure("a statement must be an object") }
    guard case .integer(let version)? = members.first(where: { $0.key == "sqlable" })?.value, version > 0 else {
      throw decoder.failure(#"a statement needs its version: "sqlable": 1"#)
    }
    guard version <= Document.version else {
      throw decoder.failure("the statement has version \(version), but this library reads up to \(Document.version)")
    }
    guard members.count == 2, let body = members.first(where: { $0.key != "sqlable" }),
      let operation = DocumentOperation(rawValue: body.key)
    else { throw decoder.failure("a statement needs exactly one key besides its version, such as read") }
    self.operation = operation
    decoder.enter(operation.rawValue)
    if operation == .read, case .object(let members) = body.value,
      members.contains(where: { $0.key == DocumentKey.including.rawValue })
    {
      decoder.enter(DocumentKey.including.rawValue)
      throw decoder.failure("a read with associated rows can't be decoded as a Statement; use AssociatedQuery")
    }
    switch operation {
    case .read, .first: (tree, rows) = (.select(try decoder.query(body.value, outer: nil)), [])
    case .count: (tree, rows) = (.select(try decoder.query(body.value, outer: nil, form: .count)), [])
    case .exists: (tree, rows) = (.select(try decoder.query(body.value, outer: nil, form: .exists)), [])
    case .insert, .save:
      let (query, rows) = try decoder.insert(body.value, isSave: operation == .save)
      (tree, self.rows) = (.insert(query), rows)
    case .update:
      let (query, rows) = try decoder.update(body.value)
      (tree, self.rows) = (.update(query), rows)
    case .delete:
      let (query, rows) = try decoder.delete(body.value)
      (tree, self.rows) = (.delete(query), rows)
    }
    decoder.leave()
  }
}

// MARK: - Statements of a model

extension Statement {
  /// Returns the statement as JSON, which this version and all later versions can decode.
  ///
  /// ```swift
  /// try Bicycle.read().filter(Bicycle.color == "red").json()
  /// // {"read":{"from":"bicycle","where":{"=":[{"column":"color"},"red"]}},"sqlable":1}
  /// ```
  ///
  /// The JSON is canonical (RFC 8785): equal statements have equal bytes, so a hash of the bytes identifies a
  /// statement. Throws the errors that a run of the statement would throw before SQLite is called. Throws
  /// `.invalidStatement` for a change that returns rows: encode it with ``ReturningStatement``.
  public func json() throws -> Data { Data(try document(returning: false).json) }

  /// Decodes and checks a statement from JSON. Every table, column and SQLite function must be known, and every value
  /// must match its column. Functions that the program registered are checked when the statement runs.
  ///
  /// ```swift
  /// let search = try Statement<Bicycle, [Bicycle]>(json: data)
  /// ```
  ///
  /// Throws `.invalidStatement` for text that is not JSON or not a statement, and for a statement of another table or
  /// kind. Throws `.schema` for a column that the model does not have, and `.encoding` for a value that does not match
  /// its column. The error's ``SqlError/documentPath`` shows the position. The rules name the models of other tables
  /// that the statement can use, and restrict the accepted statements.
  public init(json: some ContiguousBytes, rules: StatementRules = StatementRules()) throws {
    try self.init(JSONReader.read(json), rules, returning: false)
  }

  /// Returns the statement as a document. `returning` must be true for a change that returns rows, and false for any
  /// other statement; otherwise throws.
  package func document(returning: Bool) throws -> Document {
    guard tree.returnsRows == returning else {
      throw SqlError.invalidStatement(
        returning
          ? "a statement that returns no rows can't be encoded as a ReturningStatement; use Statement"
          : "a change that returns rows can't be encoded as a Statement; use ReturningStatement")
    }
    return try checkedDocument()
  }

  /// Returns the statement as a document, after the same checks as in a run.
  func checkedDocument() throws -> Document {
    _ = try withValues()
    return try DocumentEncoder().statement(tree, DocumentOperation(kind), rows: storedRows())
  }

  init(_ document: Document, _ rules: StatementRules, returning: Bool) throws {
    let decoder = try DocumentDecoder([TableInfo.of(Model.self)] + rules.modelTables(), rules)
    self = try decoder.locatingErrors {
      let decoded = try DecodedStatement(document, by: decoder)
      guard decoded.tree.returnsRows == returning else {
        throw decoder.failure(
          returning
            ? "a statement that returns no rows can't be decoded as a ReturningStatement; use Statement"
            : "a change that returns rows can't be decoded as a Statement; use ReturningStatement")
      }
      guard decoded.tree.returned ?? .rows == .rows else {
        throw decoder.failure("a change that returns terms can't be decoded as rows; use Returning")
      }
      return try Statement(decoded, decoder)
    }
  }

  package init(_ decoded: DecodedStatement, _ decoder: DocumentDecoder) throws {
    let modelTable = try TableInfo.of(Model.self)
    decoder.enter(decoded.operation.rawValue)
    guard decoded.tree.tableInfo.hasSameModel(as: modelTable) else {
      throw decoder.failure("the statement is not for table \(modelTable.name)").at(table: modelTable.name)
    }
    guard decoded.gives(Output.self, of: Model.self) else {
      throw decoder.failure(
        "the Swift type does not match the document's operation or tables; decode a Select or an AnyStatement"
      ).at(table: modelTable.name)
    }
    self.init(decoded.tree, rows: decoded.tree.takesRows ? .stored(decoded.rows) : .none)
    guard decoder.rules.kinds.contains(kind) else {
      throw decoder.failure("the decoder does not allow statements of kind \(kind)").at(table: modelTable.name)
    }
    try checkDecoded(decoded.rows)
  }

  func checkDecoded(_ stored: [StoredRow]) throws {
    let table = try tree.table
    let (sql, buffer) = (SqlBuffer(), ParameterBuffer())
    try withExtendedLifetime(buffer) {
      var writer = RowWriter(table: table, buffer: buffer)
      for row in stored.dropFirst() { try writer.take(row) }
      guard tree.takesRows, stored.isEmpty else {
        _ = try withValues()
        return
      }
      // A batch without rows is checked with a row of NULLs, because a run can still stream rows into the statement.
      writer.clear()
      for position in table.columns.indices where !table.cells[position].isGenerated { writer.put(.null, at: position) }
      let empty = writer
      // Keep `empty` alive, because its memory is accessed only through pointers.
      try withExtendedLifetime(empty) {
        try StatementWriter(table: table, sql: sql, parameters: buffer).write(tree, row: empty.values)
      }
    }
  }
}

extension DecodedStatement {
  /// True if the query fits the document's operation. All operations except `read` need a query of one model, and
  /// `first` also needs a limit of 0 or 1.
  var isComplete: Bool {
    guard case .select(let query) = tree, operation != .read else { return true }
    return query.readsOneModel && (operation != .first || query.limit.map { $0 <= 1 } == true)
  }

  fileprivate func gives<Output, Model>(_ output: Output.Type, of model: Model.Type) -> Bool {
    // A decoded statement that returns rows has one of these two output types.
    if tree.returnsRows { return output == [Model].self || output == Model?.self }
    return switch tree {
    case .select(let query) where !query.readsOneModel: false
    case .select(let query):
      switch operation {
      case .first: output == Model?.self && query.limit.map { $0 <= 1 } == true
      case .count: output == Int.self
      case .exists: output == Bool.self
      default: output == [Model].self
      }
    case .insert(let query): query.form == .rows ? output == [Int].self : output == Int.self
    case .update, .delete: output == Int.self
    }
  }
}

extension SelectQuery {
  /// True if the query reads complete rows of one table, with at most a filter, an order and a limit.
  fileprivate var readsOneModel: Bool {
    guard !isPlain else { return true }
    let clauses = clauses
    guard clauses.sources.count == 1, case .table = clauses.sources[0].kind else { return false }
    return clauses.sources[0].alias == nil && !clauses.sources[0].isSearched && clauses.results == [.model(0)]
      && !clauses.isDistinct && clauses.groups.isEmpty && clauses.having == nil && clauses.compounds.isEmpty
  }
}

extension Statement: Codable {
  /// Encodes the statement as ``json()`` does.
  public func encode(to encoder: any Encoder) throws { try document(returning: false).encode(to: encoder) }

  /// Decodes a statement, as ``init(json:rules:)`` does. The rules come from the decoder's `userInfo[.statementRules]`.
  public init(from decoder: any Decoder) throws {
    try self.init(Document(from: decoder), StatementRules.of(decoder), returning: false)
  }
}

/// A statement can be stored in a column as JSON.
///
/// ```swift
/// static let search = column("search", Statement<Bicycle, [Bicycle]>.self)
/// ```
///
/// Reading the column throws `.decoding` if the statement no longer matches its model. Storing the statement throws the
/// errors of encoding. Reading accepts every kind of statement that the column's type allows. A program that stores
/// statements from other programs must check their `kind` before running them.
extension Statement: SqlJSON {
  public var databaseValue: DatabaseValue {
    get throws { .text(String(decoding: try document(returning: false).json, as: UTF8.self)) }
  }

  public init(databaseValue: DatabaseValue) throws {
    let text = try String(databaseValue: databaseValue)
    do { try self.init(json: Array(text.utf8)) } catch let error as SqlError {
      throw SqlError.decoding(
        expected: "a statement of \(Model.self)", found: "an invalid statement: \(error.message)")
    }
  }
}
