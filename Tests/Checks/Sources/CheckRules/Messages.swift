import Foundation

/// A string literal of the sources: its text between interpolations.
struct MessageLiteral: Hashable {
  let path: String
  let line: Int
  /// The texts before, between and after its interpolations.
  let parts: [String]
  /// The error kind of the call whose argument the literal is, such as `misuse` or `busy`; nil if it is none.
  let kind: String?
}

/// A row of `Tests/Checks/messages.txt`: a message with `<word>` for each interpolation, its kind, cause and remedy.
/// The kind is empty if the error keeps that of its cause.
struct MessageEntry {
  let line: Int
  let message: String
  let kind: String
  let cause: String
  let remedy: String
  /// The texts before, between and after the interpolations.
  private let parts: [String]

  init(line: Int, message: String, kind: String, cause: String, remedy: String) {
    (self.line, self.message, self.kind, self.cause, self.remedy) = (line, message, kind, cause, remedy)
    let text = message.hasSuffix("…") ? String(message.dropLast()) : message
    parts = text.split(separator: /<[^<>]+>/, omittingEmptySubsequences: false).map(String.init)
  }

  /// Whether a literal is the message, or its beginning if the message ends with `…`.
  func matches(_ literal: MessageLiteral) -> Bool {
    guard message.hasSuffix("…") else { return parts == literal.parts }
    guard parts.count <= literal.parts.count, let last = parts.last else { return false }
    return Array(literal.parts.prefix(parts.count - 1)) == parts.dropLast()
      && literal.parts[parts.count - 1].hasPrefix(last)
  }
}

/// The table of the commonest messages in `Docs/Errors.md`.
public enum Messages {
  public static let command = "swift run --package-path Tests/Checks Checks messages"
  static let list = "Tests/Checks/messages.txt"
  static let guide = "Docs/Errors.md"
  static let begin = "<!-- messages: generated -->"
  static let end = "<!-- messages: end -->"

  /// The areas of the list with their entries. An area's title is a line that begins with `# `; the columns of an entry
  /// are separated by tabs.
  static func entries(_ text: String) throws -> [(area: String, entries: [MessageEntry])] {
    var areas: [(area: String, entries: [MessageEntry])] = []
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    for (index, line) in lines.enumerated() where !line.isEmpty {
      if line.hasPrefix("# ") {
        areas.append((String(line.dropFirst(2)), []))
        continue
      }
      let columns = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
      guard columns.count == 4, !areas.isEmpty else {
        throw CheckError("\(list):\(index + 1): an entry needs a title above it and four columns")
      }
      areas[areas.count - 1].entries.append(
        MessageEntry(line: index + 1, message: columns[0], kind: columns[1], cause: columns[2], remedy: columns[3]))
    }
    return areas
  }

  static func table(_ areas: [(area: String, entries: [MessageEntry])]) -> String {
    func cell(_ text: String) -> String { text.replacing("|", with: "\\|") }
    func row(_ entry: MessageEntry) -> String {
      let kind = entry.kind.isEmpty ? "that of the cause" : "`.\(entry.kind)`"
      return "| `\(cell(entry.message))` | \(kind) | \(cell(entry.cause)) | \(cell(entry.remedy)) |\n"
    }
    return areas.map { area, entries in
      "### \(area)\n\n| message | kind | cause | what to do |\n|---|---|---|---|\n" + entries.map(row).joined()
    }.joined(separator: "\n")
  }
}

