import CBaseline
import CSQLite3
import Dispatch
import Foundation
import Sqlable
import Synchronization

extension Suite {
  /// One writer and four readers, each a thread: a round takes a fixed time, and what was done in it is counted.
  var throughput: [Workload] {
    let rows = fixture.rows
    let span = fixture.span
    return [
      workload(
        "W9", "one writer and four readers, selects by key on their own", operations: 1, unit: .reads, maximumRounds: 3
      ) {
        let db = try fixture.writer()
        let pool = try SqlitePool(filepath: fixture.path(of: .sqlable), readers: Threads.readers)
        return [
          rate(Name.c, .c) { [path = fixture.path(of: .c)] in
            try Threads.rate(span) { reader in
              try RawSwift(path: path).use {
                baseline_read_for($0, span.seconds, Int64(span.reads), Int64(reader * 1009), Int64(rows))
              }
            } writer: {
              try RawSwift(path: path).use { baseline_write_for($0, span.seconds, Int64(rows)) }
            }
          },
          rate(Name.swift, .swift) { [path = fixture.path(of: .swift)] in
            try Threads.rate(span) { reader in
              try RawSwift(path: path).read(for: span, from: reader * 1009, rows: rows)
            } writer: {
              try RawSwift(path: path).write(for: span, rows: rows)
            }
          },
          rate(Name.untyped + " children", .sqlable) {
            try Threads.rate(span) { reader in
              let child = try db.createChild()
              return try Threads.repeat(for: span, from: reader * 1009, rows: rows) { id in
                try Untyped.byId(id).run(child)?.row.id == id
              }
            } writer: {
              try Threads.repeat(for: span, from: 0, rows: rows, batch: 1) { id in
                try Untyped.update(Untyped.price.set(to: Double(id))).filter(Untyped.id == id).run(db) == 1
              }
            }
          },
          rate(Name.typed + " children", .sqlable) {
            try Threads.rate(span) { reader in
              let child = try db.createChild()
              return try Threads.repeat(for: span, from: reader * 1009, rows: rows) { id in
                try Typed.byId(id).run(child)?.row.id == id
              }
            } writer: {
              try Threads.repeat(for: span, from: 0, rows: rows, batch: 1) { id in
                try Typed.update(Typed.price.set(to: Double(id))).filter(Typed.id == id).run(db) == 1
              }
            }
          },
          rate(Name.typed + " pool", .sqlable) {
            try Threads.rate(span) { reader in
              try Threads.repeat(for: span, from: reader * 1009, rows: rows) { id in
                try Typed.byId(id).run(pool)?.row.id == id
              }
            } writer: {
              try Threads.repeat(for: span, from: 0, rows: rows, batch: 1) { id in
                try Typed.update(Typed.price.set(to: Double(id))).filter(Typed.id == id).run(pool) == 1
              }
            }
          },
          rate(Name.typed + " pool, async", .sqlable) {
            try Threads.rate(span) { reader in
              try blocking {
                try await Threads.repeat(for: span, from: reader * 1009, rows: rows) { id in
                  try await Typed.byId(id).run(pool)?.row.id == id
                }
              }
            } writer: {
              try blocking {
                try await Threads.repeat(for: span, from: 0, rows: rows, batch: 1) { id in
                  try await Typed.update(Typed.price.set(to: Double(id))).filter(Typed.id == id).run(pool) == 1
                }
              }
            }
          },
        ]
      }
    ]
  }

  private func rate(
    _ name: String, _ family: Fixture.Family, rate: @escaping () throws -> Workload.Rate
  ) -> Workload.Contender {
    .init(name, setUp: { [fixture] in try fixture.reset(family, rows: fixture.rows) }, rate: rate)
  }
}

extension Fixture {
  /// How long a round of a workload takes that counts what is done in a fixed time.
  var span: Threads.Span { .init(seconds: reads == nil ? max(0.3, 3 * scale) : 3_600, reads: reads ?? .max) }
}

