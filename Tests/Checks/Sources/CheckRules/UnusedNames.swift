/// Finds names that the library declares and nothing uses: no source, test or example has them once more.
///
/// Public names are left out, and those that the standard library, SQLite or a package calls.
public func checkUnusedNames(_ files: [SourceFile]) -> Report {
  var occurrences: [String: Int] = [:]
  var declarations: [Declaration] = []
  for file in files where file.isSwift {
    for word in readWords(file.uncommented, in: file.uncommented.indices) { occurrences[word.text, default: 0] += 1 }
    if file.target?.hasPrefix("Sqlable") == true { declarations += declaredNames(file) }
  }
  var report = Report()
  report.declarations = declarations.count
  let places = Dictionary(grouping: declarations, by: \.name)
  for declaration in declarations {
    let name = declaration.name
    if calledByOthers.contains(name) || places[name]!.contains(where: \.isPublic) { continue }
    if occurrences[name, default: 0] > places[name]!.count { continue }
    report.add(declaration.path, declaration.line, "nothing uses \(name)")
  }
  return report
}

/// Requirements of the standard library, SwiftNIO and swift-syntax, and names that the compiler uses.
private let calledByOthers: Set = [
  "hash", "_rawHashValue", "description", "debugDescription", "makeIterator", "underestimatedCount", "customMirror",
  "unownedExecutor", "encode", "encodeIfPresent", "decodeIfPresent", "nestedContainer", "nestedUnkeyedContainer",
  "superEncoder", "superDecoder", "CodingKeys", "InboundIn", "OutboundIn", "OutboundOut", "channelActive",
  "channelRead", "errorCaught", "channelInactive", "Plugin", "providingMacros", "diagnosticID", "fixItID",
]

private struct Declaration {
  let name: String
  let path: String
  let line: Int
  let isPublic: Bool
}

/// The names that a file declares, local ones too.
private func declaredNames(_ file: SourceFile) -> [Declaration] {
  var declarations: [Declaration] = []
  // The cases of a public enum and the requirements of a public protocol are public without saying so.
  var publicIndent: Int?
  for (number, line) in file.lines.enumerated() {
    let words = readWords(file.code, in: line)
    let texts = words.map(\.text)
    let code = file.code[line]
    let indent = code.prefix { $0 == " " }.count
    if let outer = publicIndent, indent <= outer, code.dropFirst(indent).first == "}" { publicIndent = nil }
    let afterPublic = texts.drop { $0 != "public" }.dropFirst().first { $0 != "indirect" }
    if publicIndent == nil, afterPublic == "enum" || afterPublic == "protocol", code.last(where: { $0 != " " }) == "{" {
      publicIndent = indent
    }
    let isPublic = publicIndent != nil || ["public", "open", "override"].contains(where: texts.contains)
    for name in introducedNames(words) + caseNames(words, file, line) where name != "_" {
      declarations.append(.init(name: name, path: file.path, line: number + 1, isPublic: isPublic))
    }
  }
  return declarations
}

private func introducedNames(_ words: [Word]) -> [String] {
  let introducers: Set = [
    "func", "var", "let", "struct", "class", "actor", "enum", "protocol", "typealias", "associatedtype",
  ]
  return zip(words, words.dropFirst()).compactMap { word, next in
    let isDeclaration = introducers.contains(word.text) && !introducers.contains(next.text) && introduces(word, next)
    return isDeclaration ? next.text : nil
  }
}

/// Whether only a space stands between a keyword and a name.
private func introduces(_ keyword: Word, _ name: Word) -> Bool {
  keyword.before != "." && keyword.before != "`" && (name.before == " " || name.before == "`")
    && name.place.lowerBound - keyword.place.upperBound <= 2
}

/// The names of an enum's cases in a line; none for a case of a switch, which has a colon outside of parentheses.
private func caseNames(_ words: [Word], _ file: SourceFile, _ line: Range<Int>) -> [String] {
  guard let keyword = words.firstIndex(where: { $0.text == "case" }), keyword + 1 < words.count,
    introduces(words[keyword], words[keyword + 1]),
    words[..<keyword].allSatisfy({ $0.text == "indirect" }) || words[..<keyword].contains(where: { $0.text == "enum" }),
    !["let", "var", "is", "nil", "true", "false"].contains(words[keyword + 1].text)
  else { return [] }
  var depth = 0
  let plain = file.code[words[keyword].place.upperBound..<line.upperBound].filter { byte in
    if byte == ")" || byte == "]" { depth -= 1 }
    defer { if byte == "(" || byte == "[" { depth += 1 } }
    return depth == 0
  }
  if plain.contains(":") { return [] }
  return plain.split(separator: ",").compactMap { part in
    let name = Array(part.prefix { $0 != "=" && $0 != "(" })
    return readWords(name, in: name.indices).first?.text
  }
}
