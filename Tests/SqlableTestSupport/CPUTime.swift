import Foundation

/// The least CPU time of three runs of `body` on this thread, in seconds. Other threads do not affect it.
func cpuTime(of body: () throws -> Void) rethrows -> Double {
  var times: [Double] = []
  for _ in 0..<3 {
    let start = threadTime()
    try body()
    times.append(threadTime() - start)
  }
  return times.min() ?? 0
}

/// The CPU time of one run of `body` on this thread, in seconds.
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

/// Returns how the CPU time grows from `size` to eight times the size: 8 if it is linear, 64 if quadratic.
func growth(from size: Int, _ body: (Int) throws -> Void) rethrows -> Double {
  let short = try cpuTime { try body(size) }
  return try cpuTime { try body(size * 8) } / short
}
