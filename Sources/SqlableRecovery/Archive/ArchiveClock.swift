import SqlableCore

/// The clock of an archive, which steps of the system's clock do not move.
///
/// A commit's time is the system's time at the begin of the generation, plus the time that has passed since by
/// `ContinuousClock`, which nothing sets. The age is the time that has passed since the archive was made.
struct ArchiveClock {
  private let wall: Int64
  private let begin = ContinuousClock.now
  private let firstAge: Int64

  /// The difference between the clocks, in microseconds, from which on the system's clock has been set.
  static let tolerance: Int64 = 1_000_000

  init(age: Int64) { (wall, firstAge) = (archiveTime(), age) }

  private var elapsed: Int64 { Int64(begin.duration(to: .now) / .microseconds(1)) }

  /// The time in microseconds since 1970.
  var now: Int64 { wall + elapsed }

  /// The age of the archive in microseconds; only differences count.
  var age: Int64 { firstAge.addingSaturated(elapsed) }

  /// True if the system's clock has been set since this one was made.
  var isStepped: Bool { abs(archiveTime() - now) > ArchiveClock.tolerance }

  /// The age of an archive at a new start. Time without an archive counts up to a day, and up to half of `keep`: the
  /// system's clock, which alone tells it, may be wrong after the start of a machine.
  static func age(after last: ArchiveEnd, keep: Duration?) -> Int64 {
    let day: Int64 = 86_400_000_000
    let half = keep.flatMap { Int64(exactly: ($0 / .microseconds(2)).rounded()) } ?? day
    let (gap, isTooLong) = archiveTime().subtractingReportingOverflow(last.time)
    return last.age.addingSaturated(isTooLong ? 0 : min(max(0, gap), day, half))
  }
}

/// The last commit of an archive.
struct ArchiveEnd {
  var number = 0
  /// In microseconds since 1970.
  var time: Int64 = 0
  /// See ``ArchiveClock/age``.
  var age: Int64 = 0
}

extension Int64 {
  func addingSaturated(_ other: Int64) -> Int64 {
    let (sum, isOverflow) = addingReportingOverflow(other)
    return isOverflow ? (other < 0 ? .min : .max) : sum
  }
}
