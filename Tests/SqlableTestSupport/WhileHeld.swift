import Foundation

/// Calls `body` while another thread runs `hold`. `hold` calls its argument once it holds the lock.
func whileHeld(_ hold: @escaping @Sendable (() -> Void) throws -> Void, _ body: () throws -> Void) throws {
  let (isHeld, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
  let ended = DispatchGroup()
  ended.enter()
  Thread.detachNewThread {
    try? hold {
      isHeld.signal()
      mayEnd.wait()
    }
    ended.leave()
  }
  isHeld.wait()
  defer {
    mayEnd.signal()
    ended.wait()
  }
  try body()
}
