// Functions of text and numbers, as SQLite 3.40 computes them.

extension MemoryValue {
  /// Calls a function that is not an aggregate; nil for one that is not evaluated in memory.
  static func call(
    _ function: SqlExpression.Call.BuiltIn, _ arguments: [MemoryValue], _ collation: MemoryCollation
  ) throws -> MemoryValue? {
    guard let first = arguments.first else { return function == .random ? .integer(.random(in: .min ... .max)) : nil }
    switch function {
    case .lower: return first.textBytes.map { .text($0.map(\.foldedLetter)) } ?? .null
    case .upper: return first.textBytes.map { .text($0.map { (0x61...0x7A).contains($0) ? $0 - 32 : $0 }) } ?? .null
    case .length: return first.length
    case .abs: return try first.magnitude()
    case .coalesce: return arguments.first { !$0.isNull } ?? .null
    case .nullif: return compare(first, arguments[1], collation) == 0 ? .null : first
    case .scalarMin, .scalarMax: return extreme(arguments, isLeast: function == .scalarMin, collation)
    case .round: return first.rounded(arguments.dropFirst().first)
    case .substr: return first.part(from: arguments[1], count: arguments.dropFirst(2).first)
    case .trim, .ltrim, .rtrim:
      return first.trimmed(arguments.dropFirst().first, start: function != .rtrim, end: function != .ltrim)
    case .replace: return first.replaced(arguments[1], with: arguments[2])
    case .instr: return first.position(of: arguments[1])
    case .hex: return .text((first.textBytes ?? []).flatMap { [hexDigits[Int($0 >> 4)], hexDigits[Int($0 & 15)]] })
    case .typeof: return MemoryValue("\(first.storageClass)".lowercased())
    case .unicode: return first.cString?.sqliteScalars.first.map { .integer(Int64($0)) } ?? .null
    default: return nil
    }
  }

  private static let hexDigits = Array("0123456789ABCDEF".utf8)

  /// The number of bytes of a BLOB or number, or of characters before the first NUL.
  private var length: MemoryValue {
    switch self {
    case .null: .null
    case .text: .integer(Int64(cString?.sqliteScalars.count ?? 0))
    case .integer, .real, .blob: .integer(Int64(textBytes?.count ?? 0))
    }
  }

  private func magnitude() throws -> MemoryValue {
    switch self {
    case .null: return .null
    case .integer(.min): throw SqlError(.other, message: "integer overflow", code: 1, extendedCode: 1)
    case .integer(let integer): return .integer(Swift.abs(integer))
    case .real, .text, .blob: return MemoryValue(realValue < 0 ? -realValue : realValue)
    }
  }

  /// The least or greatest value; NULL if there is a NULL.
  private static func extreme(
    _ values: [MemoryValue], isLeast: Bool, _ collation: MemoryCollation
  ) -> MemoryValue {
    if values.contains(where: \.isNull) { return .null }
    var best = values[0]
    for value in values.dropFirst() {
      let order = compare(best, value, collation)
      if isLeast ? order >= 0 : order < 0 { best = value }
    }
    return best
  }

  private func rounded(_ digits: MemoryValue?) -> MemoryValue {
    if isNull || digits?.isNull == true { return .null }
    let real = realValue
    // Has no fraction.
    if real.magnitude > 4_503_599_627_370_496 || real.isNaN { return MemoryValue(real) }
    let places = Swift.min(Swift.max(digits?.integerValue ?? 0, 0), 30)
    if places == 0 { return .real(Double(Int64(real + (real < 0 ? -0.5 : 0.5)))) }
    return .real(DecimalText(Array(real.sqliteText(places: Int(places)).utf8)).real)
  }

  private func part(from start: MemoryValue, count: MemoryValue?) -> MemoryValue {
    if isNull || start.isNull || count?.isNull == true { return .null }
    let isBytes = storageClass == .blob
    let text = isBytes ? (textBytes ?? [])[...] : cString ?? []
    // To SQLite, a BLOB without bytes has no address.
    if isBytes, text.isEmpty { return .null }
    let starts = isBytes ? Array(text.indices) : text.characterStarts
    var from = Int(Int32(truncatingIfNeeded: start.integerValue))
    var length = count.map { Int(Int32(truncatingIfNeeded: $0.integerValue)) } ?? 1_000_000_000
    let isBackwards = length < 0
    length = Swift.abs(length)
    if from < 0 {
      from += starts.count
      if from < 0 {
        length = Swift.max(length + from, 0)
        from = 0
      }
    } else if from > 0 {
      from -= 1
    } else if length > 0 {
      length -= 1
    }
    if isBackwards {
      from -= length
      if from < 0 {
        length += from
        from = 0
      }
    }
    let own = starts.dropFirst(from)
    let first = own.first ?? text.endIndex
    let bytes = Array(text[first..<(own.dropFirst(length).first ?? text.endIndex)])
    return isBytes ? .blob(bytes) : .text(bytes)
  }

  private func trimmed(_ characters: MemoryValue?, start: Bool, end: Bool) -> MemoryValue {
    guard var text = textBytes?[...] else { return .null }
    var set: [ArraySlice<UInt8>] = [[UInt8(ascii: " ")]]
    if let characters {
      guard let list = characters.cString else { return .null }
      let starts = list.characterStarts + [list.endIndex]
      set = zip(starts, starts.dropFirst()).map { list[$0..<$1] }
    }
    while start, !text.isEmpty, let found = set.first(where: { text.starts(with: $0) }) {
      text = text.dropFirst(found.count)
    }
    while end, !text.isEmpty, let found = set.first(where: { text.suffix($0.count).elementsEqual($0) }) {
      text = text.dropLast(found.count)
    }
    return .text(Array(text))
  }

  private func replaced(_ pattern: MemoryValue, with other: MemoryValue) -> MemoryValue {
    guard let text = textBytes, let pattern = pattern.textBytes else { return .null }
    guard let first = pattern.first, first != 0 else {
      // SQLite has made text of a BLOB by then, but not of a number.
      return storageClass == .blob ? .text(text) : self
    }
    guard let other = other.textBytes else { return .null }
    var (result, place) = ([UInt8](), 0)
    while place < text.count {
      if text[place...].starts(with: pattern) {
        result += other
        place += pattern.count
      } else {
        result.append(text[place])
        place += 1
      }
    }
    return .text(result)
  }

  private func position(of needle: MemoryValue) -> MemoryValue {
    guard let text = textBytes, let needle = needle.textBytesAndClass else { return .null }
    let isText = storageClass != .blob || needle.storageClass != .blob
    if needle.bytes.isEmpty { return .integer(1) }
    var (place, number) = (0, Int64(1))
    while place + needle.bytes.count <= text.count {
      if text[place...].starts(with: needle.bytes) { return .integer(number) }
      number += 1
      repeat { place += 1 } while isText && place < text.count && text[place] & 0xC0 == 0x80
    }
    return .integer(0)
  }

  private var textBytesAndClass: (bytes: [UInt8], storageClass: StorageClass)? {
    textBytes.map { ($0, storageClass) }
  }
}

extension ArraySlice<UInt8> {
  /// Where SQLite sees characters begin: a continuation byte after an ASCII one counts.
  fileprivate var characterStarts: [Int] {
    var starts: [Int] = []
    var place = startIndex
    while place < endIndex {
      starts.append(place)
      let first = self[place]
      place += 1
      while first >= 0xC0, place < endIndex, self[place] & 0xC0 == 0x80 { place += 1 }
    }
    return starts
  }
}
