/// Finds Swift files of `Sources` with more than 400 lines, and lines of more than 120 columns.
///
/// Longer may be: code and tables of Markdown, the changelog, `Tests/TypeChecking`; in `Tests`, a line that begins
/// inside of a text, and one with a quote before column 60, unless it is a comment.
public func checkSizes(_ files: [SourceFile]) -> Report {
  var report = Report()
  for file in files {
    if !file.isTest, file.isSwift, file.lines.count > 400 {
      report.add(file.path, file.lines.count, "a file of over 400 lines")
    }
    if file.path == "CHANGELOG.md" || file.path.hasPrefix("Tests/TypeChecking/") { continue }
    for (number, line) in file.isSwift ? Array(file.lines.enumerated()) : proseLines(file) where line.count > 120 {
      // Each character has one byte that does not continue another.
      let columns = file.bytes[line].count { $0 & 0xC0 != 0x80 }
      if columns <= 120 { continue }
      let text = file.text(line)
      if file.isSwift, file.isTest {
        if file.startsInText(line) { continue }
        if !text.drop(while: { $0 == " " }).hasPrefix("//"), text.prefix(59).contains("\"") { continue }
      }
      if !file.isSwift, text.drop(while: { $0 == " " }).hasPrefix("|") { continue }
      report.add(file.path, number + 1, "\(columns) columns")
    }
  }
  return report
}

/// The lines of a guide outside of code, numbered from 0.
func proseLines(_ file: SourceFile) -> [(Int, Range<Int>)] {
  var isInCode = false
  return file.lines.enumerated().filter { _, line in
    let isFence = file.text(line).drop { $0 == " " }.hasPrefix("```")
    if isFence { isInCode.toggle() }
    return !isFence && !isInCode
  }.map { ($0.offset, $0.element) }
}
