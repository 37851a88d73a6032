import Sqlable

struct ModelText {
  /// The access modifier of the declarations and a blank: `public `. Empty if the models are not public.
  let access: String
  var lines: [String] = []

  init(isPublic: Bool) { access = isPublic ? "public " : "" }

  mutating func add(_ model: GeneratedModel) {
    lines.append("")
    for remark in model.remarks { lines.append("// \(remark.commented)") }
    if !model.undeclared.isEmpty {
      lines.append("// Parts of the table that the model does not declare:")
      for text in model.undeclared { lines.append("//   \(text.commented)") }
    }
    if model.usesMacro { return addWithMacro(model) }
    lines.append("\(access)struct \(model.typeName) {")
    for property in model.properties { lines.append("  \(access)var \(property.name): \(property.type)") }
    if !access.isEmpty { addInit(of: model) }
    lines += ["}", "", "extension \(model.typeName): Sqlable {"]
    if snakeCase(model.typeName) != model.source.name {
      lines.append("  \(access)static let tableName = \(model.source.name.swiftLiteral)")
    }
    for property in model.properties { add(property, of: model) }
    addList("tableLayout", "[", model.properties.map { "\($0.name).column" })
    addLists(of: model, indexes: model.indexes)
    if !model.options.isEmpty { addList("tableOptions: [TableOption]", "[", model.options) }
    lines += ["", "  \(access)init(row: ReadRow) throws {"]
    for property in model.properties {
      lines.append("    \(property.reference) = try row.get(\(model.typeName).\(property.name))")
    }
    lines.append("  }")
    if !model.source.isReadOnly {
      lines += ["", "  \(access)func write(to row: inout RowWriter) throws {"]
      for property in model.properties where !property.column.row.isGenerated {
        lines.append("    row.set(\(model.typeName).\(property.name), \(property.reference))")
      }
      lines.append("  }")
    }
    lines.append("}")
  }

  /// Adds a public initializer, because the initializer that Swift generates for a struct is not public.
  private mutating func addInit(of model: GeneratedModel) {
    let parameters = model.properties.map { "\($0.name): \($0.type)" + ($0.isOptional ? " = nil" : "") }
    lines.append("")
    addParts("  public init(", parameters, ") {")
    for property in model.properties { lines.append("    self.\(property.name) = \(property.name)") }
    lines.append("  }")
  }

  mutating func addLists(of model: GeneratedModel, indexes: [GeneratedModel.Index]) {
    if !indexes.isEmpty { addList("tableIndexes", "[", indexes.map(\.text)) }
    if !model.constraints.isEmpty { addList("tableConstraints: [TableConstraint]", "[", model.constraints) }
    if let fullText = model.fullText { lines.append("  \(access)static let tableFullText = \(fullText)") }
  }

  private mutating func add(_ property: GeneratedModel.Property, of model: GeneratedModel) {
    let column = property.column
    for remark in property.remarks { lines.append("  // \(remark.commented)") }
    var parts = [column.name.swiftLiteral, property.valueType + ".self"]
    if let type = column.type.columnArgument { parts.append("as: \(type)") }
    parts += property.options
    let type = property.statesType ? ": TypedColumn<\(model.typeName), \(property.valueType)>" : ""
    let start = "  \(access)static let \(property.name)\(type) = column("
    addParts(start, parts, ")" + property.typeRemark(in: model))
  }

  private mutating func addList(_ name: String, _ start: String, _ parts: [String]) {
    addParts("  \(access)static let \(name) = \(start)", parts, "]")
  }

  private mutating func addParts(_ start: String, _ parts: [String], _ end: String) {
    let single = start + parts.joined(separator: ", ") + end
    guard single.count > 120 else { return lines.append(single) }
    lines.append(start)
    var line = "   "
    for (index, part) in parts.enumerated() {
      let text = " " + part + (index == parts.count - 1 ? "" : ",")
      if line.count + text.count > 118, line != "   " {
        lines.append(line)
        line = "   "
      }
      line += text
    }
    if end.hasPrefix("]") {
      lines += [line + ",", "  " + end]
    } else {
      lines.append(line + end)
    }
  }

  mutating func addStoredValue() {
    lines += [
      "",
      "/// A value of any storage class, which is written back as it was read.",
      "///",
      "/// Text that is not UTF-8 is read as a BLOB of its bytes.",
      "\(access)struct StoredValue: SqlValue {",
      "  \(access)var databaseValue: DatabaseValue { didSet { textBytes = nil } }",
      "  /// The bytes of a text that is not UTF-8.",
      "  private var textBytes: [UInt8]?",
      "",
      "  \(access)static var columnType: ColumnType { .blob }",
      "",
      "  \(access)init(databaseValue: DatabaseValue) { self.databaseValue = databaseValue }",
      "",
      "  \(access)static func read(from cell: ReadCell) throws -> StoredValue {",
      "    guard cell.storageClass == .text else { return StoredValue(databaseValue: try cell.databaseValue()) }",
      "    let bytes = try cell.textBytes()",
      "    if let text = String(validating: bytes, as: UTF8.self) { return StoredValue(databaseValue: .text(text)) }",
      "    var value = StoredValue(databaseValue: .blob(Data(bytes)))",
      "    value.textBytes = bytes",
      "    return value",
      "  }",
      "",
      "  \(access)func write(to cell: inout WriteCell) throws {",
      "    if let textBytes { cell.set(storedText: textBytes) } else { try cell.set(stored: databaseValue) }",
      "  }",
      "}",
    ]
  }
}

extension GeneratedModel.Property {
  /// Returns a comment with the column's declared type, if the type differs from the model's type.
  func typeRemark(in model: GeneratedModel) -> String {
    guard model.source.table != nil, SchemaText(column.row.type) != SchemaText(column.type.sqlName),
      !options.contains(where: { $0.hasPrefix("DeclaredType(") })
    else { return "" }
    return column.row.type.isEmpty ? "  // without a type" : "  // \(column.row.type.commented)"
  }

  /// The property's name inside a function with a parameter named `row`.
  fileprivate var reference: String { name == "row" ? "self.row" : name }
}
