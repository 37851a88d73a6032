import Foundation
import InMemoryTracing
import Logging
import Sqlable
import Testing
import Tracing

@testable import SqlableCore
@testable import SqlableIntegrations
@testable import SqlablePool
@testable import SqlableTracing

extension InMemoryTracer {
  /// Waits until a number of spans with this name have ended.
  func spans(
    _ name: String, count: Int = 1, _ place: SourceLocation = #_sourceLocation
  ) async throws -> [FinishedInMemorySpan] {
    try await until(place) { finishedSpans.filter { $0.operationName == name }.count >= count }
    return finishedSpans.filter { $0.operationName == name }
  }
}

@Suite(.timeLimit(.minutes(30))) struct SpanTests {
  @Test func everyStatementIsAChildOfTheSpanOfItsTask() async throws {
    try await withPool { pool in
      let tracer = InMemoryTracer()
      pool.traceSpans(with: tracer)
      let parents = try await tracer.withSpan("request") { span in
        _ = try await Bicycle.count().run(pool)  // on this thread
        _ = try pool.countAtOnce()
        _ = try await pool.read { db in try Bicycle.count().run(db) }  // on a thread of the pool
        return [span.context.spanID]
      }
      let reads = try await tracer.spans("SELECT bicycle", count: 3)
      #expect(reads.map(\.parentSpanID) == parents + parents + parents)

      tracer.clearFinishedSpans()
      let parent = try await tracer.withSpan("request") { span in
        try await Bicycle(name: "Norco", color: "blue").insert().run(pool)
        return span.context.spanID
      }
      #expect(try await tracer.spans("INSERT bicycle").map(\.parentSpanID) == [parent])
      #expect(try await tracer.spans("transaction").map(\.parentSpanID) == [parent])
    }
  }

  @Test func writesInASharedCommitAreChildrenOfTheirTasks() async throws {
    try await withPool { pool in
      let tracer = InMemoryTracer()
      pool.traceSpans(with: tracer)
      let parents = try await withThrowingTaskGroup(of: String?.self) { group in
        for number in 1...50 {
          group.addTask {
            try await tracer.withSpan("request") { span in
              try await Bicycle(name: "Bike \(number)", color: "blue").insert().run(pool)
              return span.context.spanID
            }
          }
        }
        return try await group.reduce(into: Set<String?>()) { $0.insert($1) }
      }
      let spans = try await tracer.spans("INSERT bicycle", count: 50)
      #expect(Set(spans.map(\.parentSpanID)) == parents)
      #expect(try await tracer.spans("transaction").allSatisfy { parents.contains($0.parentSpanID) })
    }
  }

  @Test func theStatementsOfAHandleAreChildrenOfTheSpanAroundEach() async throws {
    try await withPool { pool in
      let db = try SqliteDatabase(filepath: pool.filepath)
      let tracer = InMemoryTracer()
      db.traceSpans(with: tracer)
      let inner = try db.transaction { db in
        try tracer.withSpan("inside") { span in
          _ = try Bicycle.count().run(db)
          return span.context.spanID
        }
      }
      #expect(try await tracer.spans("SELECT bicycle").map(\.parentSpanID) == [inner])
    }
  }

  @Test func aClosureOnAThreadOfThePoolHasTheContextOfItsTask() async throws {
    try await withPool { pool in
      let tracer = InMemoryTracer()
      pool.traceSpans(with: tracer)
      let (inside, outside) = try await tracer.withSpan("request") { span in
        (try await pool.transaction { _ in ServiceContext.current?.spanID }, span.context.spanID)
      }
      #expect(inside == outside)
      #expect(inside != nil)
    }
  }

  @Test func spanHasConventionalAttributesAndStatementTimes() async throws {
    try await withPool { pool in
      let tracer = InMemoryTracer()
      pool.traceSpans(with: tracer)
      let before = DefaultTracerClock.now.nanosecondsSinceEpoch
      _ = try await Bicycle.read().filter(Bicycle.color == "red").run(pool)
      let after = DefaultTracerClock.now.nanosecondsSinceEpoch
      let span = try #require(try await tracer.spans("SELECT bicycle").first)
      #expect(span.kind == .client)
      #expect(span.attributes.get("db.system.name") == .string("sqlite"))
      #expect(span.attributes.get("db.namespace") == .string("bikes"))
      #expect(span.attributes.get("db.operation.name") == .string("SELECT"))
      #expect(span.attributes.get("db.collection.name") == .string("bicycle"))
      #expect(span.attributes.get("db.query.summary") == .string("SELECT bicycle"))
      let text = #"SELECT "id", "name", "color" FROM "bicycle" WHERE "color" = ?"#
      #expect(span.attributes.get("db.query.text") == .string(text))
      #expect(span.attributes.get("db.response.returned_rows") == .int64(1))
      #expect("\(span.attributes.get("code.file.path") as SpanAttribute?)".contains("SpanTests.swift"))
      #expect(span.status == nil)
      // Spans and durations use different clocks.
      #expect(span.startInstant.nanosecondsSinceEpoch + 1_000_000 > before)
      #expect(span.endInstant.nanosecondsSinceEpoch < after + 1_000_000)
      #expect(span.startInstant.nanosecondsSinceEpoch < span.endInstant.nanosecondsSinceEpoch)
    }
  }

  @Test func anErrorIsTheStatusOfTheSpanAndHasNoValue() async throws {
    try await withPool { pool in
      let tracer = InMemoryTracer()
      pool.traceSpans(with: tracer)
      _ = try? await Bicycle(name: "Trek", color: "blue").insert().run(pool)
      let span = try #require(try await tracer.spans("INSERT bicycle").first)
      #expect(span.status == SpanStatus(code: .error, message: "UNIQUE constraint failed: bicycle.name"))
      #expect(span.attributes.get("error.type") == .string("constraint(unique)"))
      #expect(span.attributes.get("db.response.status_code") == .string("2067"))
      #expect(span.errors.count == 1)
      let transaction = try #require(try await tracer.spans("transaction").first)
      #expect(transaction.attributes.get("sqlable.outcome") == .string("rolled_back"))

      try? await pool.execute("DELETE FROM bicycle WHERE name 'hunter2' 'hunter2'")
      let failed = try #require(try await tracer.spans("DELETE bicycle").first)
      #expect(!"\(failed)".contains("hunter2"))
    }
  }

  @Test func logHasTheMetadataOfTheTaskContext() async throws {
    try await withPool { pool in
      var handler = RecordingHandler()
      handler.metadataProvider = Logger.MetadataProvider {
        ServiceContext.current?.spanID.map { ["span_id": "\($0)"] } ?? [:]
      }
      let tracer = InMemoryTracer()
      pool.traceSpans(with: tracer)
      pool.log(to: handler.logger, TraceOptions())
      let parent = try await tracer.withSpan("request") { span in
        try await Bicycle(name: "Norco", color: "blue").insert().run(pool)
        return span.context.spanID ?? ""
      }
      let entry = try await handler.first { $0.metadata["kind"] == "write" }
      #expect(entry.metadata["span_id"] == "\(parent)")
    }
  }

  @Test func withoutATracerNothingIsMeasured() async throws {
    try await withPool { pool in
      pool.traceSpans()
      #expect(!(pool.root.functions?.traces.isActive == true))
    }
  }
}

extension SqlitePool {
  /// Blocks its thread.
  fileprivate func countAtOnce() throws -> Int { try read { db in try Bicycle.count().run(db) } }
}

extension ServiceContext {
  /// The span of an in-memory tracer.
  fileprivate var spanID: String? { inMemorySpanContext?.spanID }
}
