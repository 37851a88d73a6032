// Bytes are compared with characters everywhere here, and no other package uses this one.
// swift-format-ignore: AvoidRetroactiveConformances
extension UInt8: @retroactive ExpressibleByUnicodeScalarLiteral {
  public init(unicodeScalarLiteral scalar: Unicode.Scalar) { self.init(ascii: scalar) }
}

private struct Text {
  let hashes: Int
  let quotes: Int

  /// The open parentheses of its interpolation, with the one that begins it.
  var parentheses = 1
}

private let space: UInt8 = " "

/// Whether a byte may begin or end a comment, a text or an interpolation.
private let isMark = (UInt8.min...UInt8.max).map { "/\"#()\\\n".utf8.contains($0) }

/// The bytes of a Swift file with spaces for comments, and with spaces for comments and texts.
///
/// Line ends stay where they are, but for those inside of texts. Interpolations are code.
func blanked(_ bytes: [UInt8]) -> (uncommented: [UInt8], code: [UInt8]) {
  var uncommented = bytes
  var code = bytes
  var place = 0
  // The texts around `place`.
  var texts: [Text] = []
  // Whether `place` is in the last one, and not in its interpolation.
  var isInText = false

  func count(of byte: UInt8, at start: Int) -> Int {
    bytes.dropFirst(start).prefix { $0 == byte }.count
  }
  func isAt(_ first: UInt8, _ second: UInt8) -> Bool {
    bytes[place] == first && place + 1 < bytes.count && bytes[place + 1] == second
  }
  func skip(_ length: Int, isComment: Bool = false) {
    for _ in 0..<length where place < bytes.count {
      if isComment, bytes[place] != "\n" { uncommented[place] = " " }
      if !isComment || bytes[place] != "\n" { code[place] = " " }
      place += 1
    }
  }

  while place < bytes.count {
    let byte = bytes[place]
    if !isMark[Int(byte)] {
      if isInText { code[place] = space }
      place += 1
    } else if isInText, let text = texts.last {
      if byte == "\"", count(of: "\"", at: place) >= text.quotes,
        count(of: "#", at: place + text.quotes) >= text.hashes
      {
        skip(text.quotes + text.hashes)
        texts.removeLast()
        isInText = false
      } else if byte == "\n", text.quotes == 1 {
        texts.removeLast()
        isInText = false
      } else if byte == "\\", count(of: "#", at: place + 1) >= text.hashes {
        skip(1 + text.hashes)
        isInText = count(of: "(", at: place) == 0
        skip(1)
      } else {
        skip(1)
      }
    } else if isAt("/", "/") {
      while place < bytes.count, bytes[place] != "\n" { skip(1, isComment: true) }
    } else if isAt("/", "*") {
      var depth = 0
      repeat {
        let change = isAt("/", "*") ? 1 : isAt("*", "/") ? -1 : 0
        depth += change
        skip(change == 0 ? 1 : 2, isComment: true)
      } while depth > 0 && place < bytes.count
    } else if byte == "\"" || byte == "#" {
      let hashes = count(of: "#", at: place)
      let quotes = count(of: "\"", at: place + hashes)
      if quotes > 0 {
        texts.append(Text(hashes: hashes, quotes: quotes >= 3 ? 3 : 1))
        isInText = true
        skip(hashes + (quotes >= 3 ? 3 : 1))
      } else {
        place += hashes
      }
    } else {
      if let last = texts.indices.last {
        texts[last].parentheses += byte == "(" ? 1 : byte == ")" ? -1 : 0
        isInText = texts[last].parentheses == 0
        if isInText { texts[last].parentheses = 1 }
      }
      place += 1
    }
  }
  return (uncommented, code)
}
