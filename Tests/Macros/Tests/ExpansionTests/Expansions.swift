import SwiftSyntaxMacroExpansion
import SwiftSyntaxMacrosGenericTestSupport
import Testing

@testable import MacrosUnderTest

/// The macros by name, as the library declares them.
private let macros: [String: MacroSpec] = {
  var macros = [
    "Sqlable": MacroSpec(type: ModelMacro.self, conformances: ["Sqlable"]),
    "SqlEmbedded": MacroSpec(type: EmbeddedMacro.self, conformances: ["SqlEmbedded"]),
  ]
  for kind in PropertyAttribute.Kind.allCases { macros[kind.rawValue] = MacroSpec(type: PropertyMacro.self) }
  return macros
}()

/// Expects the expansion of a source.
func expectExpansion(
  _ source: String, _ expansion: String, _ diagnostics: [DiagnosticSpec] = [], fileID: StaticString = #fileID,
  filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
) {
  assertMacroExpansion(
    source, expandedSource: expansion, diagnostics: diagnostics, macroSpecs: macros, indentationWidth: .spaces(2),
    failureHandler: { failure in
      let location = failure.location
      Issue.record(
        "\(failure.message)",
        sourceLocation: SourceLocation(
          fileID: "\(location.fileID)", filePath: "\(location.filePath)", line: location.line,
          column: location.column))
    }, fileID: fileID, filePath: filePath, line: line, column: column)
}

/// Expects the expansion of a model with one property.
///
/// - Parameters:
///   - attributes: The attributes before `var`.
///   - property: The property without them.
///   - declarations: The column and the declarations that depend on it, except the layout.
func expectColumn(
  _ attributes: String, _ property: String, _ declarations: String..., name: String = "a", isWritten: Bool = true,
  layout: String? = nil, fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line,
  column: UInt = #column
) {
  let list = ["static let tableLayout\(layout ?? " = [\(name).column]")"]
  let lines = (declarations.prefix(1) + list + declarations.dropFirst()).map { "  \($0)\n" }.joined()
  let written = isWritten ? "    row.set(Model.\(name), \(name))\n" : ""
  expectExpansion(
    "@Sqlable struct Model {\n  \(attributes)\(attributes.isEmpty ? "" : " ")\(property)\n}",
    """
    struct Model {
      \(property)
    }

    extension Model: Sqlable {
    \(lines)
      init(row: ReadRow) throws {
        \(name) = try row.get(Model.\(name))
      }

      func write(to row: inout RowWriter) throws {
    \(written)  }
    }
    """, fileID: fileID, filePath: filePath, line: line, column: column)
}
