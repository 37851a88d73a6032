import FoundationEssentials

/// Looks for keys that stand twice in an object of a JSON text: of their values a decoder takes one and drops the
/// others without a word.
struct JSONKeys {
  private let text: UnsafeBufferPointer<UInt8>
  private var position = 0
  /// The keys of the objects around the position; none for an array.
  private var objects: [Object?] = []

  private struct Object {
    /// The keys as they are written, while there are few: comparing those takes no memory of its own.
    var few: [Range<Int>] = []
    /// Keys are the same as they are to a dictionary, which takes both forms of an é for one.
    var keys: Set<String> = []
  }

  /// More than most types have.
  private static let fewest = 16

  /// Whether a text, which is JSON, has an object with a key that stands twice.
  static func standTwice(in text: UnsafeBufferPointer<UInt8>) -> Bool {
    guard text.contains(UInt8(ascii: "{")) else { return false }
    var keys = JSONKeys(text: text)
    return keys.standTwice()
  }

  private init(text: UnsafeBufferPointer<UInt8>) { self.text = text }

  private mutating func standTwice() -> Bool {
    while position < text.count {
      switch text[position] {
      case UInt8(ascii: "{"): objects.append(Object())
      case UInt8(ascii: "["): objects.append(nil)
      case UInt8(ascii: "}"), UInt8(ascii: "]"): _ = objects.popLast()
      case UInt8(ascii: "\""):
        let string = passString()
        if isBeforeColon, standsAgain(string) { return true }
        continue
      default: break
      }
      position += 1
    }
    return false
  }

  /// Goes behind a string; gives what stands between its quotes, and whether that is what it means.
  private mutating func passString() -> (range: Range<Int>, isPlain: Bool) {
    let start = position + 1
    var isPlain = true
    position = start
    while position < text.count, text[position] != UInt8(ascii: "\"") {
      if text[position] == UInt8(ascii: "\\") {
        isPlain = false
        position += 1
      } else if text[position] >= 0x80 {
        isPlain = false
      }
      position += 1
    }
    let end = min(position, text.count)
    position = end + 1
    return (start..<max(start, end), isPlain)
  }

  private var isBeforeColon: Bool {
    var next = position
    while next < text.count {
      switch text[next] {
      case UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: "\t"): next += 1
      default: return text[next] == UInt8(ascii: ":")
      }
    }
    return false
  }

  /// Takes note of a key; gives whether its object had it before.
  private mutating func standsAgain(_ key: (range: Range<Int>, isPlain: Bool)) -> Bool {
    guard let place = objects.indices.last, var object = objects[place] else { return false }
    objects[place] = nil
    defer { objects[place] = object }
    guard key.isPlain, object.keys.isEmpty, object.few.count < JSONKeys.fewest else {
      for range in object.few { object.keys.insert(meaning(of: range, isPlain: true)) }
      object.few = []
      return !object.keys.insert(meaning(of: key.range, isPlain: key.isPlain)).inserted
    }
    let bytes = text[key.range]
    for range in object.few where range.count == bytes.count && text[range].elementsEqual(bytes) { return true }
    object.few.append(key.range)
    return false
  }

  private func meaning(of range: Range<Int>, isPlain: Bool) -> String {
    let bytes = text[range]
    if isPlain || !bytes.contains(UInt8(ascii: "\\")) { return String(decoding: bytes, as: UTF8.self) }
    // With escapes, as the decoder reads them.
    let quoted = Data([UInt8(ascii: "\"")]) + bytes + [UInt8(ascii: "\"")]
    return (try? JSONDecoder().decode(String.self, from: quoted)) ?? String(decoding: bytes, as: UTF8.self)
  }
}
