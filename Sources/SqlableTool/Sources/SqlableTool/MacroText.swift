import Sqlable

// The text of a model whose conformance the macro generates.

extension ModelText {
  mutating func addWithMacro(_ model: GeneratedModel) {
    var arguments: [String] = []
    if snakeCase(model.typeName) != model.source.name { arguments.append(model.source.name.swiftLiteral) }
    if !model.options.isEmpty { arguments.append("options: [\(model.options.joined(separator: ", "))]") }
    let list = arguments.isEmpty ? "" : "(\(arguments.joined(separator: ", ")))"
    lines.append("@Sqlable\(list) \(access)struct \(model.typeName) {")
    // The indexes are written as attributes. If one index can't be an attribute, all indexes are written as a list.
    let names = model.indexes.map(\.property)
    let areAttributes = model.indexes.allSatisfy { $0.isAttribute(model.properties) } && Set(names).count == names.count
    for property in model.properties {
      let index = areAttributes ? model.indexes.first { $0.property == property.name } : nil
      add(property, index, of: model)
    }
    addLists(of: model, indexes: areAttributes ? [] : model.indexes)
    lines.append("}")
  }

  private mutating func add(
    _ property: GeneratedModel.Property, _ index: GeneratedModel.Index?, of model: GeneratedModel
  ) {
    for remark in property.remarks { lines.append("  // \(remark.commented)") }
    let attributes = property.attributes + (index.map { [$0.attribute] } ?? [])
    let declaration = "\(access)var \(property.name): \(property.type)\(property.typeRemark(in: model))"
    let single = "  " + (attributes + [declaration]).joined(separator: " ")
    lines += single.count > 120 ? (attributes + [declaration]).map { "  " + $0 } : [single]
  }
}

extension GeneratedModel.Index {
  /// The property that the index covers, for an index on one column.
  fileprivate var property: String { terms[0].hasSuffix(".desc") ? String(terms[0].dropLast(5)) : terms[0] }

  /// Returns true if the index covers one property and has no condition.
  fileprivate func isAttribute(_ properties: [GeneratedModel.Property]) -> Bool {
    terms.count == 1 && properties.contains { $0.name == property } && !arguments.contains { $0.hasPrefix("where: ") }
  }

  fileprivate var attribute: String {
    let parts = arguments + (terms[0].hasSuffix(".desc") ? ["descending: true"] : [])
    return parts.isEmpty ? "@Index" : "@Index(\(parts.joined(separator: ", ")))"
  }
}

extension GeneratedModel.Property {
  fileprivate var attributes: [String] {
    var arguments: [String] = []
    if snakeCase(name.filter { $0 != "`" }) != column.name { arguments.append(column.name.swiftLiteral) }
    // Omit the type of an integer key, because the macro infers that such a key is nil only until the row is stored.
    let isKnownKey = options.contains { $0.hasPrefix("PrimaryKey(") } && column.type.swiftName == "Int"
    if type != valueType, !isKnownKey { arguments.append(valueType + ".self") }
    if let type = column.type.columnArgument { arguments.append("as: \(type)") }
    // `DeclaredType` has no attribute, so it is an argument of `@Column`.
    arguments += options.filter { $0.hasPrefix("DeclaredType(") }
    let named = arguments.isEmpty ? [] : ["@Column(\(arguments.joined(separator: ", ")))"]
    return named
      + options.filter { !$0.hasPrefix("DeclaredType(") }.map { option in
        let collation = "Collate."
        if option.hasPrefix(collation) { return "@Collate(.\(option.dropFirst(collation.count)))" }
        return "@" + (option.hasSuffix("()") ? String(option.dropLast(2)) : option)
      }
  }
}
