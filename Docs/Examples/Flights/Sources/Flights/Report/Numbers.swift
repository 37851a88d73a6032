// Numbers as text for the report.

extension Int {
  /// 336776 as `336,776`, the same on every machine.
  var grouped: String {
    let digits = String(magnitude)
    var text = self < 0 ? "-" : ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index) % 3 == 0 { text.append(",") }
      text.append(digit)
    }
    return text
  }
}

extension Duration {
  var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }

  /// With three decimals.
  var inSeconds: String {
    let milliseconds = Int((seconds * 1000).rounded())
    let rest = String(milliseconds % 1000)
    return "\((milliseconds / 1000).grouped)." + String(repeating: "0", count: 3 - rest.count) + rest
  }
}

/// A count per time.
struct Rate {
  var count: Int
  var duration: Duration

  var perSecond: Int {
    let rate = Double(count) / duration.seconds
    // 0 divided by 0 is not a number.
    return rate.isFinite ? Int(rate) : 0
  }
}
