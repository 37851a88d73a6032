#if Cluster
import Sqlable

/// Random pauses between attempts. Their bound doubles with each one, up to a maximum.
///
/// The pauses are random so that clients that wait for the same thing do not ask at the same time.
struct Backoff {
  private var bound: Duration
  private let maximum: Duration
  /// The part of the bound that each pause takes at least.
  private let least: Double

  init(from first: Duration, upTo maximum: Duration, least: Double = 0.5) {
    (bound, self.maximum, self.least) = (first, maximum, least)
  }

  /// Returns the next pause.
  mutating func next() -> Duration {
    defer { bound = min(bound * 2, maximum) }
    return bound * Double.random(in: least...1)
  }
}
#endif
