/// The order of each target's folders, from the bottom up, read from `Tests/Checks/layers.txt`.
public struct LayerOrder: Sendable {
  struct Entry {
    let name: String
    let line: Int
  }

  let path: String
  private(set) var targets: [(target: Entry, folders: [Entry])] = []

  /// A target's name begins its line; its folders are indented below it. `#` begins a comment.
  public init(_ path: String, _ text: String) {
    self.path = path
    for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      let content = line.prefix { $0 != "#" }
      guard let name = content.split(separator: " ").first else { continue }
      let entry = Entry(name: String(name), line: number + 1)
      if content.first == " ", !targets.isEmpty {
        targets[targets.count - 1].folders.append(entry)
      } else {
        targets.append((entry, []))
      }
    }
  }
}

/// Finds the types that a file names though a folder above its own declares them.
///
/// A type belongs to the folder that declares it, whatever others extend it. Left out are types that only their file
/// sees, nested ones, and a name that the file's own folder has for something else too. What another target declares is
/// the compiler's concern.
public func checkLayers(_ files: [SourceFile], _ order: LayerOrder) -> Report {
  var report = Report()
  let byTarget = Dictionary(grouping: files.filter { $0.isSwift && $0.target != nil }, by: { $0.target ?? "" })
  for (target, folders) in order.targets {
    var ranks: [String: Int] = [:]
    for (rank, folder) in folders.enumerated() where ranks.updateValue(rank, forKey: folder.name) != nil {
      report.add(order.path, folder.line, "\(folder.name) is listed twice")
    }
    let found = (byTarget[target.name] ?? []).map { Layered($0, target: target.name) }
    for folder in folders where !found.contains(where: { $0.folder == folder.name }) {
      report.add(order.path, folder.line, "there is no folder \(folder.name) in Sources/\(target.name)")
    }
    for file in found where ranks[file.folder] == nil {
      report.add(file.path, 1, "the folder \(file.folder) has no place in \(order.path)")
    }

    var owners: [String: Set<String>] = [:]
    var own: [String: Set<String>] = [:]
    for file in found {
      for name in file.declared { owners[name, default: []].insert(file.folder) }
      own[file.folder, default: []].formUnion(file.own)
    }
    report.declarations += owners.count
    for file in found {
      for (name, line) in file.mentions.sorted(by: { ($0.value, $0.key) < ($1.value, $1.key) }) {
        guard let owner = owners[name]?.first, owners[name]?.count == 1, own[file.folder]?.contains(name) == false,
          let rank = ranks[file.folder], let above = ranks[owner], above > rank
        else { continue }
        report.add(file.path, line, "\(name): \(file.folder) uses \(owner) above it")
      }
    }
  }
  for (target, files) in byTarget.sorted(by: { $0.key < $1.key })
  where !order.targets.contains(where: { $0.target.name == target }) {
    let folders = Set(files.map { Layered.folder(of: $0, target: target) })
    if folders.count > 1, target.hasPrefix("Sqlable") {
      report.add(order.path, 1, "the folders of Sources/\(target) have no order")
    }
  }
  return report
}

/// The names of types in one file.
private struct Layered {
  let path: String
  let folder: String

  /// The types that the file declares for its target.
  var declared: Set<String> = []

  /// All that the file declares with a capital: nested types, cases and associated types too.
  var own: Set<String> = []

  /// Names with a capital that do not follow a dot, with the first line of each.
  var mentions: [String: Int] = [:]

  init(_ file: SourceFile, target: String) {
    path = file.path
    folder = Self.folder(of: file, target: target)
    for (number, line) in file.lines.enumerated() {
      let words = readWords(file.code, in: line)
      for (place, word) in words.enumerated() where ("A"..."Z") ~= file.code[word.place.lowerBound] {
        if place > 0, Self.keywords.contains(words[place - 1].text) {
          own.insert(word.text)
          if isTopLevel(words[..<place], in: file, line) { declared.insert(word.text) }
        }
        if word.before != ".", mentions[word.text] == nil { mentions[word.text] = number + 1 }
      }
    }
  }

  static let keywords: Set = [
    "struct", "class", "enum", "protocol", "actor", "typealias", "case", "associatedtype",
  ]
  static let modifiers: Set = ["public", "package", "internal", "final", "indirect", "open", "nonisolated"]

  /// Words after an attribute and its arguments that make it no declaration for the target.
  static let others: Set = ["private", "fileprivate", "extension", "func", "var", "let"]

  /// "." are the files that are directly in the target.
  static func folder(of file: SourceFile, target: String) -> String {
    let folder = file.path.dropFirst("Sources/\(target)/".count).split(separator: "/").dropLast()
    return folder.isEmpty ? "." : folder.joined(separator: "/")
  }

  /// Whether the words before a name declare a type, at the beginning of a line, for the whole target.
  private func isTopLevel(_ before: ArraySlice<Word>, in file: SourceFile, _ line: Range<Int>) -> Bool {
    guard line.lowerBound < line.upperBound, file.code[line.lowerBound] != " " else { return false }
    let isAttributed = file.code[line.lowerBound] == "@"
    return before.dropLast().allSatisfy {
      isAttributed ? !Self.others.contains($0.text) : Self.modifiers.contains($0.text)
    }
  }
}
