import SqlableCore

/// The affinity that SQLite derives from a declared type.
package enum TypeAffinity: Hashable {
  case integer, real, text, blob, numeric

  package init(of type: String) {
    let name = type.uppercased()
    func has(_ words: String...) -> Bool { words.contains { name.contains($0) } }
    self =
      if has("INT") { .integer } else if has("CHAR", "CLOB", "TEXT") { .text } else if name.isEmpty || has("BLOB") {
        .blob
      } else if has("REAL", "FLOA", "DOUB") { .real } else { .numeric }
  }

  /// True if two declared types are interchangeable in ordinary tables.
  ///
  /// A Boolean type is treated as INTEGER. Other NUMERIC columns are different from INTEGER, because they can contain
  /// fractions. A model's integers, such as cents, contain no fractions.
  package static func isSame(_ left: String, _ right: String) -> Bool {
    func affinity(_ type: String) -> TypeAffinity {
      let affinity = TypeAffinity(of: type)
      return affinity == .numeric && type.uppercased().hasPrefix("BOOL") ? .integer : affinity
    }
    return affinity(left) == affinity(right)
  }

  func stored(_ value: DatabaseValue) -> DatabaseValue {
    switch (self, value) {
    case (.text, .integer(let integer)): .text("\(integer)")
    case (.integer, _), (.numeric, _), (.real, _): number(value)
    default: value
    }
  }

  private func number(_ value: DatabaseValue) -> DatabaseValue {
    switch value {
    case .text(let text): Int64(text).map { number(.integer($0)) } ?? Double(text).map { number(.real($0)) } ?? value
    case .integer(let integer): self == .real ? .real(Double(integer)) : value
    case .real(let real): self == .real ? value : Int64(exactly: real).map { .integer($0) } ?? value
    default: value
    }
  }
}
