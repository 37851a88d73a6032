#if Macros
import SwiftDiagnostics
import SwiftSyntax

struct ModelIndex {
  fileprivate(set) var columns: [(property: ModelProperty, attribute: PropertyAttribute)]

  fileprivate var attribute: PropertyAttribute { columns[0].attribute }
  fileprivate var name: String? { attribute.argument("name")?.expression.trimmedDescription }

  /// The Swift code of the index: `Index(name.desc, unique: true)` for
  /// `@Index(unique: true, descending: true) var name: String`.
  var text: String {
    let terms = columns.map { $0.property.name + ($0.attribute.isDescending ? ".desc" : "") }
    let arguments = attribute.arguments.filter { $0.label?.text != "descending" }.map(\.text)
    return "Index(\((terms + arguments).joined(separator: ", ")))"
  }
}

extension ModelDeclaration {
  /// The indexes of the table. Attributes with the same name declare one index, whose columns have the order of the
  /// properties.
  var indexes: [ModelIndex] {
    var indexes: [ModelIndex] = []
    for property in stored {
      for (position, attribute) in property.attributes.enumerated()
      where attribute.kind == .index && !property.attributes[..<position].contains(where: attribute.repeats) {
        let name = attribute.argument("name")?.expression
        let same = name.flatMap { name in
          name.isNil ? nil : indexes.firstIndex { $0.name == name.trimmedDescription }
        }
        if let same {
          indexes[same].columns.append((property, attribute))
        } else {
          indexes.append(ModelIndex(columns: [(property, attribute)]))
        }
      }
    }
    return indexes
  }

  mutating func checkIndexes() {
    for index in indexes {
      let isUnique = index.attribute.uniqueness
      for (property, attribute) in index.columns.dropFirst() where attribute.uniqueness != isUnique {
        mistakes.add(
          "\(index.columns[0].property.plainName) and \(property.plainName) declare one index, but differ in unique; "
            + "write the same value in both", "index", at: attribute.syntax)
      }
      guard let list = declared["tableIndexes"] else { continue }
      mistakes.add(
        "\(name.text) already declares tableIndexes; add \(index.text) there", "declared",
        at: index.attribute.syntax, moving(index, to: list))
    }
  }

  private func moving(_ index: ModelIndex, to list: VariableDeclSyntax) -> [FixIt] {
    guard let array = list.bindings.first?.initializer?.value.as(ArrayExprSyntax.self) else { return [] }
    var variables: [VariableDeclSyntax] = []
    for column in index.columns where !variables.contains(where: { $0.id == column.property.variable.id }) {
      variables.append(column.property.variable)
    }
    let attributes = index.columns.map(\.attribute.syntax)
    let removals = variables.map { FixIt.Change.replace($0, with: $0.without(attributes)) }
    let addition = FixIt.Change.replace(array, with: array.appending("\(raw: index.text)"))
    return [.changes("move the index to tableIndexes", removals + [addition])]
  }
}

extension PropertyAttribute {
  var isDescending: Bool { argument("descending")?.expression.trimmedDescription == "true" }

  fileprivate var uniqueness: String { argument("unique")?.expression.trimmedDescription ?? "false" }
}

extension ArrayExprSyntax {
  /// Returns the literal with one more element, laid out like the literal's last element.
  fileprivate func appending(_ element: ExprSyntax) -> ArrayExprSyntax {
    var array = self
    var elements = Array(elements)
    var added = ArrayElementSyntax(expression: element)
    if let last = elements.last {
      let isOnNewLine = last.leadingTrivia.contains(where: \.isNewline)
      if last.trailingComma == nil {
        elements[elements.count - 1] = last.with(
          \.trailingComma, .commaToken(trailingTrivia: isOnNewLine ? [] : .space))
      } else {
        added.trailingComma = .commaToken()
      }
      added.leadingTrivia = isOnNewLine ? last.leadingTrivia : last.trailingComma == nil ? [] : .space
    }
    array.elements = ArrayElementListSyntax(elements + [added])
    return array
  }
}
#endif
