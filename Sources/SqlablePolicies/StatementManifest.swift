import FoundationEssentials
import SqlableCore
import SqlableDocuments

/// A list of approved statements. A client sends a statement's name and parameter values, and the program runs its own
/// copy of the statement.
///
/// ```swift
/// var manifest = StatementManifest(rules: StatementRules(models: [Bicycle.self]))
/// try manifest.approve(Bicycle.read().filter(Bicycle.color == Parameter("color")), as: "byColor")
/// let search = try manifest.statement(json: body)     // {"run":"byColor","with":{"color":"red"},"sqlable":1}
/// let answer = try search.run(pool)
/// ```
///
/// ```sql
/// SELECT "id", "name", "color", "owner_id" FROM "bicycle" WHERE "color" = ?
/// ```
///
/// No part of a request becomes part of the SQL. A manifest is a value: build it once, and share it among threads.
public struct StatementManifest: Sendable {
  fileprivate struct Approved: Sendable {
    let document: Document
    let parameters: Set<ByteComparedName>
    let hash: String
  }

  private let rules: StatementRules
  private var approved: [ByteComparedName: Approved] = [:]
  private var names: [String: ByteComparedName] = [:]

  /// The maximum size of a request, in bytes.
  public var maximumBytes = 65_536

  /// Creates an empty manifest. The rules name the models that statements can use, and restrict which statements can be
  /// approved.
  public init(rules: StatementRules) { self.rules = rules }

  // MARK: Approving

  /// Approves a statement. A request sets the values of the statement's parameters.
  ///
  /// Throws the errors of encoding the statement, and `.misuse` if another statement has the same name.
  public mutating func approve<Model, Output>(_ statement: Statement<Model, Output>, as name: String) throws {
    try approve(statement.document(returning: statement.tree.returnsRows), as: name)
  }

  /// Approves a query. A request sets the values of the query's parameters.
  public mutating func approve<Row>(_ query: Select<Row>, as name: String) throws {
    try approve(query.document(), as: name)
  }

  /// Approves a statement from JSON, such as a reviewed file; see ``Statement/init(json:rules:)``.
  public mutating func approve(json: some ContiguousBytes, as name: String) throws {
    try approve(JSONReader.read(json), as: name)
  }

  private mutating func approve(_ document: Document, as name: String) throws {
    let key = ByteComparedName(wrappedValue: name)
    guard approved[key] == nil else {
      throw SqlError.misuse("the manifest already has a statement named \(name)")
    }
    let decoder = try DocumentDecoder(rules.modelTables(), rules)
    let statement = try decoder.locatingErrors { try AnyStatement(DecodedStatement(document, by: decoder), decoder) }
    // The hash is computed from the canonical form of the document.
    let hash = SHA256.hex(try statement.document.json)
    approved[key] = Approved(document: document, parameters: decoder.parameters, hash: hash)
    names[hash] = key
  }

  /// Returns the SHA-256 hash of an approved statement's document in lower-case hexadecimal; nil if the name is not
  /// approved. A request can contain the hash instead of the name. The request then runs exactly the statement that the
  /// client knows, or fails.
  public func sha256(of name: String) -> String? { approved[ByteComparedName(wrappedValue: name)]?.hash }

  // MARK: Requests

