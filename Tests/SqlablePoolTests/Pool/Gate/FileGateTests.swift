import Dispatch
import Foundation
import Glibc
import Testing

@testable import SqlableCore
@testable import SqlablePool
@testable import SqlableTestSupport

/// Turns of file gates. Gates of one process exclude one another like gates of several processes.
struct FileGateTests {
  /// A new interruption for each wait, as each handle has its own.
  private var interruption: Interruption { Interruption(busyTimeout: 600) }

  /// Calls `body` with the path of an empty file in place of a database.
  private func withFile(_ body: (String) throws -> Void) throws {
    try withDirectory { directory in
      let path = directory + "/db.sqlite"
      try Data().write(to: URL(fileURLWithPath: path))
      try body(path)
    }
  }

  private func neighbours(_ path: String) -> [String] {
    files(in: URL(fileURLWithPath: path).deletingLastPathComponent().path)
  }

  private func gate(_ path: String) -> FairWriterLock { FairWriterLock(besideFileAt: path, label: "shop") }

  /// Lets a gate wait for its turn on a new thread. Returns when `count` gates stand in line.
  private func wait(
    _ gate: FairWriterLock, at path: String, inLine count: Int, _ interruption: Interruption? = nil,
    _ then: @escaping @Sendable () -> Void
  ) -> DispatchGroup {
    let interruption = interruption ?? self.interruption
    let group = DispatchGroup()
    group.enter()
    Thread.detachNewThread {
      do {
        try gate.take(interruption)
        then()
      } catch {}
      gate.giveBack()
      group.leave()
    }
    waitForLine(of: count, at: path)
    return group
  }

  /// The order is not strict: on a busy machine a later gate may overtake one that the kernel wakes late.
  @Test func turnsFollowTheOrderOfArrival() throws {
    try withFile { path in
      var inOrder = 0
      for _ in 0..<100 where inOrder < 5 {
        let first = gate(path)
        try first.take(interruption)
        let order = Collected<Int>()
        let groups = (1...5).map { number in
          wait(gate(path), at: path, inLine: number) { order.append(number) }
        }
        first.giveBack()
        for group in groups { group.wait() }
        #expect(Set(order.values) == [1, 2, 3, 4, 5])
        if order.values == [1, 2, 3, 4, 5] { inOrder += 1 }
      }
      #expect(inOrder == 5)
    }
  }

  /// On a busy machine, the last holder may overtake a gate that the kernel wakes late.
  @Test func lastHolderQueuesBehindWaitingGates() throws {
    try withFile { path in
      let (first, second) = (gate(path), gate(path))
      var inOrder = 0
      for _ in 0..<100 where inOrder < 15 {
        try first.take(interruption)
        let order = Collected<Int>()
        let group = wait(second, at: path, inLine: 1) { order.append(2) }
        // Longer than a gate may keep its turn while others wait.
        usleep(5_000)
        #expect(first.isTurnOver)
        first.giveBack()
        try first.take(interruption)
        order.append(1)
        let isTurnOver = first.isTurnOver
        first.giveBack()
        group.wait()
        #expect(Set(order.values) == [1, 2])
        guard order.values == [2, 1] else { continue }
        inOrder += 1
        #expect(!isTurnOver)
      }
      #expect(inOrder == 15)
    }
  }

  @Test func turnOfALoneWriterNeverExpires() throws {
    try withFile { path in
      let gate = gate(path)
      for _ in 0..<1_000 {
        try gate.take(interruption)
        #expect(!gate.isTurnOver)
        gate.giveBack()
      }
    }
  }

  @Test func interruptionOrBusyTimeoutEndsAWait() throws {
    try withFile { path in
      let (first, second) = (gate(path), gate(path))
      try first.take(interruption)
      for timeout in [0, 0.001, 0.05] {
        let error = expectError(.busy) { try second.take(Interruption(busyTimeout: timeout)) }
        #expect(error?.label == "shop")
        #expect(error?.transaction == SqlError.TransactionFate.none)
        #expect(error?.message.contains("waited longer than the busy timeout") == true)
        #expect(error?.isRetryable == true)
      }
      let requested = Interruption(busyTimeout: 600)
      Thread.detachNewThread {
        usleep(20_000)
        requested.request()
      }
      expectError(.interrupted) { try second.take(requested) }
      second.giveBack()
      // The gate keeps its place in line and passes the turn on when it no longer waits.
      first.giveBack()
      try first.take(interruption)
      first.giveBack()
      try second.take(interruption)
      second.giveBack()
      try gate(path).take(interruption)
    }
  }

