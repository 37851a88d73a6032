import Dispatch

extension Duration {
  /// The duration as a Dispatch interval: zero for a negative duration, and `.never` for more than thirty years.
  package var dispatched: DispatchTimeInterval {
    guard self < .seconds(1_000_000_000) else { return .never }
    let (seconds, attoseconds) = max(self, .zero).components
    return .nanoseconds(Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000))
  }

  /// The whole microseconds, limited to about ten thousand years, so that an integer can't overflow.
  package var wholeMicroseconds: Int {
    let most = Duration.seconds(300_000_000_000)
    let (seconds, attoseconds) = min(max(self, .zero - most), most).components
    return Int(seconds) * 1_000_000 + Int(attoseconds / 1_000_000_000_000)
  }

  package var millisecondsText: String {
    let microseconds = wholeMicroseconds
    let rest = String(microseconds % 1_000)
    return "\(microseconds / 1_000)." + String(repeating: "0", count: 3 - rest.count) + rest
  }

  package var seconds: String {
    let tenths = wholeMicroseconds / 100_000
    return "\(tenths / 10).\(tenths % 10)"
  }
}
