import FoundationEssentials
import SqlableCore

/// A decoder of statements. Looks up every name, checks values against columns, and adds the path to errors.
package final class DocumentDecoder {
  /// The models whose tables a document can use.
  let models: [TableInfo]
  let rules: StatementRules
  /// The names and size limits for an untrusted document; nil for no restriction.
  let access: DocumentAccess?
  /// The values of the parameters; nil if parameters are not replaced by values.
  package var arguments: [ByteComparedName: DatabaseValue]?
  package var parameters: Set<ByteComparedName> = []
  /// The names of the queries whose definitions enclose the current path.
  @exclusivity(unchecked) var defining: [String] = []
  /// The number of terms and queries decoded so far, and the number of terms and queries that enclose the current path.
  @exclusivity(unchecked) private var nodes = 0
  @exclusivity(unchecked) private var depth = 0
  /// The stack levels that the parts of the document around the current path use. A part that uses much stack counts as
  /// several levels.
  @exclusivity(unchecked) private var levels = 0
  /// The path of the part that is being decoded. After an error, the path keeps its length, so that the path can be
  /// added to the error.
  @exclusivity(unchecked) private(set) var path: [PathStep] = []

  enum PathStep {
    case key(String)
    case index(Int)
  }

  package init(_ models: [TableInfo], _ rules: StatementRules, _ access: DocumentAccess? = nil) {
    self.models = models
    self.rules = rules
    self.access = access
  }

  // MARK: Limits

  /// The maximum number of levels, including the levels of the outermost query. Half a megabyte of stack is then enough
  /// for decoding, encoding and running, even in a debug build. With a policy the maximum is lower, because the policy
  /// check traverses terms again, with larger stack frames.
  private var maximumLevels: Int { (access == nil ? 100 : 50) + DocumentDecoder.levelsOfQuery }

  static let levelsOfQuery = 5

  /// Counts a term or a query. Throws if the number of terms and queries or their nesting depth is too large. Call
  /// ``end(_:)`` with the same number of levels.
  func begin(_ levels: Int) throws {
    nodes += 1
    depth += 1
    self.levels += levels
    guard self.levels <= maximumLevels else { throw failure("terms or queries are nested too deeply") }
    guard let access else { return }
    guard nodes <= access.maximumNodes, depth <= access.maximumDepth else {
      throw failure("the document is larger or deeper than the policy allows")
    }
  }

  func end(_ levels: Int) {
    depth -= 1
    self.levels -= levels
  }

  func checkList(_ count: Int) throws {
    guard let access else { return }
    guard count <= access.maximumList else { throw failure("a list is longer than the policy allows") }
  }

  func checkFunction(_ name: String) throws {
    guard let access else { return }
    guard access.allows(function: name) else { throw DocumentAccess.refusal }
  }

  func checkRegistered(_ name: String) throws {
    guard let access else { return }
    guard access.registered.contains(name) else { throw DocumentAccess.refusal }
  }

  // MARK: Places

  @inline(never)
  package func enter(_ key: String) { path.append(.key(key)) }
  @inline(never)
  func enter(_ index: Int) { path.append(.index(index)) }
  @inline(never)
  package func leave() { path.removeLast() }

  var documentPath: String {
    path.reduce(into: "") { text, step in
      switch step {
      case .key(let key): text += text.isEmpty ? key : ".\(key)"
      case .index(let index): text += "[\(index)]"
      }
    }
  }

  @inline(never)
  package func failure(_ message: String) -> SqlError { .invalidStatement(message) }

  package func locatingErrors<Result>(_ body: () throws -> Result) throws -> Result {
    do { return try body() } catch var error as SqlError {
      let documentPath = documentPath
      guard !documentPath.isEmpty, error.documentPath == nil else { throw error }
      error.documentPath = documentPath
      throw error
    }
  }

  // MARK: Parts

  struct Fields {
    let members: [Document.Member]

    subscript(key: DocumentKey) -> Document? { members.first { $0.key == key.rawValue }?.value }
  }

  /// Returns the members of an object. Throws if the value is not an object, or if a key is not in `keys`. If a
  /// misspelled key were ignored, a delete without its filter would delete every row.
  func fields(_ document: Document, _ keys: Set<DocumentKey>, _ what: String) throws -> Fields {
    guard case .object(let members) = document else { throw failure("\(what) must be an object") }
    for member in members {
      guard let key = DocumentKey(rawValue: member.key), keys.contains(key) else {
        enter(member.key)
        throw failure("\(what) has an unknown key")
      }
    }
    return Fields(members: members)
  }

  @inline(never)
  package func list(_ document: Document, _ what: String) throws -> [Document] {
    guard case .list(let values) = document else { throw failure("\(what) must be a list") }
    return values
  }

  @inline(never)
  package func text(_ document: Document, _ what: String) throws -> String {
    guard case .text(let text) = document else { throw failure("\(what) must be text") }
    return text
  }

  /// Returns text that is used as a name in SQL. Throws for text with a NUL byte.
  @inline(never)
  func name(_ document: Document, _ what: String) throws -> String {
    let name = try text(document, what)
    guard !name.utf8.contains(0) else { throw failure("\(what) contains a NUL byte") }
    return name
  }

  func integer(_ document: Document, _ what: String) throws -> Int {
    guard case .integer(let integer) = document, let integer = Int(exactly: integer) else {
      throw failure("\(what) must be an integer")
    }
    return integer
  }

  package func count(_ document: Document, _ what: String) throws -> Int {
    let count = try integer(document, what)
    guard count >= 0 else { throw failure("\(what) can't be negative") }
    return count
  }

  func flag(_ document: Document?, _ key: DocumentKey) throws -> Bool {
    guard let document else { return false }
    enter(key.rawValue)
    let isSet = try isTrue(document)
    leave()
    return isSet
  }

  func isTrue(_ document: Document) throws -> Bool {
    guard case .bool(true) = document else { throw failure("the value must be true; leave out the key otherwise") }
    return true
  }

  package func each<Part>(_ documents: [Document], _ read: (Document) throws -> Part) throws -> [Part] {
    var parts: [Part] = []
    parts.reserveCapacity(documents.count)
    for (index, document) in documents.enumerated() {
      enter(index)
      parts.append(try read(document))
      leave()
    }
    return parts
  }

  // MARK: Tables

  package func model(_ name: String) throws -> TableInfo {
    if let access {
      guard let table = access.tables[ByteComparedName(wrappedValue: name)] else { throw DocumentAccess.refusal }
      return table.info
    }
    // Use the first match, because the models of the statement's type come before the models of the rules.
    guard let table = models.first(where: { $0.name.isExactly(name) }) else {
      throw failure("unknown table; add the table's model to the rules of the decoder")
    }
    try table.checkDeclarations()
    return table
  }

  /// Returns the model table `name`. With `model`, returns a table that has this name and the layout of the model table
  /// `model`; throws if the rules do not allow the name.
  func table(_ name: String, model: String?) throws -> TableInfo {
    guard let model else { return try self.model(name) }
    let table = try self.model(model)
    // The name is untrusted, so the name is checked first: `named` creates a table that is never freed.
    return table.named(try rules.spelling(of: name, modelTable: table.name))
  }

  // MARK: Values

  /// Returns the value that a document contains; nil if the document contains another term, such as a column.
  @inline(never)
  func value(_ document: Document) throws -> DatabaseValue? {
    switch document {
    case .text(let text): return .text(text)
    case .integer(let integer): return .integer(integer)
    case .null: throw failure(#"NULL must be written as {"null": true}"#)
    case .bool: throw failure("a term can't be true or false; write 1 or 0")
    case .number: throw failure(#"a number with a fraction must be written as {"real": …}"#)
    case .list: throw failure("a term or value must be text, an integer or an object")
    case .object(let members):
      guard let first = members.first, members.count == 1 else { return nil }
      switch first.key {
      case "null", "integer", "real", "blob":
        enter(first.key)
        let value = try tagged(first.key, first.value)
        leave()
        return value
      default: return nil
      }
    }
  }

  private func tagged(_ key: String, _ document: Document) throws -> DatabaseValue {
    switch (key, document) {
    case ("null", .bool(true)): return .null
    case ("integer", .text(let text)):
      guard let integer = Int64(text), String(integer).isExactly(text) else { break }
      return .integer(integer)
    case ("real", .integer(let integer)): return .real(Double(integer))
    case ("real", .number(let number)): return .real(number)
    case ("real", .text("inf")): return .real(.infinity)
    case ("real", .text("-inf")): return .real(-.infinity)
    case ("real", .text("-0")): return .real(-0.0)
    case ("blob", .text(let text)):
      guard let data = Data(base64Encoded: text) else { break }
      return .blob(data)
    default: break
    }
    throw failure(
      #"the value does not fit its key; write {"null": true}, {"integer": "5"}, {"real": 1.5} or {"blob": "<base64>"}"#
    )
  }

  @inline(never)
  package func value(required document: Document) throws -> DatabaseValue {
    guard let value = try value(document) else { throw failure("expected a value, found a term") }
    return value
  }
}
