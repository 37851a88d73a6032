extension Int {
  /// The size in bytes as text for people, with decimal units: `999 bytes`, `4.1 kB`, `78 GB`.
  ///
  /// Sizes below 10 kB, 10 MB and so on have one decimal place. JSON output contains the number of bytes instead.
  var sizeText: String {
    guard self >= 1_000 else { return self == 1 ? "1 byte" : "\(self) bytes" }
    var (unit, names) = (1_000, ["kB", "MB", "GB", "TB", "PB", "EB"][...])
    // Rounding can reach the next unit: 999,999 bytes are 1.0 MB.
    while rounded(by: unit) >= 1_000 {
      unit *= 1_000
      names.removeFirst()
    }
    let tenths = rounded(by: unit / 10)
    let amount = tenths < 100 ? "\(tenths / 10).\(tenths % 10)" : "\(rounded(by: unit))"
    return "\(amount) \(names.first ?? "")"
  }

  /// Divides the number, which is not negative, and rounds half up.
  private func rounded(by divisor: Int) -> Int { self / divisor + (self % divisor * 2 >= divisor ? 1 : 0) }
}

extension Duration {
  /// The duration as text for people, in one or two units: `59 s`, `1 min 30 s`, `2 h 5 min`.
  ///
  /// A part of a second is rounded up to a second.
  var text: String {
    let seconds = Int(clamping: components.seconds) + (components.attoseconds > 0 ? 1 : 0)
    return switch seconds {
    case ..<60: "\(seconds) s"
    case ..<600: "\(seconds / 60) min \(seconds % 60) s"
    case ..<3_600: "\(seconds / 60) min"
    default: "\(seconds / 3_600) h \(seconds % 3_600 / 60) min"
    }
  }
}
