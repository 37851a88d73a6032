import SqlableCore

/// The clock of an archive. Adjustments of the system clock do not affect this clock.
///
/// `now` is the system time at the creation of this clock, plus the time that `ContinuousClock` has measured since
/// then. `age` increases by the same measured time, and decides when a generation is old.
struct ArchiveClock {
  private let wall: Int64
  private let begin = ContinuousClock.now
  private let firstAge: Int64

  /// The maximum difference between the system clock and this clock, in microseconds. A larger difference means that
  /// the system clock was adjusted.
  static let tolerance: Int64 = 1_000_000

  init(age: Int64) { (wall, firstAge) = (archiveTime(), age) }

  private var elapsed: Int64 { Int64(begin.duration(to: .now) / .microseconds(1)) }

  /// The time in microseconds since 1970.
  var now: Int64 { wall + elapsed }

  /// The age of the archive, in microseconds. A new archive starts with the time since 1970 as its age, so only the
  /// difference between two ages has a meaning.
  var age: Int64 { firstAge.addingSaturated(elapsed) }

  /// True if the system clock was adjusted after the creation of this clock.
  var isStepped: Bool { abs(archiveTime() - now) > ArchiveClock.tolerance }

  /// Returns the age with which an archive continues: the age at the last commit, plus the time since then. At most a
  /// day and at most half of `keep` are added, because the system clock might be wrong after a reboot.
  static func age(after last: ArchiveEnd, keep: Duration?) -> Int64 {
    let day: Int64 = 86_400_000_000
    let half = keep.flatMap { Int64(exactly: ($0 / .microseconds(2)).rounded()) } ?? day
    let (gap, isTooLong) = archiveTime().subtractingReportingOverflow(last.time)
    return last.age.addingSaturated(isTooLong ? 0 : min(max(0, gap), day, half))
  }
}

struct ArchiveEnd {
  var number = 0
  /// The time of the commit, in microseconds since 1970.
  var time: Int64 = 0
  /// The age of the archive at the commit, in microseconds; see ``ArchiveClock/age``.
  var age: Int64 = 0
}

extension Int64 {
  func addingSaturated(_ other: Int64) -> Int64 {
    let (sum, isOverflow) = addingReportingOverflow(other)
    return isOverflow ? (other < 0 ? .min : .max) : sum
  }
}
