import FoundationEssentials

/// A search for duplicate keys in JSON objects. For a duplicate key, a decoder silently keeps one value.
struct JSONKeys {
  private let text: UnsafeBufferPointer<UInt8>
  private var position = 0
  /// The objects and arrays around the current position, from the outside in. An object has its keys; an array is nil.
  private var objects: [Object?] = []

  private struct Object {
    /// The ranges of the keys in the text, while the object has few keys. Comparing these ranges allocates nothing.
    var ranges: [Range<Int>] = []
    /// The decoded keys. As in a dictionary, keys that differ only in the Unicode form of an é are equal.
    var keys: Set<String> = []
  }

  /// The maximum number of an object's `ranges`. An object with more keys uses `keys`. Most types have fewer keys.
  private static let maximumRanges = 16

  /// Returns true if an object in a valid JSON text has a duplicate key.
  static func hasDuplicates(in text: UnsafeBufferPointer<UInt8>) -> Bool {
    guard text.contains(UInt8(ascii: "{")) else { return false }
    var keys = JSONKeys(text: text)
    return keys.hasDuplicates()
  }

  private init(text: UnsafeBufferPointer<UInt8>) { self.text = text }

  private mutating func hasDuplicates() -> Bool {
    while position < text.count {
      switch text[position] {
      case UInt8(ascii: "{"): objects.append(Object())
      case UInt8(ascii: "["): objects.append(nil)
      case UInt8(ascii: "}"), UInt8(ascii: "]"): _ = objects.popLast()
      case UInt8(ascii: "\""):
        let string = passString()
        if isBeforeColon, isDuplicate(string) { return true }
        continue
      default: break
      }
      position += 1
    }
    return false
  }

  /// Skips a string. Returns the range between the quotes. A string is plain if it is ASCII without escapes.
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

  private mutating func isDuplicate(_ key: (range: Range<Int>, isPlain: Bool)) -> Bool {
    guard let index = objects.indices.last, var object = objects[index] else { return false }
    objects[index] = nil
    defer { objects[index] = object }
    guard key.isPlain, object.keys.isEmpty, object.ranges.count < JSONKeys.maximumRanges else {
      for range in object.ranges { object.keys.insert(meaning(of: range, isPlain: true)) }
      object.ranges = []
      return !object.keys.insert(meaning(of: key.range, isPlain: key.isPlain)).inserted
    }
    let bytes = text[key.range]
    for range in object.ranges where range.count == bytes.count && text[range].elementsEqual(bytes) { return true }
    object.ranges.append(key.range)
    return false
  }

  private func meaning(of range: Range<Int>, isPlain: Bool) -> String {
    let bytes = text[range]
    if isPlain || !bytes.contains(UInt8(ascii: "\\")) { return String(decoding: bytes, as: UTF8.self) }
    let quoted = Data([UInt8(ascii: "\"")]) + bytes + [UInt8(ascii: "\"")]
    return (try? JSONDecoder().decode(String.self, from: quoted)) ?? String(decoding: bytes, as: UTF8.self)
  }
}
