import Foundation
import Testing

@testable import SqlableCore
@testable import SqlableDocuments
@testable import SqlableTestSupport

/// The lists of functions in `Docs/StatementFormat.schema.json` and `Docs/StatementFormat.md`, which must match
/// `BuiltIn.facts`.
///
/// `SQLABLE_GOLDEN=write swift test --filter FunctionListTests` writes the lists into both files.
@Suite struct FunctionListTests {
  private typealias Facts = SqlExpression.Call.BuiltIn.Facts

  /// Groups the format's functions by a key, in the order of their declaration.
  private func groups<Key: Equatable>(_ key: (Facts) -> Key) -> [(key: Key, names: [String])] {
    let countRows = Facts(.scalar, 0...0, .integer, .never)
    var groups: [(key: Key, names: [String])] = [(key(countRows), ["countRows"])]
    for function in SqlExpression.Call.BuiltIn.allCases where function.facts.kind != .table {
      let own = key(function.facts)
      if let index = groups.firstIndex(where: { $0.key == own }) {
        groups[index].names.append(function.rawValue)
      } else {
        groups.append((own, [function.rawValue]))
      }
    }
    return groups
  }

  /// Compares the file's lines from `start` up to `end` with `lines`, or replaces them.
  private func check(_ name: String, _ lines: [String], from start: String, to end: String) throws {
    let file = Repository.root.appending(path: "Docs/\(name)")
    var text = try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n")
    let first = try #require(text.firstIndex(of: start))
    let last = try #require(text[first...].firstIndex(of: end))
    if ProcessInfo.processInfo.environment["SQLABLE_GOLDEN"] == "write" {
      text.replaceSubrange(first..<last, with: lines)
      try text.joined(separator: "\n").write(to: file, atomically: true, encoding: .utf8)
    } else {
      let written = Array(text[first..<last])
      #expect(written == lines, "SQLABLE_GOLDEN=write swift test --filter FunctionListTests writes them")
    }
  }

  // MARK: The schema

  @Test func theSchemaHasEveryFunctionWithItsArguments() throws {
    var lines = [#"    "function": {"#, #"      "enum": ["#]
    lines += wrapped(groups { _ in true }.flatMap(\.names), indent: 8)
    lines += ["      ]", "    },", #"    "arguments": {"#, #"      "allOf": ["#]
    for (then, names) in groups(rule) {
      lines += ["        {", #"          "if": {"#, #"            "properties": {"#, #"              "function": {"#]
      lines += [#"                "enum": ["#] + wrapped(names, indent: 18)
      lines += ["                ]", "              }", "            },", #"            "required": ["function"]"#]
      lines += ["          },", #"          "then": \#(then)"#, "        },"]
    }
    let items = ##"{"properties": {"arguments": {"items": {"$ref": "#/$defs/noPath"}}}}"##
    lines += [#"        {"if": {"required": ["registered"]}, "then": \#(items)}"#, "      ]", "    },"]
    try check("StatementFormat.schema.json", lines, from: #"    "function": {"#, to: #"    "compared": {"#)
  }

  /// Returns the schema of a call with these facts.
  private func rule(_ facts: Facts) -> String {
    guard facts.arguments != 0...0 else { return #"{"properties": {"arguments": false}}"# }
    let least = facts.arguments.lowerBound
    let items =
      switch facts.constants {
      case .nothing, .format, .allButFirst: ##""items": {"$ref": "#/$defs/noPath"}"##
      case .paths: ##""prefixItems": [{"$ref": "#/$defs/noPath"}], "items": {"type": "array"}"##
      case .pathsOfValues: ##""prefixItems": [{"$ref": "#/$defs/noPath"}]"##
      }
    let minimum = least > 0 ? #""minItems": \#(least), "# : ""
    let required = least > 0 ? #", "required": ["arguments"]"# : ""
    let maximum = #""maxItems": \#(facts.arguments.upperBound)"#
    return #"{"properties": {"arguments": {\#(minimum)\#(maximum), \#(items)}}\#(required)}"#
  }

  private func wrapped(_ names: [String], indent: Int) -> [String] {
    var lines = [String(repeating: " ", count: indent)]
    for (index, name) in names.enumerated() {
      let word = "\"\(name)\"" + (index < names.count - 1 ? "," : "")
      let isFirst = lines[lines.count - 1].last == " "
      if !isFirst, lines[lines.count - 1].count + word.count > 118 {
        lines.append(String(repeating: " ", count: indent) + word)
      } else {
        lines[lines.count - 1] += (isFirst ? "" : " ") + word
      }
    }
    return lines
  }

  // MARK: The guide

  @Test func theGuideHasEveryFunctionWithItsArguments() throws {
    var lines = ["| function | arguments |", "|---|---|"]
    for (words, names) in groups(words) {
      let cells = names.map { name -> String in
        let sql = name == "countRows" ? "count(*)" : SqlExpression.Call.BuiltIn(rawValue: name)?.name ?? ""
        return sql == name ? "`\(name)`" : "`\(name)` (`\(sql)`)"
      }
      lines.append("| \(cells.joined(separator: ", ")) | \(words) |")
    }
    try check("StatementFormat.md", lines, from: lines[0], to: "")
  }

  private func words(_ facts: Facts) -> String {
    let (least, most) = (facts.arguments.lowerBound, facts.arguments.upperBound)
    let numbers = ["none", "one", "two", "three"]
    func number(_ count: Int) -> String { count < numbers.count ? numbers[count] : "\(count)" }
    let count =
      switch facts.constants {
      case .format: "a text, and up to \(most - 1) more"
      case .paths where most == 2: "one, and perhaps a path within JSON"
      case .paths: "one, and paths within JSON"
      case .pathsOfValues: "one, and then paths within JSON, each followed by a value"
      case .nothing, .allButFirst:
        least == most
          ? number(least)
          : least == 0 ? "up to \(most)" : "\(number(least)) \(most - least == 1 ? "or" : "to") \(number(most))"
      }
    switch facts.kind {
    case .scalar, .table: return count
    case .aggregate: return count + ": an aggregate" + (facts.has(.takesOrder) ? ", which may have `orderBy`" : "")
    case .window: return count + "; with `over`"
    }
  }
}
