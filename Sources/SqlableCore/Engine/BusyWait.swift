import CSqlableSQLite
import Glibc

/// The wait of a connection for another one's lock. SQLite's own pauses grow to 100 ms and are the same for all
/// connections that wait, and no other connection sees them.
package final class BusyWait {
  /// The longest pause between two attempts, in microseconds.
  package static let longestPause: UInt32 = 25_000

  var timeout = Duration.zero
  /// A file that is touched while the connection waits, if it exists; nil for none.
  var touchedFile: String?
  private var since = ContinuousClock.now

  /// Waits a little; returns false if the timeout has passed.
  fileprivate func waits(_ attempts: Int32) -> Bool {
    if attempts == 0 { since = .now }
    guard ContinuousClock.now - since < timeout else { return false }
    // Most waits are over after the first two.
    if attempts > 1, let touchedFile { utimensat(AT_FDCWD, touchedFile, nil, AT_SYMLINK_NOFOLLOW) }
    BusyWait.pause(attempts)
    return true
  }

  /// Sleeps before the next attempt: random, so that waiting connections do not retry in step.
  static func pause(_ attempts: Int32) {
    let pause = min(500 << UInt32(min(attempts, 7)), longestPause)
    usleep(UInt32.random(in: pause / 2...pause))
  }
}

extension Connection {
  package func setBusyTimeout(milliseconds: Int32) {
    busyWait.timeout = .milliseconds(milliseconds)
    sqlite3_busy_handler(
      handle,
      { context, attempts in
        guard let context else { return 0 }
        return Unmanaged<BusyWait>.fromOpaque(context)._withUnsafeGuaranteedRef { $0.waits(attempts) } ? 1 : 0
      }, Unmanaged.passUnretained(busyWait).toOpaque())
  }

  /// The longest wait for a lock, in seconds.
  var busyTimeout: Double { busyWait.timeout / .seconds(1) }
}
