/// Words for which the project has plainer ones, each with its replacement. Alternatives stand in parentheses.
private let replacements = [
  "whoever": "name the thing",
  "(nobody|somebody|no one|someone)": "name the thread, the caller or the process",
  "(is|are|was|were|be|been|being) told of": "is notified of, receives",
  "(tell|tells|telling) of": "reports",
  "(hear|hears|heard|hearing) of": "is notified of",
  "it (is|was) looked (whether|for|at|up)": "checks",
  "(look|looks|looked|looking) whether": "checks",
  "(is|are|was|were|be|been) looked (at|whether)": "is checked",
  "(take|takes|took|taken|taking) note of": "records",
  "in whichever way": "leave it out, or name the ways",
  "for all that is known": "say what is known",
  "(is|are|was|were|be|been|being) let go of": "is released",
  "of its own accord": "by itself",
  "as it were": "leave it out",
  "(go|goes|went) by the name": "is named",
  "(see|sees|saw|seen) to it that": "ensures",
  "(take|takes|took) care that": "ensures",
  "(put|puts|putting) (in|into) doubt": "invalidates",
  "(become|becomes|became) another one": "changes",
]

/// Finds those words in the Swift files of `Sources` and in the prose of the guides.
///
/// A phrase may go on in the next line.
public func checkWords(_ files: [SourceFile]) -> Report {
  var report = Report()
  for file in files where file.path.hasSuffix(".md") || file.path.hasPrefix("Sources/") && !file.isTest {
    var before: [ProseWord] = []
    var last = 0
    for (number, line) in file.isSwift ? Array(file.lines.enumerated()) : proseLines(file) {
      if number > last + 1 { before = [] }
      last = number
      let own = proseWords(file, line)
      let joined = before + own
      for start in joined.indices {
        for phrase in phrases[joined[start].text] ?? [] {
          let end = start + phrase.words.count
          // A phrase that ends before this line was reported there.
          guard end > before.count, end <= joined.count,
            zip(joined[start..<end], phrase.words).allSatisfy({ $0.text == $1 }),
            joined[start..<end].dropFirst().allSatisfy(\.followsWord)
          else { continue }
          report.add(file.path, number + 1, "\"\(phrase.words.joined(separator: " "))\": \(phrase.instead)")
        }
      }
      before = own.last?.end == line.upperBound ? own : []
    }
  }
  return report
}

/// The phrases by their first words.
private let phrases: [String: [(words: [String], instead: String)]] = {
  let all = replacements.flatMap { pattern, instead in
    variants(pattern).map { (words: $0.split(separator: " ").map(String.init), instead: instead) }
  }
  return Dictionary(grouping: all) { $0.words[0] }
}()

/// "a (b|c)": "a b", "a c".
private func variants(_ pattern: String) -> [String] {
  guard let open = pattern.firstIndex(of: "("), let close = pattern.firstIndex(of: ")") else { return [pattern] }
  return pattern[pattern.index(after: open)..<close].split(separator: "|").flatMap {
    variants("\(pattern[..<open])\($0)\(pattern[close...].dropFirst())")
  }
}

private struct ProseWord {
  let text: String

  /// Whether one space separates it from the word before, or it begins its line.
  let followsWord: Bool
  let end: Int
}

/// The words of a line in lower case, without the mark of a comment, an item or a quotation.
private func proseWords(_ file: SourceFile, _ line: Range<Int>) -> [ProseWord] {
  let text = file.bytes[line].drop { " /-*>".utf8.contains($0) }
  var words: [ProseWord] = []
  var word: [UInt8] = []
  for (place, byte) in zip(text.startIndex..., text + [" "]) {
    let lower = ("A"..."Z") ~= byte ? byte + 32 : byte
    if ("a"..."z") ~= lower || lower == "_" {
      word.append(lower)
    } else if !word.isEmpty {
      let start = place - word.count
      let follows = start == text.startIndex || words.last?.end == start - 1 && text[start - 1] == " "
      words.append(ProseWord(text: String(decoding: word, as: UTF8.self), followsWord: follows, end: place))
      word = []
    }
  }
  return words
}
