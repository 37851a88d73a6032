// Operators on values, with SQLite's rules for NULL, overflow and text.

extension MemoryValue {
  static func arithmetic(
    _ operation: SqlExpression.BinaryOperator, _ left: MemoryValue, _ right: MemoryValue
  ) -> MemoryValue {
    if left.isNull || right.isNull { return .null }
    if case .integer(let own) = left.number, case .integer(let other) = right.number {
      let result: (partialValue: Int64, overflow: Bool)
      switch operation {
      case .plus: result = own.addingReportingOverflow(other)
      case .minus: result = own.subtractingReportingOverflow(other)
      case .times: result = own.multipliedReportingOverflow(by: other)
      case .divided where other == 0: return .null
      case .divided: result = own.dividedReportingOverflow(by: other)
      default: return remainder(own, other).map { .integer($0) } ?? .null
      }
      if !result.overflow { return .integer(result.partialValue) }
    }
    let (own, other) = (left.realValue, right.realValue)
    switch operation {
    case .plus: return MemoryValue(own + other)
    case .minus: return MemoryValue(own - other)
    case .times: return MemoryValue(own * other)
    case .divided: return other == 0 ? .null : MemoryValue(own / other)
    default: return remainder(left.integerValue, right.integerValue).map { .real(Double($0)) } ?? .null
    }
  }

  private static func remainder(_ left: Int64, _ right: Int64) -> Int64? {
    // The remainder by -1 would overflow for the least integer.
    right == 0 ? nil : right == -1 ? 0 : left % right
  }

  static func bits(
    _ operation: SqlExpression.BinaryOperator, _ left: MemoryValue, _ right: MemoryValue
  ) -> MemoryValue {
    if left.isNull || right.isNull { return .null }
    let (own, other) = (left.integerValue, right.integerValue)
    switch operation {
    case .bitAnd: return .integer(own & other)
    case .bitOr: return .integer(own | other)
    // Swift's shifts by too many or a negative number of bits are SQLite's.
    case .shiftedLeft: return .integer(own << other)
    default: return .integer(own >> other)
    }
  }

  static func concatenated(_ left: MemoryValue, _ right: MemoryValue) -> MemoryValue {
    guard let own = left.textBytes, let other = right.textBytes else { return .null }
    return .text(own + other)
  }

  func cast(to storageClass: StorageClass) -> MemoryValue {
    switch (storageClass, self) {
    case (_, .null): .null
    case (.integer, _): .integer(integerValue)
    case (.real, _): MemoryValue(realValue)
    case (.text, _): .text(textBytes ?? [])
    case (.blob, _), (.null, _): .blob(textBytes ?? [])
    }
  }

  // MARK: Lists

  /// Whether the value is in a list: NULL if only a NULL could be it.
  static func isIn(_ value: MemoryValue, _ list: MemoryList) -> MemoryValue {
    if list.isEmpty { return MemoryValue(false) }
    if value.isNull { return .null }
    if list.contains(value) { return MemoryValue(true) }
    return list.hasNull ? .null : MemoryValue(false)
  }
}

/// The values on the right side of IN, converted to the affinity of the comparison.
struct MemoryList {
  private var keys: Set<MemoryKey> = []
  private let affinity: (MemoryValue) -> MemoryValue
  private let collation: MemoryCollation
  let isEmpty: Bool
  private(set) var hasNull = false

  init(_ values: [MemoryValue], _ collation: MemoryCollation, _ affinity: @escaping (MemoryValue) -> MemoryValue) {
    self.affinity = affinity
    self.collation = collation
    isEmpty = values.isEmpty
    for value in values {
      if value.isNull { hasNull = true } else { keys.insert(MemoryKey([affinity(value)], [collation])) }
    }
  }

  func contains(_ value: MemoryValue) -> Bool { keys.contains(MemoryKey([affinity(value)], [collation])) }
}

// MARK: - LIKE and GLOB

/// A pattern of LIKE or GLOB. Both sides end at their first NUL.
struct MemoryPattern {
  private let pattern: [UInt32]
  /// `%` and `_`, or `*` and `?`; 0 if the escape has taken its place.
  private let (all, one): (UInt32, UInt32)
  /// The escape of LIKE, or `[`.
  private let other: UInt32
  private let isGlob: Bool

  /// A pattern for LIKE, or for GLOB if there is no escape, not even an empty one.
  init(_ pattern: ArraySlice<UInt8>, escape: String?) {
    self.pattern = pattern.sqliteScalars
    let escaping = escape?.unicodeScalars.first?.value ?? 0
    isGlob = escape == nil
    let (percent, underscore): (UInt32, UInt32) = isGlob ? (0x2A, 0x3F) : (0x25, 0x5F)
    all = percent == escaping ? 0 : percent
    one = underscore == escaping ? 0 : underscore
    other = isGlob ? 0x5B : escaping
  }

