// Comparing values: affinities, collations, and keys for sets of rows.

/// The storage class that a term prefers, to which the other side of a comparison is converted.
enum MemoryAffinity {
  /// Of a term that is neither a column nor a cast.
  case none
  case blob, text, integer, real, numeric

  init(_ storageClass: StorageClass) {
    switch storageClass {
    case .null, .blob: self = .blob
    case .text: self = .text
    case .integer: self = .integer
    case .real: self = .real
    }
  }

  var isNumeric: Bool {
    switch self {
    case .none, .blob, .text: false
    case .integer, .real, .numeric: true
    }
  }

  /// The affinity of a comparison of two terms.
  static func comparing(_ left: MemoryAffinity, _ right: MemoryAffinity) -> MemoryAffinity {
    if left == .none { return right }
    if right == .none { return left }
    return left.isNumeric || right.isNumeric ? .numeric : .blob
  }
}

/// One of SQLite's own collations.
enum MemoryCollation: Hashable {
  case binary, nocase, rtrim

  /// The bytes that decide a comparison.
  func folded(_ bytes: [UInt8]) -> [UInt8] {
    switch self {
    case .binary: return bytes
    case .nocase:
      // SQLite compares the bytes before a NUL, and then the lengths.
      let end = bytes.firstIndex(of: 0) ?? bytes.count
      return bytes[..<end].map(\.foldedLetter) + Array(repeating: 0, count: bytes.count - end)
    case .rtrim:
      var bytes = bytes[...]
      while bytes.last == UInt8(ascii: " ") { bytes.removeLast() }
      return Array(bytes)
    }
  }

  /// Below, equal to, or above 0.
  func compare(_ left: [UInt8], _ right: [UInt8]) -> Int {
    self == .binary
      ? MemoryCollation.compareBytes(left, right) : MemoryCollation.compareBytes(folded(left), folded(right))
  }

  static func compareBytes(_ left: [UInt8], _ right: [UInt8]) -> Int {
    for (own, other) in zip(left, right) where own != other { return own < other ? -1 : 1 }
    return left.count == right.count ? 0 : left.count < right.count ? -1 : 1
  }
}

extension MemoryValue {
  /// Below, equal to, or above 0: NULL, numbers, text, BLOBs. Two NULLs are equal.
  static func compare(_ left: MemoryValue, _ right: MemoryValue, _ collation: MemoryCollation) -> Int {
    switch (left, right) {
    case (.integer(let left), .integer(let right)): left == right ? 0 : left < right ? -1 : 1
    case (.real(let left), .real(let right)): left == right ? 0 : left < right ? -1 : 1
    case (.integer(let left), .real(let right)): compare(left, right)
    case (.real(let left), .integer(let right)): -compare(right, left)
    case (.text(let left), .text(let right)): collation.compare(left, right)
    case (.blob(let left), .blob(let right)): MemoryCollation.compareBytes(left, right)
    default: left.rank - right.rank
    }
  }

  /// Exact: as Doubles, 9007199254740993 would equal 9007199254740992.0.
  private static func compare(_ integer: Int64, _ real: Double) -> Int {
    if real < -0x1p63 { return 1 }
    if real >= 0x1p63 { return -1 }
    let whole = Int64(real)
    if integer != whole { return integer < whole ? -1 : 1 }
    return Double(whole) == real ? 0 : Double(whole) < real ? -1 : 1
  }

  private var rank: Int {
    switch self {
    case .null: 0
    case .integer, .real: 1
    case .text: 2
    case .blob: 3
    }
  }

  /// The value as a comparison of this affinity sees it.
  func compared(as affinity: MemoryAffinity) -> MemoryValue {
    switch (affinity, self) {
    case (.integer, .text), (.real, .text), (.numeric, .text): numericIfWhole
    case (.text, .integer), (.text, .real): textBytes.map { .text($0) } ?? self
    default: self
    }
  }

  /// The value as a column of this affinity holds it.
  func converted(to affinity: MemoryAffinity) -> MemoryValue {
    switch (affinity, compared(as: affinity)) {
    // Larger integers lose digits, as in SQLite.
    case (.real, .integer(let integer)): .real(Double(integer))
    case (.integer, .real(let real)), (.numeric, .real(let real)):
      Int64(exactly: real).map { .integer($0) } ?? .real(real)
    case (_, let value): value
    }
  }
}

/// Values that are equal when SQLite treats them as equal under their collations: 1 and 1.0, and two NULLs.
struct MemoryKey: Hashable {
  private enum Part: Hashable {
    case null
    case integer(Int64)
    case real(Double)
    case text([UInt8])
    case blob([UInt8])
  }

  private let parts: [Part]

  init(_ values: [MemoryValue], _ collations: [MemoryCollation]) {
    parts = values.indices.map { index in
      switch values[index] {
      case .null: .null
      case .integer(let integer): .integer(integer)
      case .real(let real): Int64(exactly: real).map { .integer($0) } ?? .real(real)
      case .text(let bytes): .text(collations[index].folded(bytes))
      case .blob(let bytes): .blob(bytes)
      }
    }
  }
}
