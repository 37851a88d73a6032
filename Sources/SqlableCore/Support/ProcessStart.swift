import Glibc

/// When processes began, as the kernel lists them.
enum ProcessStart {
  /// By the clock of the machine that goes on while it sleeps, in nanoseconds; nil if the kernel does not tell.
  static func time(of process: Int) -> Int64? {
    guard let text = KernelLocks.text(ofFileAt: "/proc/\(process)/stat", upTo: 4_096),
      let nameEnd = text.lastIndex(of: ")")
    else { return nil }
    // 1234 (a name, with anything in it) S 1 …: the 22nd word is the start.
    let words = text[nameEnd...].split(separator: " ")
    guard words.count > 20, let ticks = Int64(words[20]) else { return nil }
    let tick = 1_000_000_000 / Int64(max(1, sysconf(Int32(_SC_CLK_TCK))))
    let (time, isTooLarge) = ticks.multipliedReportingOverflow(by: tick)
    return isTooLarge ? nil : time
  }
}