  private enum Match {
    case found, none
    /// Not even further to the right.
    case never
  }

  func matches(_ text: ArraySlice<UInt8>) -> Bool { match(0, text.sqliteScalars[...]) == .found }

  private func match(_ start: Int, _ text: ArraySlice<UInt32>) -> Match {
    var (place, text) = (start, text)
    while place < pattern.count {
      let scalar = pattern[place]
      place += 1
      if scalar == all, all != 0 { return matchRest(place, text) }
      var isEscaped = false
      var wanted = scalar
      if scalar == other, other != 0 {
        guard !isGlob else {
          guard let first = text.popFirst(), let end = set(from: place, contains: first) else { return .none }
          place = end
          continue
        }
        guard place < pattern.count else { return .none }
        wanted = pattern[place]
        place += 1
        isEscaped = true
      }
      guard let found = text.popFirst() else { return .none }
      if found == wanted || (!isGlob && found.foldedLetter == wanted.foldedLetter) { continue }
      if wanted == one, one != 0, !isEscaped { continue }
      return .none
    }
    return text.isEmpty ? .found : .none
  }

  /// Matches what comes after `%` at any place of the text.
  private func matchRest(_ start: Int, _ text: ArraySlice<UInt32>) -> Match {
    var (place, text) = (start, text)
    while place < pattern.count, (pattern[place] == all && all != 0) || (pattern[place] == one && one != 0) {
      if pattern[place] == one, text.popFirst() == nil { return .never }
      place += 1
    }
    guard place < pattern.count else { return .found }
    if isGlob, pattern[place] == other {
      while !text.isEmpty {
        let result = match(place, text)
        if result != .none { return result }
        text.removeFirst()
      }
      return .never
    }
    if other != 0, pattern[place] == other {
      place += 1
      guard place < pattern.count else { return .never }
    }
    let wanted = pattern[place]
    while let found = text.popFirst() {
      guard found == wanted || (!isGlob && found.foldedLetter == wanted.foldedLetter) else { continue }
      let result = match(place + 1, text)
      if result != .none { return result }
    }
    return .never
  }

  /// The place after a set `[…]` that contains the scalar; nil if it does not, or has no end.
  private func set(from start: Int, contains scalar: UInt32) -> Int? {
    var place = start
    func next() -> UInt32 {
      defer { place += 1 }
      return place < pattern.count ? pattern[place] : 0
    }
    var (isSeen, isInverted, prior) = (false, false, UInt32(0))
    var current = next()
    if current == 0x5E {
      isInverted = true
      current = next()
    }
    if current == 0x5D {
      isSeen = scalar == 0x5D
      current = next()
    }
    while current != 0, current != 0x5D {
      if current == 0x2D, prior > 0, place < pattern.count, pattern[place] != 0x5D {
        current = next()
        if scalar >= prior, scalar <= current { isSeen = true }
        prior = 0
      } else {
        if scalar == current { isSeen = true }
        prior = current
      }
      current = next()
    }
    return current != 0 && isSeen != isInverted ? place : nil
  }
}

extension UInt32 {
  fileprivate var foldedLetter: UInt32 { (0x41...0x5A).contains(self) ? self + 32 : self }
}

extension ArraySlice<UInt8> {
  /// The scalars as SQLite decodes them, which never fails.
  var sqliteScalars: [UInt32] {
    var scalars: [UInt32] = []
    scalars.reserveCapacity(count)
    var place = startIndex
    while place < endIndex {
      let first = self[place]
      place += 1
      var scalar = UInt32(first)
      if first >= 0xC0 {
        scalar = first < 0xE0 ? scalar & 0x1F : first < 0xF0 ? scalar & 0x0F : first < 0xF8 ? scalar & 7 : 0
        if (0xF8..<0xFC).contains(first) { scalar = UInt32(first) & 3 }
        if (0xFC..<0xFE).contains(first) { scalar = UInt32(first) & 1 }
        while place < endIndex, self[place] & 0xC0 == 0x80 {
          scalar = (scalar << 6) &+ UInt32(self[place] & 0x3F)
          place += 1
        }
        if scalar < 0x80 || scalar & 0xFFFF_F800 == 0xD800 || scalar & 0xFFFF_FFFE == 0xFFFE { scalar = 0xFFFD }
      }
      scalars.append(scalar)
    }
    return scalars
  }
}
