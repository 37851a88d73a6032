import Foundation

/// A public declaration of the library.
struct PublicDeclaration: Hashable, Comparable {
  /// The names of the types around the declaration and its own name, such as `Bicycle.read()`.
  let path: String
  /// The declaration without attributes, such as `static func read() -> Statement<Bicycle, [Bicycle]>`.
  let text: String
  /// Whether existing conformances or switches do not compile once the declaration is added: a requirement without a
  /// default, or an enum's case.
  var breaksIfAdded = false

  /// The line of `Tests/Checks/interface.txt`.
  var line: String { "\(path)\t\(text)" }

  /// The declaration of a computed property as that of a stored one, which programs use in the same way.
  var storedText: String { text.hasSuffix(" { get set }") ? String(text.dropLast(" { get set }".count)) : text }

  /// The path of the type around the declaration; empty at the top level.
  var parent: String { path.lastIndex(of: ".").map { String(path[..<$0]) } ?? "" }

  static func < (a: Self, b: Self) -> Bool { (a.path, a.text) < (b.path, b.text) }
}

/// The public declarations of a version of the library.
struct PublicInterface {
  private(set) var declarations: Set<PublicDeclaration> = []

  /// The targets of type aliases by the alias's path. A deprecated alias keeps an old name.
  private var aliases: [String: String] = [:]

  /// The protocols of the library that a type conforms to, or a protocol refines, by path.
  private var protocols: [String: Set<String>] = [:]

  /// Reads lines of `Tests/Checks/interface.txt`.
  init(lines: String) throws {
    for (index, line) in lines.split(separator: "\n").enumerated() where !line.hasPrefix("#") {
      let columns = line.split(separator: "\t").map(String.init)
      guard columns.count == 2 else { throw CheckError("\(Interface.file):\(index + 1): a line has two columns") }
      declarations.insert(PublicDeclaration(path: columns[0], text: columns[1]))
    }
  }

  /// Reads symbol graphs as `swift symbolgraph-extract` writes them.
  init(graphs: [Data]) throws {
    var requirements: [String: PublicDeclaration] = [:]
    var defaults: Set<String> = []
    let graphs = try graphs.map { try JSONDecoder().decode(SymbolGraph.self, from: $0) }
    let paths = Dictionary(
      graphs.flatMap(\.symbols).map { ($0.identifier.precise, $0.pathComponents.joined(separator: ".")) },
      uniquingKeysWith: { first, _ in first })
    for graph in graphs {
      for relationship in graph.relationships where relationship.kind == "conformsTo" {
        guard let type = paths[relationship.source], let name = paths[relationship.target] else { continue }
        protocols[type, default: []].insert(name)
      }
      for relationship in graph.relationships where relationship.kind == "defaultImplementationOf" {
        defaults.insert(relationship.target)
      }
      let requirementIds = Set(graph.relationships.lazy.filter { $0.kind == "requirementOf" }.map(\.source))
      for symbol in graph.symbols where symbol.kind.identifier != "swift.extension" {
        var declaration = PublicDeclaration(path: symbol.pathComponents.joined(separator: "."), text: symbol.text)
        if symbol.kind.identifier == "swift.enum.case" { declaration.breaksIfAdded = true }
        if symbol.kind.identifier == "swift.typealias", let target = symbol.aliasTarget {
          aliases[declaration.path] = target
        }
        if requirementIds.contains(symbol.identifier.precise) {
          requirements[symbol.identifier.precise] = declaration
        } else {
          declarations.insert(declaration)
        }
      }
    }
    for (id, var declaration) in requirements {
      declaration.breaksIfAdded = !defaults.contains(id)
      declarations.insert(declaration)
    }
  }

  /// Returns an older version's declaration with this version's aliases replaced by their targets.
  func translate(_ declaration: PublicDeclaration) -> PublicDeclaration {
    var components = declaration.path.split(separator: ".").map(String.init)
    for count in components.indices.reversed() where count > 0 {
      guard let target = aliases[components.prefix(count).joined(separator: ".")] else { continue }
      components.replaceSubrange(..<count, with: [target])
      break
    }
    let text = declaration.text.replacing(/[A-Za-z_][A-Za-z_0-9]*(?:\.[A-Z][A-Za-z_0-9]*)*/) { match in
      aliases[String(match.output)] ?? String(match.output)
    }
    return PublicDeclaration(path: components.joined(separator: "."), text: text)
  }

  /// The paths where a program finds the members of a type: the type and its protocols.
  private func scopes(of type: String) -> Set<String> {
    var scopes: Set = [type]
    var rest = [type]
    while let scope = rest.popLast() { rest += (protocols[scope] ?? []).filter { scopes.insert($0).inserted } }
    return scopes
  }