  @Test func timedOutGateKeepsItsPlaceInLine() throws {
    var inOrder = 0
    // A later gate may overtake one that the kernel wakes late.
    for _ in 0..<20 where inOrder < 3 {
      try withFile { path in
        let order = try orderAfterATimeout(path)
        #expect(Set(order) == [2, 3])
        if order == [2, 3] { inOrder += 1 }
      }
    }
    #expect(inOrder == 3)
  }

  /// The order in which two gates get the turn, of which the second one in line waits again after its timeout.
  private func orderAfterATimeout(_ path: String) throws -> [Int] {
    let (first, second, third) = (gate(path), gate(path), gate(path))
    try first.take(interruption)
    expectError(.busy) { try second.take(Interruption(busyTimeout: 0.01)) }
    waitForLine(of: 1, at: path)
    let order = Collected<Int>()
    let last = wait(third, at: path, inLine: 2) { order.append(3) }
    let next = DispatchGroup()
    let begun = DispatchSemaphore(value: 0)
    next.enter()
    Thread.detachNewThread { [interruption] in
      begun.signal()
      if (try? second.take(interruption)) != nil { order.append(2) }
      second.giveBack()
      next.leave()
    }
    begun.wait()
    usleep(1_000_000)
    first.giveBack()
    next.wait()
    last.wait()
    return order.values
  }

  @Test func takeSucceedsWithoutAGateFile() throws {
    let obstacles: [(String) throws -> Void] = [
      { mkdir($0, 0o755) },
      { symlink("/dev/null", $0) },
      { symlink("elsewhere", $0) },
      { mkfifo($0, 0o644) },
    ]
    for obstacle in obstacles {
      try withFile { path in
        try obstacle(path + "-gate")
        let (first, second) = (gate(path), gate(path))
        try first.take(interruption)
        try second.take(interruption)
        first.giveBack()
        second.giveBack()
        #expect(neighbours(path) == ["db.sqlite", "db.sqlite-gate"])
      }
    }
    try withDirectory { directory in
      try gate(directory + "/missing.sqlite").take(interruption)
      #expect(files(in: directory) == [])
    }
  }

  @Test func gatesShareTheRecreatedFileAfterADeletion() throws {
    try withFile { path in
      let (first, second) = (gate(path), gate(path))
      for gate in [first, second] {
        try gate.take(interruption)
        gate.giveBack()
      }
      unlink(path + "-gate")
      // A gate checks its file once a second.
      usleep(1_100_000)
      try first.take(interruption)
      expectError(.busy) { try second.take(Interruption(busyTimeout: 0.01)) }
      first.giveBack()
      #expect(neighbours(path) == ["db.sqlite", "db.sqlite-gate"])
    }
  }

  /// In a separate process, because other tests create files with the mask of this process.
  @Test func gateFileHasTheModeAndOwnerOfTheDatabase() async throws {
    await #expect(processExitsWith: .success) {
      umask(0o077)
      for mode: mode_t in [0o600, 0o640, 0o664, 0o666] {
        try withDirectory { directory in
          let path = directory + "/db.sqlite"
          try Data().write(to: URL(fileURLWithPath: path))
          chmod(path, mode)
          if geteuid() == 0 { chown(path, 1, 2) }
          let gate = FairWriterLock(besideFileAt: path, label: nil)
          try gate.take(Interruption(busyTimeout: 600))
          var info = stat()
          let status = stat(path + "-gate", &info)
          #expect(status == 0)
          #expect(info.st_mode & 0o7777 == mode)
          #expect(info.st_size == 0)
          if geteuid() == 0 {
            #expect(info.st_uid == 1)
            #expect(info.st_gid == 2)
          }
          gate.giveBack()
        }
      }
    }
  }
}

/// Waits until /proc/locks lists `count` waiters for the gate file of a database, or for five minutes.
///
/// A kernel that does not list the lock itself lists no waiters: the wait then ends after two seconds.
func waitForLine(of count: Int, at path: String) {
  var info = stat()
  let begin = ContinuousClock.now
  while true {
    var lines: [Substring] = []
    if stat(path + "-gate", &info) == 0 {
      // Foundation reads only the first page of such a file.
      let locks = KernelLocks.text(ofFileAt: "/proc/locks", upTo: 1 << 22) ?? ""
      lines = locks.split(separator: "\n").filter { $0.contains(":\(info.st_ino) ") }
    }
    if lines.count(where: { $0.contains(" -> ") }) >= count { return }
    let limit = lines.isEmpty ? 2 : 300
    if begin.duration(to: .now) > .seconds(limit) {
      if !lines.isEmpty { Issue.record("no gate stands in line") }
      return
    }
    usleep(500)
  }
}
