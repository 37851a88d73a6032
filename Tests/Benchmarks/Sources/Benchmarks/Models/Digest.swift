import CBaseline
import Foundation

/// What a contender read, as one number: each of its fields takes part. The same arithmetic as the baseline's in C.
struct Digest {
  private(set) var value: UInt64 = 14_695_981_039_346_656_037

  @inline(__always)
  mutating func add(_ number: Int) { value = baseline_mix(value, UInt64(truncatingIfNeeded: number)) }

  @inline(__always)
  mutating func add(_ number: Double) { value = baseline_mix_double(value, number) }

  @inline(__always)
  mutating func add(_ flag: Bool) { value = baseline_mix(value, flag ? 1 : 0) }

  @inline(__always)
  mutating func add(_ date: Date) { add(date.timeIntervalSince1970) }

  @inline(__always)
  mutating func add(_ text: String) {
    if baseline_is_thorough() != 0 { addBytes(text) }
    add(text.utf8.count)
  }

  // Out of line, so that the way of the timed rounds needs no copy of the text.
  @inline(never)
  private mutating func addBytes(_ text: String) {
    for byte in text.utf8 { value = baseline_mix(value, UInt64(byte)) }
  }

  @inline(__always)
  mutating func add(_ text: String?) {
    if let text { add(text) } else { value = baseline_mix(value, UInt64.max) }
  }

  @inline(__always)
  mutating func add(_ bytes: Data) {
    if baseline_is_thorough() != 0 { for byte in bytes { value = baseline_mix(value, UInt64(byte)) } }
    add(bytes.count)
  }
}

/// A row with a digest.
protocol Digestible {
  var digest: UInt64 { get }
}

extension Array where Element: Digestible {
  /// The sum of the rows' digests. Takes the rows out one by one: a copy of each would count its texts' references up
  /// and down, for which the baseline has no like.
  consuming func digest() -> UInt64 {
    var sum: UInt64 = 0
    while let row = popLast() { sum &+= row.digest }
    return sum
  }
}
