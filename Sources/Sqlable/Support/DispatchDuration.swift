import Dispatch

extension Duration {
  var dispatched: DispatchTimeInterval {
    let (seconds, attoseconds) = components
    guard seconds < 1_000_000_000 else { return .never }
    return .nanoseconds(max(0, Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)))
  }

  /// The number of milliseconds, with three digits after the point.
  var millisecondsText: String {
    let microseconds = Int(components.seconds) * 1_000_000 + Int(components.attoseconds / 1_000_000_000_000)
    let rest = String(microseconds % 1_000)
    return "\(microseconds / 1_000)." + String(repeating: "0", count: 3 - rest.count) + rest
  }

  /// With one decimal, for messages.
  var seconds: String {
    let tenths = Int(components.seconds) * 10 + Int(components.attoseconds / 100_000_000_000_000_000)
    return "\(tenths / 10).\(tenths % 10)"
  }
}