  /// Returns the approved statement that a request names, with the request's parameter values.
  ///
  /// ```swift
  /// let search = try manifest.statement(json: body, with: ["tenant": .integer(7)])
  /// ```
  ///
  /// The request is `{"run": "byColor", "with": {"color": "red"}, "sqlable": 1}`; `{"sha256": "…"}` can replace the
  /// name. Values are written as in statements. `programValues` sets parameters that a request can't set. The request
  /// must set all remaining parameters. Throws `.invalidStatement` for a name that is not approved, and for a missing
  /// or unknown parameter. Throws `.encoding` for a value that does not match its column: the column that stores the
  /// value or is compared with the value. ``SqlError/documentPath`` shows the position.
  public func statement(
    json: some ContiguousBytes, with programValues: [String: DatabaseValue] = [:]
  ) throws -> AnyStatement {
    guard json.withUnsafeBytes(\.count) <= maximumBytes else {
      throw SqlError.invalidStatement("the request is larger than \(maximumBytes) bytes")
    }
    let reader = DocumentDecoder([], rules)
    let (statement, values) = try reader.locatingErrors { try reader.request(JSONReader.read(json)) }
    let key =
      switch statement {
      case .name(let name): ByteComparedName(wrappedValue: name)
      case .hash(let hash): names[hash] ?? ByteComparedName(wrappedValue: nil)
      }
    guard let approved = approved[key] else {
      throw SqlError.invalidStatement("the manifest has no statement with the name or hash of the request")
    }
    let decoder = try DocumentDecoder(rules.modelTables(), rules)
    decoder.arguments = try approved.arguments(programValues, values)
    do { return try AnyStatement(DecodedStatement(approved.document, by: decoder), decoder) } catch {
      // Replace the path, because a path in the program's own document is meaningless to the client.
      guard var error = error as? SqlError else { throw error }
      error.documentPath = "with"
      throw error
    }
  }
}

extension StatementManifest.Approved {
  fileprivate func arguments(
    _ programValues: [String: DatabaseValue], _ requestValues: [ByteComparedName: DatabaseValue]
  ) throws -> [ByteComparedName: DatabaseValue] {
    var arguments = requestValues
    for (name, value) in programValues {
      let key = ByteComparedName(wrappedValue: name)
      guard arguments[key] == nil else {
        throw refusal("only the program can set the parameter; remove the parameter from the request", of: name)
      }
      arguments[key] = value
    }
    for key in requestValues.keys where !parameters.contains(key) {
      throw refusal("the request sets a parameter that the statement does not have", of: key.wrappedValue)
    }
    for key in parameters where arguments[key] == nil {
      throw refusal("the request does not set a parameter of the statement", of: key.wrappedValue)
    }
    return arguments
  }

  private func refusal(_ message: String, of name: String?) -> SqlError {
    var error = SqlError.invalidStatement(message)
    error.documentPath = "with.\(name ?? "")"
    return error
  }
}

extension DocumentDecoder {
  fileprivate enum Requested {
    case name(String)
    case hash(String)
  }

  fileprivate func request(_ document: Document) throws -> (Requested, [ByteComparedName: DatabaseValue]) {
    guard case .object(let members) = document else { throw failure("a request must be an object") }
    var version: Document?
    var requested: Requested?
    var values: [ByteComparedName: DatabaseValue] = [:]
    for member in members {
      enter(member.key)
      switch member.key {
      case "sqlable": version = member.value
      case "run": requested = try self.requested(member.value)
      case "with": values = try self.values(member.value)
      default: throw failure("a request has an unknown key")
      }
      leave()
    }
    guard case .integer(let version)? = version, (1...Document.version).contains(version) else {
      throw failure(#"a request needs its version: "sqlable": \#(Document.version)"#)
    }
    guard let requested else { throw failure("a request needs the key \"run\"") }
    return (requested, values)
  }

  private func requested(_ document: Document) throws -> Requested {
    switch document {
    case .text(let name): return .name(name)
    case .object(let members) where members.count == 1 && members[0].key == "sha256":
      return .hash(try text(members[0].value, "a hash"))
    default: throw failure("the value of \"run\" must be a name, or an object with the key \"sha256\"")
    }
  }

  private func values(_ document: Document) throws -> [ByteComparedName: DatabaseValue] {
    guard case .object(let members) = document else {
      throw failure("the key \"with\" of a request must be an object of parameter values")
    }
    var values: [ByteComparedName: DatabaseValue] = [:]
    for member in members {
      enter(member.key)
      values[ByteComparedName(wrappedValue: member.key)] = try value(required: member.value)
      leave()
    }
    return values
  }
}
