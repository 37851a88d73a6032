#if Macros
import SwiftSyntax

/// The source text of a conformance, laid out like code written by hand.
struct ModelSource {
  private let model: ModelDeclaration
  /// The type's name, qualified by the names of the enclosing types.
  private let type: String
  private var lines: [String] = []

  init(_ model: ModelDeclaration, _ type: String) {
    self.model = model
    self.type = type
  }

  private var isModel: Bool { model.role == .model }
  /// True if the model's declaration contains a mistake. The conformance then has no options, and its functions are
  /// empty or call `fatalError()`. The rest of the program still sees the model and its columns, so the compiler
  /// reports only the mistake.
  private var isOutline: Bool { !model.mistakes.all.isEmpty }
  /// The access modifier of the members that the protocol requires.
  private var access: String { access(of: .public) }

  /// Returns a column's access modifier: as visible as its property, but not more visible than the type.
  private func access(of access: Access) -> String {
    let lower = access.rawValue < model.access.rawValue ? access : model.access
    // Members of a private or fileprivate type need no modifier.
    return model.access.rawValue < Access.internal.rawValue && lower == model.access ? "" : lower.text
  }

  // MARK: The extension

  /// - Parameter declares: True if the extension must declare the conformance, because the type does not declare it.
  func conformance(declares: Bool) -> String {
    var text = self
    text.lines = ["extension \(type)\(declares ? ": \(model.role.name)" : "") {"]
    if isModel, let table = model.argument(nil), !table.expression.isNil, model.declared["tableName"] == nil {
      text.lines.append("  \(access)static let tableName = \(table.expression.trimmedDescription)")
    }
    if !model.isNested { text.addColumns() }
    if isModel { text.addTable() } else if model.declared["fields"] == nil { text.addLayout("fields") }
    if !model.readsItself, !model.isClass { text.lines += [""] + text.reading(indent: "  ") }
    if !model.writesItself { text.addWriting() }
    return (text.lines + ["}"]).joined(separator: "\n")
  }

  private mutating func addColumns() {
    for property in model.columns { addColumn(property) }
  }

  private mutating func addColumn(_ property: ModelProperty) {
    let start = "  \(access(of: property.access))static let \(property.name)"
    if isOutline, property.annotation?.unstorablePart != nil || property.valueType.isEmpty {
      return lines.append("\(start) = Column(\(model.columnLiteral(property)), .nullable(.blob))")
    }
    guard !property.has(.embedded) else {
      let prefix = model.columnLiteral(property)
      return addParts("\(start) = embedded(", [prefix, property.valueType + ".self"], ")")
    }
    var parts = [model.columnLiteral(property), property.valueType + ".self"]
    guard !isOutline else { return addParts("\(start) = \(isModel ? "column" : "field")(", parts, ")") }
    if let type = property.columnArguments.columnType { parts.append("as: \(type.trimmedDescription)") }
    parts += property.options
    // Write a type annotation if the options name another column, because that column's options can in turn name this
    // column. Also write the annotation for a storable standard type: the compiler then reports a wrong argument only
    // here, not at each use of the column. For a type of the program, leave the annotation out, so that `column`
    // reports a type that can't be stored.
    let namesColumn = property.options.contains { $0.contains("column:") || $0.contains("\(model.name.text).") }
    let statesType = namesColumn || parts.count > 2 && property.valueType.isStorable
    let kind = isModel ? "TypedColumn" : "Field"
    let annotation = statesType ? ": \(kind)<\(type), \(property.valueType)>" : ""
    addParts("\(start)\(annotation) = \(isModel ? "column" : "field")(", parts, ")")
  }

  private mutating func addTable() {
    if model.declared["tableLayout"] == nil { addLayout("tableLayout") }
    guard !isOutline else { return }
    let indexes = model.indexes.map(\.text)
    if !indexes.isEmpty { addParts("  \(access)static let tableIndexes = [", indexes, "]") }
    if let options = model.argument("options"), options.expression.trimmedDescription != "[]" {
      let value = options.expression.trimmedDescription
      lines.append("  \(access)static let tableOptions: [TableOption] = \(value)")
    }
    let searched = model.stored.filter { $0.has(.fullText) }
    if !searched.isEmpty {
      let arguments = searched.flatMap { $0.attribute(.fullText)?.arguments.map(\.text) ?? [] }
      addParts("  \(access)static let tableFullText = FullTextIndex(", searched.map(\.name) + arguments, ")")
    }
  }

