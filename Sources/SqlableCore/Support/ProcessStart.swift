import Glibc

enum ProcessStart {
  /// Returns the start time of a process, in nanoseconds of CLOCK_BOOTTIME; nil if the kernel reports no time.
  static func time(of process: Int) -> Int64? {
    guard let text = KernelLocks.text(ofFileAt: "/proc/\(process)/stat", upTo: 4_096),
      let nameEnd = text.lastIndex(of: ")")
    else { return nil }
    // The text is `1234 (name) S 1 …`, and the name can contain any character. The 22nd word is the start time.
    let words = text[nameEnd...].split(separator: " ")
    guard words.count > 20, let ticks = Int64(words[20]) else { return nil }
    let tick = 1_000_000_000 / Int64(max(1, sysconf(Int32(_SC_CLK_TCK))))
    let (time, isTooLarge) = ticks.multipliedReportingOverflow(by: tick)
    return isTooLarge ? nil : time
  }
}
