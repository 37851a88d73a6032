/// The columns that a reader needs from a file, in any order there.
///
/// The raw value indexes the reader's own table of positions, so that a field is reached without looking up a name. A
/// file may hold the columns in another order, and further columns, which are skipped.
protocol CSVColumn: RawRepresentable<Int>, CaseIterable, Sendable {}

extension CSVColumn {
  /// The name in the file's header: the case in snake_case.
  var name: String {
    String(describing: self).reduce(into: "") { name, character in
      if character.isUppercase { name.append("_") }
      name.append(contentsOf: character.lowercased())
    }
  }
}
