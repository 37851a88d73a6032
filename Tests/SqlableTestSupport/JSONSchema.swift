import Foundation

/// A JSON Schema, with the keywords of draft 2020-12 that the schema of statements uses.
struct JSONSchema {
  private let root: [String: Any]

  /// The schema of statements as data.
  static let file = Repository.root.appending(path: "Docs/StatementFormat.schema.json")

  static func ofStatements() throws -> JSONSchema { try JSONSchema(Data(contentsOf: file)) }

  struct Unknown: Error {
    let keyword: String
  }

  init(_ data: Data) throws {
    root = try JSONSerialization.jsonObject(with: data) as? [String: Any] ?? [:]
    for (key, definition) in definitions { try JSONSchema.check(definition, key) }
    try JSONSchema.check(root, "#")
  }

  private var definitions: [String: Any] { root["$defs"] as? [String: Any] ?? [:] }

  /// Returns whether a value of `JSONSerialization` is valid.
  func allows(_ value: Any) -> Bool { isValid(value, root) }

  /// All names that a document may have as keys or constants.
  var words: Set<String> {
    var words: Set<String> = []
    func collect(_ schema: Any) {
      if let list = schema as? [Any] { list.forEach(collect) }
      guard let members = schema as? [String: Any] else { return }
      for (key, value) in members {
        switch key {
        case "properties":
          for (name, schema) in value as? [String: Any] ?? [:] {
            words.insert(name)
            collect(schema)
          }
        case "$defs", "dependentSchemas": for schema in (value as? [String: Any] ?? [:]).values { collect(schema) }
        case "enum": words.formUnion((value as? [Any] ?? []).compactMap { $0 as? String })
        default: collect(value)
        }
      }
    }
    collect(root)
    return words
  }

  // MARK: Keywords

  private static let keywords: Set<String> = [
    "$schema", "$defs", "$ref", "title", "description", "type", "properties", "required", "additionalProperties",
    "minProperties", "maxProperties", "items", "prefixItems", "minItems", "maxItems", "const", "enum", "pattern",
    "minimum", "maximum", "oneOf", "anyOf", "allOf", "not", "if", "then", "else", "dependentSchemas",
  ]

  /// Throws for a keyword that this validator would ignore.
  private static func check(_ schema: Any, _ place: String) throws {
    guard let members = schema as? [String: Any] else { return }
    for (key, value) in members {
      guard keywords.contains(key) else { throw Unknown(keyword: "\(place).\(key)") }
      switch key {
      case "properties", "$defs", "dependentSchemas":
        for (name, schema) in value as? [String: Any] ?? [:] { try check(schema, "\(place).\(name)") }
      case "oneOf", "anyOf", "allOf", "prefixItems":
        for schema in value as? [Any] ?? [] { try check(schema, "\(place).\(key)") }
      case "items", "additionalProperties", "not", "if", "then", "else": try check(value, "\(place).\(key)")
      default: break
      }
    }
  }

  private func isValid(_ value: Any, _ schema: Any) -> Bool {
    guard let members = schema as? [String: Any] else { return isTrue(schema) }
    // The keys are checked first, because they exclude most forms of a term.
    for key in ["required", "additionalProperties"] {
      if let argument = members[key], !isValid(value, key, argument, members) { return false }
    }
    return members.allSatisfy { isValid(value, $0.key, $0.value, members) }
  }

  private func isTrue(_ value: Any) -> Bool { (value as? NSNumber).map { isBool($0) && $0.boolValue } ?? false }

  private func isBool(_ number: NSNumber) -> Bool { String(cString: number.objCType) == "c" }

  private func isValid(_ value: Any, _ keyword: String, _ argument: Any, _ schema: [String: Any]) -> Bool {
    let (object, list) = (value as? [String: Any], value as? [Any])
    let (limit, schemas) = (argument as? Int ?? 0, argument as? [Any] ?? [])
    switch keyword {
    case "$ref":
      let name = (argument as? String ?? "").split(separator: "/").last.map(String.init) ?? ""
      return isValid(value, definitions[name] ?? false)
    case "type": return (argument as? [String] ?? [argument as? String ?? ""]).contains { isOfType($0, value) }
    case "const": return isSame(value, argument)
    case "enum": return schemas.contains { isSame(value, $0) }
    case "pattern":
      guard let text = value as? String else { return true }
      return text.range(of: argument as? String ?? "", options: .regularExpression) != nil
    case "minimum": return (value as? NSNumber).map { $0.int64Value >= limit } ?? true
    case "maximum": return (value as? NSNumber).map { $0.int64Value <= limit } ?? true
    case "oneOf": return schemas.count { isValid(value, $0) } == 1
    case "anyOf": return schemas.contains { isValid(value, $0) }
    case "allOf": return schemas.allSatisfy { isValid(value, $0) }
    case "not": return !isValid(value, argument)
    case "if": return isValid(value, schema[isValid(value, argument) ? "then" : "else"] ?? true)
    case "required": return object.map { object in schemas.allSatisfy { object[$0 as? String ?? ""] != nil } } ?? true
    case "properties":
      guard let object, let properties = argument as? [String: Any] else { return true }
      return properties.allSatisfy { key, schema in object[key].map { isValid($0, schema) } ?? true }
    case "additionalProperties":
      guard let object else { return true }
      let known = schema["properties"] as? [String: Any] ?? [:]
      return object.allSatisfy { known[$0.key] != nil || isValid($0.value, argument) }
    case "dependentSchemas":
      guard let object, let dependents = argument as? [String: Any] else { return true }
      return dependents.allSatisfy { key, schema in object[key] == nil || isValid(value, schema) }
    case "minProperties": return object.map { $0.count >= limit } ?? true
    case "maxProperties": return object.map { $0.count <= limit } ?? true
    case "minItems": return list.map { $0.count >= limit } ?? true
    case "maxItems": return list.map { $0.count <= limit } ?? true
    case "prefixItems": return list.map { zip($0, schemas).allSatisfy { isValid($0, $1) } } ?? true
    case "items":
      let first = (schema["prefixItems"] as? [Any])?.count ?? 0
      return list.map { $0.dropFirst(first).allSatisfy { isValid($0, argument) } } ?? true
    // "if" handles "then" and "else".
    default: return true
    }
  }

  private func isOfType(_ type: String, _ value: Any) -> Bool {
    switch value {
    case is [String: Any]: return type == "object"
    case is [Any]: return type == "array"
    case is String: return type == "string"
    case let number as NSNumber where isBool(number): return type == "boolean"
    case let number as NSNumber:
      return type == "number" || type == "integer" && number.doubleValue.rounded() == number.doubleValue
    default: return type == "null"
    }
  }

  private func isSame(_ value: Any, _ other: Any) -> Bool {
    switch (value, other) {
    case (let value as String, let other as String): value == other
    case (let value as NSNumber, let other as NSNumber): isBool(value) == isBool(other) && value == other
    default: false
    }
  }
}
