// Strings compared by bytes, as in SQLite. Swift searches and compares characters: a quote and a following combining
// accent are one character, and the two encodings of é are equal.

extension String {
  package func begins(with text: String) -> Bool { utf8.starts(with: text.utf8) }

  package func ends(with text: String) -> Bool { utf8.suffix(text.utf8.count).elementsEqual(text.utf8) }

  package func prefix(before marker: String) -> String? {
    suffix(after: marker).map { String(decoding: utf8.dropLast($0.utf8.count + marker.utf8.count), as: UTF8.self) }
  }
}
