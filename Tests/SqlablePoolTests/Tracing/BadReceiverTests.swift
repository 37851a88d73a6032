import Foundation
import Glibc
import SqlableCore
import SqlablePool
import SqlableSchema
import SqlableTracing
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Receivers that block, write, close their handle or remove their trace.
@Suite(.timeLimit(.minutes(60))) struct BadReceiverTests {
  @Test func aReceiverThatBlocksDelaysItsCallerOnly() throws {
    try withMembers { pool in
      let (isBlocked, mayGoOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      let token = pool.trace { event in
        guard event.context == "slow" else { return }
        isBlocked.signal()
        mayGoOn.wait()
      }
      let ended = DispatchGroup()
      ended.enter()
      Thread.detachNewThread {
        Tracing.$context.withValue("slow") { _ = try? Member.count().run(pool) }
        ended.leave()
      }
      isBlocked.wait()
      // Other reads and writes go on, and so does a handle of the same file.
      for id in 1...20 { try Member(id: id, name: "x").insert().run(pool) }
      #expect(try Member.count().run(pool) == 20)
      #expect(pool.health(within: .seconds(300)).answer != nil)
      // Removing a trace does not wait for its receiver.
      pool.removeTrace(token)
      mayGoOn.signal()
      ended.wait()
    }
  }

  @Test func aReceiverThatBlocksAfterAWriteDoesNotHoldTheWriteLock() throws {
    try withMembers { pool in
      let (isBlocked, mayGoOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      pool.trace { event in
        guard event.context == "slow", event.kind == .write else { return }
        isBlocked.signal()
        mayGoOn.wait()
      }
      let ended = DispatchGroup()
      ended.enter()
      Thread.detachNewThread {
        Tracing.$context.withValue("slow") { _ = try? Member(id: 1, name: "x").insert().run(pool) }
        ended.leave()
      }
      isBlocked.wait()
      // The row is committed, and the write lock released.
      #expect(try Member.count().run(pool) == 1)
      #expect(pool.writeLockHolder == nil)
      // The pool's writer still waits for the receiver.
      let other = try SqliteDatabase(filepath: pool.filepath)
      try Member(id: 3, name: "x").insert().run(other)
      expectError(.timeout) {
        _ = try withDeadline(.milliseconds(50)) { try Member(id: 4, name: "x").insert().run(pool) }
      }
      mayGoOn.signal()
      ended.wait()
      try Member(id: 2, name: "x").insert().run(pool)
    }
  }

  @Test func aReceiverMayWriteInTheMiddleOfEveryEvent() throws {
    try withDatabase { db in
      try db.createTable(Member.self)
      let log = TraceLog()
      let token = db.trace { event in
        log.receive(event)
        _ = try? db.transaction { db in
          try Member(id: 1_000 + (Member.count().run(db)), name: "\(event.kind)").insert().run(db)
        }
      }
      for id in 1...10 { try Member(id: id, name: "x").insert().run(db) }
      let events = log.take()
      #expect(try Member.count().run(db) == 10 + events.count)
      #expect(events.filter { $0.kind == .write }.count == 10)
      // The receiver retains the handle.
      db.removeTrace(token)
    }
  }

  @Test func aReceiverMayRemoveItsOwnTraceAndCloseTheHandle() throws {
    try withDatabase { db in
      try db.createTable(Member.self)
      let child = try db.createChild()
      let token = Collected<TraceToken>()
      let closed = Collected<Bool>()
      token.append(
        child.trace { _ in
          for token in token.values { child.removeTrace(token) }
          closed.append((try? child.close()) != nil)
        })
      #expect(try Member.count().run(child) == 0)
      #expect(closed.values.first == true)
      expectError(.closed) { _ = try Member.count().run(child) }
    }
  }
}