/// Returns the string literals of a file.
func messageLiterals(_ file: SourceFile) -> [MessageLiteral] {
  let bytes = file.uncommented
  var literals: [MessageLiteral] = []
  var position = 0
  var line = 1
  // The end of the last literal.
  var lastEnd = 0

  func run(of byte: UInt8, at start: Int) -> Int { bytes.dropFirst(start).prefix { $0 == byte }.count }

  /// Reads code up to the parenthesis that closes an interpolation, or to the end.
  func readCode(isInterpolation: Bool) {
    var depth = 1
    while position < bytes.count {
      let byte = bytes[position]
      if byte == "\n" { line += 1 }
      if byte == "\"" || byte == "#", run(of: "\"", at: position + run(of: "#", at: position)) > 0 {
        readLiteral()
        continue
      }
      position += 1
      if isInterpolation {
        depth += byte == "(" ? 1 : byte == ")" ? -1 : 0
        if depth == 0 { return }
      }
    }
  }

  func readLiteral() {
    let (start, startLine) = (position, line)
    let between = bytes[lastEnd..<start].filter { $0 != " " && $0 != "\n" }
    let isJoined = between == ["+"]
    let joinedIndex = isJoined ? literals.indices.last : nil
    let hashes = run(of: "#", at: position)
    let isBlock = run(of: "\"", at: position + hashes) >= 3
    let quotes = isBlock ? 3 : 1
    position += hashes + quotes
    var parts = [""]
    var text: [UInt8] = []
    while position < bytes.count {
      let byte = bytes[position]
      if byte == "\"", run(of: "\"", at: position) >= quotes, run(of: "#", at: position + quotes) >= hashes {
        position += quotes + hashes
        break
      }
      if byte == "\n" {
        line += 1
        if !isBlock { break }
      }
      guard byte == "\\", run(of: "#", at: position + 1) >= hashes, position + 1 + hashes < bytes.count else {
        text.append(byte)
        position += 1
        continue
      }
      position += 2 + hashes
      switch bytes[position - 1] {
      case "(":
        parts[parts.count - 1] += String(decoding: text, as: UTF8.self)
        parts.append("")
        text = []
        readCode(isInterpolation: true)
      case "\n":
        line += 1
        text += Array("\u{0}".utf8)
      default: text.append(bytes[position - 1])
      }
    }
    parts[parts.count - 1] += String(decoding: text, as: UTF8.self)
    if isBlock {
      parts = parts.map { $0.replacing(/\u{0} */, with: "").replacing(/\n */, with: "\n") }
      parts[0] = String(parts[0].drop { $0 == "\n" || $0 == " " })
      let last = parts.count - 1
      if parts[last].hasSuffix("\n") { parts[last].removeLast() }
    }
    // A text in several literals, joined by `+`, is one message.
    if let joinedIndex, let first = parts.first {
      let joined = literals[joinedIndex]
      parts = joined.parts.dropLast() + [(joined.parts.last ?? "") + first] + parts.dropFirst()
      literals[joinedIndex] = MessageLiteral(path: file.path, line: joined.line, parts: parts, kind: joined.kind)
    } else {
      literals.append(MessageLiteral(path: file.path, line: startLine, parts: parts, kind: kind(before: start)))
    }
    lastEnd = position
  }

  /// The kind in the call that the literal is an argument of: `.misuse("…")` or `SqlError(.busy, message: "…")`.
  func kind(before start: Int) -> String? {
    let text = String(decoding: bytes[max(0, start - 160)..<start], as: UTF8.self)
    if let match = text.firstMatch(of: /\.(misuse|invalidStatement)\(\s*$/) { return String(match.1) }
    if let match = text.firstMatch(of: /SqlError\(\s*\.(\w+(?:\(\.\w+\))?),\s*message:\s*$/) { return String(match.1) }
    return nil
  }

  readCode(isInterpolation: false)
  return literals
}

extension Repository {
  /// Writes the table of messages into the guide, or compares it with the guide. Each message must be in the library's
  /// sources, with its kind.
  public func messages(_ files: [SourceFile], isCheck: Bool) throws -> Report {
    var report = Report()
    let areas = try Messages.entries(text(Messages.list))
    let library = files.filter {
      $0.path.hasPrefix("Sources/") && $0.isSwift && !$0.isTest && !$0.path.hasPrefix("Sources/SqlableTool/")
    }
    let literals = library.flatMap(messageLiterals)
    for entry in areas.flatMap(\.entries) {
      let matches = literals.filter(entry.matches)
      if matches.isEmpty {
        report.add(Messages.list, entry.line, "no message of Sources reads: \(entry.message)")
      } else if !matches.contains(where: { $0.kind == nil || $0.kind == entry.kind || entry.kind.isEmpty }) {
        let kinds = Set(matches.compactMap(\.kind)).sorted().joined(separator: ", ")
        report.add(Messages.list, entry.line, "the message has kind \(kinds), not \(entry.kind): \(entry.message)")
      }
    }
    let old = try text(Messages.guide)
    guard let begin = old.range(of: Messages.begin + "\n"), let end = old.range(of: Messages.end) else {
      throw CheckError("\(Messages.guide) has no place for the table: \(Messages.begin)")
    }
    let new = old.replacingCharacters(
      in: begin.upperBound..<end.lowerBound, with: "\n" + Messages.table(areas) + "\n")
    guard old != new else { return report }
    if isCheck {
      report.add(Messages.guide, 1, "differs from what `\(Messages.command)` generates")
    } else {
      try Data(new.utf8).write(to: root.appending(path: Messages.guide))
      report.notes.append(Messages.guide)
    }
    return report
  }
}
