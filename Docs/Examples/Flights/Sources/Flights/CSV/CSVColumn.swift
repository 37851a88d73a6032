/// The columns that a reader needs from a file.
///
/// The raw value is an index into the reader's table of positions, so a field is found without looking up a name. A
/// file may have the columns in a different order, and further columns, which are skipped.
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
