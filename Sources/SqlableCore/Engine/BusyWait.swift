import CSqlableSQLite
import Glibc

/// A connection's wait for another connection's lock, in place of SQLite's busy handler. That handler's pauses grow to
/// 100 ms, are the same for all waiting connections, and are invisible to other connections.
package final class BusyWait {
  /// The maximum pause between two attempts, in microseconds.
  package static let longestPause: UInt32 = 25_000

  var timeout = Duration.zero
  /// The path of the pools' lock file; nil for no file. The connection sets the access time of this file while it
  /// waits, if the file exists. Pools detect the wait by this time.
  var touchedFile: String?
  private var since = ContinuousClock.now

  /// Pauses before the next attempt; returns false if the timeout has passed.
  fileprivate func waits(_ attempts: Int32) -> Bool {
    if attempts == 0 { since = .now }
    guard ContinuousClock.now - since < timeout else { return false }
    // Touch the file only from the third attempt on, because most waits end earlier.
    if attempts > 1, let touchedFile { utimensat(AT_FDCWD, touchedFile, nil, AT_SYMLINK_NOFOLLOW) }
    BusyWait.pause(attempts)
    return true
  }

  /// Sleeps before the next attempt. The time is random, so that waiting connections do not retry at the same time.
  static func pause(_ attempts: Int32) {
    let pause = min(500 << UInt32(min(attempts, 7)), longestPause)
    SharedThreads.whileBlocked { _ = usleep(UInt32.random(in: pause / 2...pause)) }
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

  /// The maximum wait for a lock, in seconds.
  package var busyTimeout: Double { busyWait.timeout / .seconds(1) }
}