  /// Adds `tableLayout`, for example `[id.column, name.column] + home.columns`.
  private mutating func addLayout(_ name: String) {
    guard !isOutline else { return lines.append("  \(access)static let \(name): [Column] = []") }
    var lists: [[String]] = []
    for property in model.stored {
      if property.has(.embedded) {
        lists += [["\(property.name).columns"], []]
      } else {
        if lists.isEmpty { lists.append([]) }
        lists[lists.count - 1].append("\(property.name).column")
      }
    }
    let start = "  \(access)static let \(name)"
    let hasEmbedded = model.stored.contains { $0.has(.embedded) }
    guard hasEmbedded else { return addParts("\(start) = [", lists.first ?? [], "]") }
    let terms = lists.filter { !$0.isEmpty }.map { list in
      list[0].hasSuffix(".columns") ? list[0] : "[\(list.joined(separator: ", "))]"
    }
    let single = "\(start): [Column] = \(terms.joined(separator: " + "))"
    guard single.count > 120 else { return lines.append(single) }
    lines.append("\(start): [Column] =")
    lines += terms.enumerated().map { "    \($0.offset == 0 ? "" : "+ ")\($0.element)" }
  }

  private func reading(indent: String) -> [String] {
    let row = isModel ? "ReadRow" : "EmbeddedRow"
    let values = model.stored.map { "\($0.reference) = try row.get(\(type).\($0.name))" }
    let modifier = model.isClass && !model.isFinal ? "required " : ""
    return ["\(indent)\(access)\(modifier)init(row: \(row)) throws {"]
      + (isOutline ? ["fatalError()"] : values).map { "\(indent)  \($0)" } + ["\(indent)}"]
  }

  private mutating func addWriting() {
    lines += ["", "  \(access)func write(to row: inout \(isModel ? "RowWriter" : "EmbeddedWriter")) throws {"]
    for property in model.stored where !property.isGenerated && !isOutline {
      lines.append("    row.set(\(type).\(property.name), \(property.reference))")
    }
    lines.append("  }")
  }

  private mutating func addParts(_ start: String, _ parts: [String], _ end: String) {
    let single = start + parts.joined(separator: ", ") + end
    guard single.count > 120 else { return lines.append(single) }
    lines.append(start)
    var line = "   "
    for (index, part) in parts.enumerated() {
      let isLast = index == parts.count - 1
      let text = " " + part + (isLast ? "" : ",")
      if line.count + text.count + (isLast ? end.count : 0) > 118, line != "   " {
        lines.append(line)
        line = "   "
      }
      line += text
    }
    lines += end == "]" ? [line + ",", "  ]"] : [line + end]
  }

  // MARK: In the type

  var columns: [String] {
    model.columns.map { property in
      var text = self
      text.addColumn(property)
      return text.unindented
    }
  }

  private var unindented: String { lines.map { String($0.dropFirst(2)) }.joined(separator: "\n") }

  /// The initializers that must be in the type. An extension of a class can't declare them. In an extension of a
  /// struct, the memberwise initializer would repeat the initializer that Swift synthesizes.
  var initializers: [String] {
    var texts: [String] = []
    if model.isClass, !model.readsItself { texts.append(reading(indent: "").joined(separator: "\n")) }
    let isSeenOutside = model.access.rawValue >= Access.package.rawValue
    if model.isClass || isSeenOutside, !model.hasInitializers { texts.append(memberwise) }
    return texts
  }

  private var memberwise: String {
    var text = self
    let values = model.properties.filter { $0.isParameter(in: model) }
    text.addParts("  \(access)init(", values.map(\.parameter), ") {")
    text.lines += isOutline ? ["    fatalError()"] : values.map { "    self.\($0.name) = \($0.name)" }
    text.lines.append("  }")
    return text.unindented
  }
}

extension ModelProperty {
  /// True if the memberwise initializer has a parameter for this property. A constant with an initial value can't be
  /// set. A property that is less visible than the type needs no parameter if it has a value.
  fileprivate func isParameter(in model: ModelDeclaration) -> Bool {
    let hasValue = initialValue != nil || (isOptional && !isLet)
    if isLet, initialValue != nil { return false }
    return type != nil && (!hasValue || access.rawValue >= model.access.rawValue)
  }

  fileprivate var parameter: String {
    let annotation = binding.typeAnnotation?.type
    let escaping = annotation?.isFunction == true ? "@escaping " : ""
    let value = initialValue.map { " = \($0.trimmedDescription)" } ?? (isOptional ? " = nil" : "")
    return "\(name): \(escaping)\(type ?? "")\(value)"
  }
}
#endif
