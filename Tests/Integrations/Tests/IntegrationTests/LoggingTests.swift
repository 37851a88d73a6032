import Foundation
import Logging
import Sqlable
import SqlableIntegrations
import Testing

/// A log handler that records the messages and can call a closure for each.
struct RecordingHandler: LogHandler {
  struct Entry: Sendable {
    let level: Logger.Level
    let message: String
    let metadata: Logger.Metadata

    /// All texts of the message.
    var text: String { "\(message) \(metadata)" }
  }

  let entries = Shared<[Entry]>([])
  var metadata: Logger.Metadata = [:]
  var metadataProvider: Logger.MetadataProvider?
  var logLevel = Logger.Level.trace
  /// A closure that runs after each recorded message.
  var didLog: @Sendable () -> Void = {}

  func log(event: LogEvent) {
    let entry = Entry(level: event.level, message: "\(event.message)", metadata: event.metadata ?? [:])
    entries.change { $0.append(entry) }
    didLog()
  }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  var logger: Logger { Logger(label: "tests") { _ in self } }

  /// Waits for the first message that satisfies a condition.
  func first(_ place: SourceLocation = #_sourceLocation, where condition: (Entry) -> Bool) async throws -> Entry {
    try await until(place) { entries.value.contains(where: condition) }
    let first = entries.value.first(where: condition)
    return try #require(first, sourceLocation: place)
  }
}

