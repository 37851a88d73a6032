// Bytes are compared with characters everywhere here, and no other package uses this one.
// swift-format-ignore: AvoidRetroactiveConformances
extension UInt8: @retroactive ExpressibleByUnicodeScalarLiteral {
  public init(unicodeScalarLiteral scalar: Unicode.Scalar) { self.init(ascii: scalar) }
}

/// The bytes of a Swift file with spaces for comments, and with spaces for comments and texts.
///
/// Line ends stay where they are, but for those inside of texts. Interpolations are code.
func blanked(_ bytes: [UInt8]) -> (uncommented: [UInt8], code: [UInt8]) {
  var uncommented = bytes
  var code = bytes
  var place = 0
  // The texts around `place`; it is in an interpolation of the last one while parentheses are open.
  var texts: [(hashes: Int, quotes: Int, parentheses: Int)] = []

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
    if let text = texts.last, text.parentheses == 0 {
      if byte == "\"", count(of: "\"", at: place) >= text.quotes,
        count(of: "#", at: place + text.quotes) >= text.hashes
      {
        skip(text.quotes + text.hashes)
        texts.removeLast()
      } else if byte == "\n", text.quotes == 1 {
        texts.removeLast()
      } else if byte == "\\", count(of: "#", at: place + 1) >= text.hashes {
        skip(1 + text.hashes)
        if count(of: "(", at: place) > 0 { texts[texts.count - 1].parentheses = 1 }
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
        texts.append((hashes, quotes >= 3 ? 3 : 1, 0))
        skip(hashes + (quotes >= 3 ? 3 : 1))
      } else {
        place += hashes
      }
    } else {
      if let last = texts.indices.last { texts[last].parentheses += byte == "(" ? 1 : byte == ")" ? -1 : 0 }
      place += 1
    }
  }
  return (uncommented, code)
}
