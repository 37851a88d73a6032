import Dispatch

extension Duration {
  var dispatched: DispatchTimeInterval {
    let (seconds, attoseconds) = components
    guard seconds < 1_000_000_000 else { return .never }
    return .nanoseconds(max(0, Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)))
  }

  /// With one decimal, for messages.
  var seconds: String {
    let tenths = Int(components.seconds) * 10 + Int(components.attoseconds / 100_000_000_000_000_000)
    return "\(tenths / 10).\(tenths % 10)"
  }
}
