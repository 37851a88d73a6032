// Texts as SQLite reads them: by bytes. Swift's own search and comparison go by characters, of which a quote and the
// accent behind it are one, and take both forms of an é for equal.

extension String {
  /// Whether it begins with these bytes.
  func begins(with text: String) -> Bool { utf8.starts(with: text.utf8) }

  /// Whether it ends with these bytes.
  func ends(with text: String) -> Bool { utf8.suffix(text.utf8.count).elementsEqual(text.utf8) }

  /// What comes before the first occurrence of `marker`, or nil without one.
  func prefix(before marker: String) -> String? {
    suffix(after: marker).map { String(decoding: utf8.dropLast($0.utf8.count + marker.utf8.count), as: UTF8.self) }
  }
}
