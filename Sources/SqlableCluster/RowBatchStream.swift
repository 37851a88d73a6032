#if Cluster
import Sqlable

/// The rows of a query, in parts as the node sends them. Only one part is in memory at a time.
struct RowBatchStream {
  private let session: ClusterSession
  private let request: SqlRequest
  private let deadline: ContinuousClock.Instant
  private var answer = SqlAnswer()
  /// The number of rows for which `forEach` called its closure.
  private(set) var rows = 0
  /// True if the node has sent all rows, so that the connection can run the next statement.
  private(set) var isAtEnd = false
  /// True if the node or the connection failed; false if the caller's closure failed.
  private(set) var isFailed = false

  private init(_ session: ClusterSession, _ request: SqlRequest, before deadline: ContinuousClock.Instant) {
    (self.session, self.request, self.deadline) = (session, request, deadline)
  }

  /// Runs a query, and waits for the first part of its rows.
  static func first(
    of request: SqlRequest, on session: ClusterSession, before deadline: ContinuousClock.Instant,
    isolation: isolated (any Actor)?
  ) async throws -> RowBatchStream {
    var parts = RowBatchStream(session, request, before: deadline)
    parts.take(try await session.firstPart(of: request, before: deadline))
    return parts
  }

  /// Calls `body` with each row until `body` returns `.stop`. Throws `.timeout` if the deadline has passed.
  mutating func forEach<Row, Outcome>(
    _ read: (ReceivedRows) throws -> [Row], isolation: isolated (any Actor)?, _ body: (Row) async throws -> Outcome
  ) async throws {
    repeat {
      for row in try read(ReceivedRows(answer: answer, sql: request.sql)) {
        try Task.checkCancellation()
        guard deadline > .now else { throw late }
        rows += 1
        // Check the result, because the compiler can choose the overload that ignores results even for a closure that
        // returns an Iteration.
        if try await body(row) as? Iteration == .stop { return }
      }
    } while try await next(before: deadline, isolation: isolation)
  }

  mutating func skip(before deadline: ContinuousClock.Instant, isolation: isolated (any Actor)?) async throws {
    // After a failure, no more rows arrive.
    guard !isFailed else { return }
    do { while try await next(before: deadline, isolation: isolation) {} } catch {
      if !isAtEnd { session.close() }
      throw error
    }
  }

  func stop() { if !isAtEnd { session.close() } }

  private mutating func next(
    before deadline: ContinuousClock.Instant, isolation: isolated (any Actor)?
  ) async throws -> Bool {
    guard !isAtEnd else { return false }
    do {
      take(try await session.nextPart(of: request, before: deadline))
      return true
    } catch {
      isFailed = true
      // An error that the node reports ends the result.
      isAtEnd = error is SqlError
      stop()
      throw deadline <= .now && error is NodeFailure ? late : error
    }
  }

  private mutating func take(_ response: WireResponse) {
    guard case .rows(let part, let isLast) = response else {
      isAtEnd = true
      answer = SqlAnswer()
      return
    }
    (answer, isAtEnd) = (part, isLast)
  }

  private var late: SqlError {
    var error = SqlError.late("the loop over the rows did not end before the deadline")
    error.sql = request.sql
    return error
  }
}
#endif
