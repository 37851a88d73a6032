import Foundation

/// The least processor time of three runs of `body` on this thread, in seconds: what other threads do does not count.
func cpuTime(of body: () throws -> Void) rethrows -> Double {
  var times: [Double] = []
  for _ in 0..<3 {
    let start = threadTime()
    try body()
    times.append(threadTime() - start)
  }
  return times.min() ?? 0
}

/// The processor time of one run of `body` on this thread, in seconds.
func threadSeconds(of body: () throws -> Void) rethrows -> Double {
  let start = threadTime()
  try body()
  return threadTime() - start
}

private func threadTime() -> Double {
  var time = timespec()
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
  return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// Returns how many times as long eight times as much takes: 8 where the time is linear, 64 where it is quadratic.
func growth(from size: Int, _ body: (Int) throws -> Void) rethrows -> Double {
  let short = try cpuTime { try body(size) }
  return try cpuTime { try body(size * 8) } / short
}
