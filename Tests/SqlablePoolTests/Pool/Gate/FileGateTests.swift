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
  private var interruption: Interruption { Interruption(busyTimeout: 60) }

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
      for _ in 0..<10 {
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
      #expect(inOrder >= 5)
    }
  }

  @Test func lastHolderQueuesBehindWaitingGates() throws {
    try withFile { path in
      let (first, second) = (gate(path), gate(path))
      for _ in 0..<20 {
        try first.take(interruption)
        let order = Collected<Int>()
        let group = wait(second, at: path, inLine: 1) { order.append(2) }
        // Longer than a gate may keep its turn while others wait.
        usleep(5_000)
        #expect(first.isTurnOver)
        first.giveBack()
        try first.take(interruption)
        order.append(1)
        #expect(!first.isTurnOver)
        first.giveBack()
        group.wait()
        #expect(order.values == [2, 1])
      }
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
      let requested = Interruption(busyTimeout: 60)
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
      try gate(path).take(Interruption(busyTimeout: 5))
    }
  }

  @Test func timedOutGateKeepsItsPlaceInLine() throws {
    try withFile { path in
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
      usleep(5_000_000)
      first.giveBack()
      next.wait()
      last.wait()
      #expect(order.values == [2, 3])
    }
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

  @Test func gateFileHasTheModeAndOwnerOfTheDatabase() throws {
    let mask = umask(0o077)
    defer { umask(mask) }
    for mode: mode_t in [0o600, 0o640, 0o664, 0o666] {
      try withFile { path in
        chmod(path, mode)
        if geteuid() == 0 { chown(path, 1, 2) }
        let gate = gate(path)
        try gate.take(interruption)
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

/// Waits until /proc/locks lists `count` waiters for the gate file of a database, or for two seconds.
func waitForLine(of count: Int, at path: String) {
  var info = stat()
  let end = ContinuousClock.now + .seconds(2)
  // Without /proc/locks the two seconds pass.
  while ContinuousClock.now < end {
    let locks = (try? String(contentsOfFile: "/proc/locks", encoding: .utf8)) ?? ""
    if stat(path + "-gate", &info) == 0,
      locks.split(separator: "\n").count(where: { $0.contains(" -> ") && $0.contains(":\(info.st_ino) ") }) >= count
    {
      return
    }
    usleep(500)
  }
}
