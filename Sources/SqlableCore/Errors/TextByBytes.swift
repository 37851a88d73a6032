// Strings compared by bytes, as SQLite reads them. Swift's own search and comparison work on characters: a quote and a
// combining accent after it are one character, and both forms of é are equal.

extension String {
  /// True if it begins with the bytes of `text`.
  package func begins(with text: String) -> Bool { utf8.starts(with: text.utf8) }

  /// True if it ends with the bytes of `text`.
  package func ends(with text: String) -> Bool { utf8.suffix(text.utf8.count).elementsEqual(text.utf8) }

  /// The text before the first occurrence of `marker`; nil if there is none.
  package func prefix(before marker: String) -> String? {
    suffix(after: marker).map { String(decoding: utf8.dropLast($0.utf8.count + marker.utf8.count), as: UTF8.self) }
  }
}
