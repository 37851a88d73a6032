#if Cluster
import Sqlable

/// Random pauses between attempts. The upper bound of the pauses doubles with each attempt, up to a maximum.
///
/// Random pauses keep clients that wait for the same event from retrying at the same time.
struct Backoff {
  private var bound: Duration
  private let maximum: Duration
  /// The minimum length of a pause, as a fraction of the upper bound.
  private let least: Double

  init(from first: Duration, upTo maximum: Duration, least: Double = 0.5) {
    (bound, self.maximum, self.least) = (first, maximum, least)
  }

  mutating func next() -> Duration {
    defer { bound = min(bound * 2, maximum) }
    return bound * Double.random(in: least...1)
  }
}
#endif
