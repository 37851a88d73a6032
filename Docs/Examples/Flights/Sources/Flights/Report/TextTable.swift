/// A table of texts with aligned columns.
struct TextTable {
  enum Alignment { case left, right }

  private let alignments: [Alignment]
  private var rows: [[String]] = []

  init(_ alignments: Alignment...) {
    self.init(columns: alignments)
  }

  init(columns: [Alignment]) {
    alignments = columns
  }

  mutating func add(_ cells: String...) {
    add(cells)
  }

  mutating func add(_ cells: [String]) {
    rows.append(cells)
  }

  /// The lines, indented, without trailing spaces.
  var lines: [String] {
    let widths = alignments.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { row in
      var line = " "
      for (column, cell) in row.enumerated() {
        let padding = String(repeating: " ", count: widths[column] - cell.count)
        line += " " + (alignments[column] == .right ? padding + cell : cell + padding) + " "
      }
      while line.last == " " { line.removeLast() }
      return line
    }
  }
}

extension String {
  /// The text in lines of at most `width` characters, broken at spaces.
  func wrapped(to width: Int) -> [String] {
    var lines: [String] = []
    for word in split(separator: " ") {
      if let line = lines.last, line.count + 1 + word.count <= width {
        lines[lines.count - 1] = "\(line) \(word)"
      } else {
        lines.append(String(word))
      }
    }
    return lines
  }
}