enum Threads {
  static let readers = 4

  /// What ends a reader's loop: a time or, where instructions are counted, a number of reads. Then there is no writer:
  /// how much it does depends on the time.
  struct Span {
    let seconds: Double
    let reads: Int

    var hasWriter: Bool { reads == .max }
  }

  /// Runs the readers and the writer, each on a thread of its own, and gives what they did per second.
  static func rate(
    _ span: Span, reader: @escaping @Sendable (_ number: Int) throws -> Int64,
    writer: @escaping @Sendable () throws -> Int64
  ) throws -> Workload.Rate {
    let results = Results()
    let group = DispatchGroup()
    for number in 0...readers where number < readers || span.hasWriter {
      group.enter()
      Thread.detachNewThread {
        defer { group.leave() }
        do {
          let count = try number == readers ? writer() : reader(number)
          results.all.withLock { if number == readers { $0.writes += count } else { $0.reads += count } }
        } catch {
          results.all.withLock { $0.error = error }
        }
      }
    }
    group.wait()
    return try results.all.withLock { results in
      if let error = results.error { throw error }
      return Workload.Rate(reads: Double(results.reads) / span.seconds, writes: Double(results.writes) / span.seconds)
    }
  }

  private final class Results: Sendable {
    let all = Mutex<(reads: Int64, writes: Int64, error: (any Error)?)>((0, 0, nil))
  }

  /// Calls `body` with keys of rows in no order until the span is over; how often it found its row. The clock is read
  /// once a batch, which keeps it out of the figures.
  static func `repeat`(
    for span: Span, from first: Int, rows: Int, batch: Int = 16, _ body: (_ id: Int) throws -> Bool
  ) throws -> Int64 {
    let end = ContinuousClock.now + .seconds(span.seconds)
    var found: Int64 = 0
    var id = first
    var left = span.reads
    while left > 0, ContinuousClock.now < end {
      left -= batch
      for _ in 0..<batch {
        id = (id + 7919) % rows
        if try body(id + 1) { found += 1 }
      }
    }
    return found
  }
}

extension Threads {
  /// The same in a task.
  static func `repeat`(
    for span: Span, from first: Int, rows: Int, batch: Int = 16, _ body: (_ id: Int) async throws -> Bool
  ) async throws -> Int64 {
    let end = ContinuousClock.now + .seconds(span.seconds)
    var found: Int64 = 0
    var id = first
    var left = span.reads
    while left > 0, ContinuousClock.now < end {
      left -= batch
      for _ in 0..<batch {
        id = (id + 7919) % rows
        if try await body(id + 1) { found += 1 }
      }
    }
    return found
  }
}

extension RawSwift {
  /// Keeps the connection open while `body` uses it.
  fileprivate func use<Result>(_ body: (OpaquePointer) -> Result) -> Result {
    withExtendedLifetime(self) { body(db) }
  }

  fileprivate func read(for span: Threads.Span, from first: Int, rows: Int) throws -> Int64 {
    let statement = try prepare("SELECT \(RawSwift.mixedColumns) FROM mixed WHERE id = ?")
    defer { sqlite3_finalize(statement) }
    return try Threads.repeat(for: span, from: first, rows: rows) { id in
      sqlite3_bind_int64(statement, 1, Int64(id))
      defer { sqlite3_reset(statement) }
      return sqlite3_step(statement) == SQLITE_ROW && RawSwift.mixed(statement).id == id
    }
  }

  fileprivate func write(for span: Threads.Span, rows: Int) throws -> Int64 {
    let statement = try prepare("UPDATE mixed SET price = ? WHERE id = ?")
    defer { sqlite3_finalize(statement) }
    return try Threads.repeat(for: span, from: 0, rows: rows, batch: 1) { id in
      sqlite3_bind_double(statement, 1, Double(id))
      sqlite3_bind_int64(statement, 2, Int64(id))
      try RawSwift.step(statement)
      return sqlite3_changes(db) == 1
    }
  }
}