  /// The breaking changes from an older version to this one, as lines.
  func breaks(since old: PublicInterface) -> [String] {
    let texts = Dictionary(grouping: declarations, by: \.path)
      .mapValues { Set($0.flatMap { [$0.text, $0.storedText] }) }
    let oldTexts = Dictionary(grouping: old.declarations, by: \.path)
    var lines: Set<String> = []
    var removed: Set<String> = []
    for declaration in old.declarations.sorted() {
      let present = translate(declaration)
      let name = present.path.dropFirst(present.parent.count)
      let homes = scopes(of: present.parent).map { $0 + name }
      if aliases[declaration.path] != nil || homes.contains(where: { texts[$0]?.contains(present.text) == true }) {
        continue
      }
      if removed.contains(declaration.parent) {
        removed.insert(declaration.path)
      } else if homes.allSatisfy({ texts[$0] == nil }) {
        removed.insert(declaration.path)
        lines.insert("removed\t\(declaration.path)")
      } else {
        lines.insert("changed\t\(declaration.path)\t\(declaration.text)")
      }
    }
    for declaration in declarations where declaration.breaksIfAdded {
      if oldTexts[declaration.parent] != nil, oldTexts[declaration.path] == nil {
        lines.insert("added\t\(declaration.path)\t\(declaration.text)")
      }
    }
    return lines.sorted()
  }
}

/// A symbol graph, as far as the check reads it.
private struct SymbolGraph: Decodable {
  struct Symbol: Decodable {
    struct Kind: Decodable { let identifier: String }
    struct Identifier: Decodable { let precise: String }
    struct Fragment: Decodable {
      let kind: String
      let spelling: String
    }
    let kind: Kind
    let identifier: Identifier
    let pathComponents: [String]
    let declarationFragments: [Fragment]

    var text: String {
      let spellings = declarationFragments.filter { $0.kind != "attribute" }.map(\.spelling).joined()
      return spellings.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    /// The name after the `=` of a type alias.
    var aliasTarget: String? {
      text.wholeMatch(of: /typealias [^=]+ = ([A-Za-z_.0-9]+)(?:<.*)?/).map { String($0.1) }
    }
  }
  struct Relationship: Decodable {
    let kind: String
    let source: String
    let target: String
  }
  let symbols: [Symbol]
  let relationships: [Relationship]
}

/// The breaking changes of the public interface since the last version.
public enum Interface {
  static let command = "swift run --package-path Tests/Checks Checks interface GRAPHS"

  /// The public declarations of the last version.
  static let file = "Tests/Checks/interface.txt"

  /// The breaking changes since the last version that `CHANGELOG.md` describes.
  static let breaks = "Tests/Checks/breaks.txt"
}

extension Repository {
  /// Compares the interface in a folder of symbol graphs with that of the last version, and the breaking changes with
  /// `Tests/Checks/breaks.txt`. Without `isCheck` writes that file.
  public func interface(graphs: String, isCheck: Bool) throws -> Report {
    try compare(interface(graphs: graphs), isCheck: isCheck)
  }

  /// Writes the interface in a folder of symbol graphs as that of the last version.
  public func keepInterface(graphs: String) throws -> Report {
    let lines = try interface(graphs: graphs).declarations.sorted().map(\.line)
    try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: root.appending(path: Interface.file))
    try Data().write(to: root.appending(path: Interface.breaks))
    var report = Report()
    report.declarations = lines.count
    report.notes = ["\(Interface.file): \(lines.count) public declarations"]
    return report
  }

  func compare(_ interface: PublicInterface, isCheck: Bool) throws -> Report {
    var report = Report()
    report.declarations = interface.declarations.count
    let found = interface.breaks(since: try PublicInterface(lines: text(Interface.file)))
    let accepted = try text(Interface.breaks).split(separator: "\n").map(String.init)
    if !isCheck {
      try Data(found.map { $0 + "\n" }.joined().utf8).write(to: root.appending(path: Interface.breaks))
    }
    for line in isCheck ? found.filter({ !accepted.contains($0) }) : [] {
      report.add(
        Interface.breaks, 1,
        "a breaking change is not listed: \(line.replacing("\t", with: " ")). Describe it under Breaking in "
          + "CHANGELOG.md, then run `\(Interface.command)`")
    }
    for (index, line) in (isCheck ? accepted : []).enumerated() where !found.contains(line) {
      report.add(Interface.breaks, index + 1, "not a breaking change any more: \(line.replacing("\t", with: " "))")
    }
    report.notes.append("\(report.declarations) public declarations, \(found.count) breaking changes")
    return report
  }

  /// Reads the interface from a folder of symbol graphs.
  private func interface(graphs: String) throws -> PublicInterface {
    let files = try FileManager.default.contentsOfDirectory(
      at: URL(filePath: graphs, directoryHint: .isDirectory), includingPropertiesForKeys: nil)
    return try PublicInterface(graphs: files.filter { $0.pathExtension == "json" }.map { try Data(contentsOf: $0) })
  }
}