@Suite(.timeLimit(.minutes(30))) struct LoggingTests {
  @Test func aSlowStatementIsAWarningWithItsPlaceAndNoValue() async throws {
    try await withPool { pool in
      try await Bicycle(name: "Norco", color: "blue").insert().run(pool)
      let handler = RecordingHandler()
      pool.log(to: handler.logger, .slow(.nanoseconds(1)))
      let bikes = try await Bicycle.read().filter(Bicycle.color == "red").run(pool)
      #expect(bikes.count == 1)
      let entry = try await handler.first { $0.metadata["kind"] == "read" }
      #expect(entry.level == .warning)
      #expect(entry.message == "slow read of bicycle")
      #expect(entry.metadata["label"] == "bikes")
      #expect(entry.metadata["table"] == "bicycle")
      #expect(entry.metadata["rows"] == "1")
      #expect(entry.metadata["rows_scanned"] == "1")
      #expect(entry.metadata["sql"] == #"SELECT "id", "name", "color" FROM "bicycle" WHERE "color" = ?"#)
      #expect(entry.metadata["plan"] == ["SCAN bicycle"])
      #expect("\(entry.metadata["call_site"] ?? "")".contains("LoggingTests.swift:"))
      #expect(Double("\(entry.metadata["duration_ms"] ?? "")") != nil)
      #expect(!entry.text.contains("red"))
    }
  }

  @Test func anErrorHasTheLevelOfItsSeverityAndTheFateOfItsTransaction() async throws {
    try await withPool { pool in
      let handler = RecordingHandler()
      pool.log(to: handler.logger)
      try? await pool.transaction { db in
        try Bicycle(name: "Norco", color: "blue").insert().run(db)
        try Bicycle(name: "Trek", color: "blue").insert().run(db)
      }
      let constraint = try await handler.first { $0.metadata["error"] == "constraint(unique)" }
      #expect(constraint.level == .info)
      #expect(constraint.metadata["transaction"] == "untouched")
      #expect(constraint.metadata["code"] == "2067")
      #expect(constraint.message == "write of bicycle failed: UNIQUE constraint failed: bicycle.name")

      try? await pool.execute("DELETE FROM bike WHERE name = 'hunter2'")
      let missing = try await handler.first { $0.metadata["error"] == "schema" }
      #expect(missing.level == .error)

      try? await pool.execute("DELETE FROM bicycle WHERE name 'hunter2' 'hunter2'")
      let syntax = try await handler.first { $0.metadata["error"] == "syntax" }
      #expect(syntax.level == .error)
      for entry in handler.entries.value {
        #expect(!entry.text.contains("hunter2"), "\(entry.text)")
        #expect(!entry.text.contains("Norco"), "\(entry.text)")
      }
    }
  }

  @Test func aLockThatAnotherConnectionHoldsIsAWarning() async throws {
    try await withPool { pool in
      let db = try SqliteDatabase(filepath: pool.filepath, configuration: .init(busyTimeout: 0.001))
      let handler = RecordingHandler()
      db.log(to: handler.logger)
      try await pool.transaction { other in
        try Bicycle(name: "Norco", color: "blue").insert().run(other)
        _ = try? Bicycle(name: "Giant", color: "blue").insert().run(db)
      }
      #expect(try await handler.first { $0.metadata["error"] == "busy" }.level == .warning)
    }
  }

  @Test func failureOfASlowShapeIsLoggedDespiteThrottling() async throws {
    try await withPool { pool in
      let handler = RecordingHandler()
      pool.log(to: handler.logger, .slow(.nanoseconds(1)))
      try await Bicycle(name: "Norco", color: "blue").insert().run(pool)
      _ = try? await Bicycle(name: "Norco", color: "blue").insert().run(pool)
      _ = try await handler.first { $0.message == "slow write of bicycle" }
      _ = try await handler.first { $0.message.hasPrefix("write of bicycle failed") }
    }
  }

  @Test func longReadsWaitsAndTheEndOfThePoolAreLogged() async throws {
    let handler = RecordingHandler()
    let configuration = PoolConfiguration(
      handles: .init(label: "bikes"), readers: 1, waitTimeout: .seconds(5), longRead: .milliseconds(500))
    try await withPool(configuration) { pool in
      pool.log(to: handler.logger)
      let read = Task { try await pool.read { db in try db.query(endless, as: Int.self) } }
      let long = try await handler.first { $0.message.hasPrefix("a long read") }
      #expect(long.level == .warning)
      #expect("\(long.metadata["call_site"] ?? "")".contains("LoggingTests.swift:"))
      #expect("\(long.metadata["sql"] ?? "")".contains("LIMIT ?"))
      await #expect(throws: SqlError.self) { try await pool.read { db in try Bicycle.count().run(db) } }
      let wait = try await handler.first { $0.message.contains("waited for a reader") }
      #expect(wait.level == .warning)
      read.cancel()
      _ = await read.result
    }
    #expect(try await handler.first { $0.message == "the pool is closed" }.level == .info)
  }

  @Test func blockedHandlerHoldsNoLocks() async throws {
    try await withPool { pool in
      let gate = DispatchSemaphore(value: 0)
      let isOpen = Shared(false)
      var handler = RecordingHandler()
      handler.didLog = { if !isOpen.value { gate.wait() } }
      defer {
        isOpen.change { $0 = true }
        gate.signal()
      }
      pool.log(to: handler.logger, TraceOptions())
      _ = try await Bicycle.count().run(pool)
      try await until { !handler.entries.value.isEmpty }

      // From here on the handler blocks. These calls would wait if the library held a handle, a lock or the turn.
      try await Bicycle(name: "Norco", color: "blue").insert().run(pool)
      try await pool.transaction { db in _ = try Bicycle.deleteAll().run(db) }
      let db = try SqliteDatabase(filepath: pool.filepath)
      try Bicycle(name: "Giant", color: "blue").insert().run(db)
      for _ in 1...12_000 { _ = try await pool.read { db in try Bicycle.count().run(db) } }
      #expect(handler.entries.value.count == 1)

      isOpen.change { $0 = true }
      gate.signal()
      let dropped = try await handler.first { $0.metadata["dropped"] != nil }
      #expect((Int("\(dropped.metadata["dropped"] ?? "")") ?? 0) > 1_000)
      #expect(handler.entries.value.count > 10_000)
    }
  }

  @Test func handlerMayUseThePoolAndIsNotLogged() async throws {
    try await withPool { pool in
      _ = try await Bicycle.count().run(pool)  // opens a reader, which runs a PRAGMA
      let name = Shared(0)
      let didWrite = Shared(0)
      var handler = RecordingHandler()
      handler.didLog = {
        name.change { $0 += 1 }
        // The handler uses the pool on its thread, and on another thread that it waits for.
        _ = try? Bicycle(name: "Log \(name.value)", color: "white").insert().run(pool)
        let done = DispatchSemaphore(value: 0)
        Task {
          _ = try? await Bicycle(name: "Task \(name.value)", color: "white").insert().run(pool)
          done.signal()
        }
        done.wait()
        didWrite.change { $0 += 1 }
      }
      pool.log(to: handler.logger, TraceOptions())
      _ = try await Bicycle.count().run(pool)
      try await until { didWrite.value > 0 }
      try await Task.sleep(for: .milliseconds(200))
      #expect(handler.entries.value.map(\.text).count == 1)
      let count = try await Bicycle.count().run(pool)
      #expect(count == 3)
    }
  }

  @Test func removedLogReceivesNothing() async throws {
    let handler = RecordingHandler()
    try await withPool { pool in
      let token = pool.log(to: handler.logger, TraceOptions())
      pool.removeTrace(token)
      _ = try await Bicycle.count().run(pool)
    }
    try await Task.sleep(for: .milliseconds(100))
    #expect(handler.entries.value.isEmpty)
  }

  @Test func messagesBelowTheLevelOfTheLoggerAreNotWritten() async throws {
    try await withPool { pool in
      var handler = RecordingHandler()
      handler.logLevel = .info
      pool.log(to: handler.logger, TraceOptions())
      _ = try await Bicycle.count().run(pool)
      try? await pool.execute("DELETE FROM bike")
      _ = try await handler.first { $0.level == .error }
      #expect(handler.entries.value.allSatisfy { $0.level == .error })
    }
  }
}
