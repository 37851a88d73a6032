import Foundation
import Sqlable
import SqlableCluster

struct Entry: Sqlable {
  var id: Int?
  var writer: Int
  var number: Int

  static let id = column("id", Int?.self, PrimaryKey())
  static let writer = column("writer", Int.self)
  static let number = column("number", Int.self)
  static let tableLayout = [id.column, writer.column, number.column]

  init(writer: Int, number: Int) { (self.writer, self.number) = (writer, number) }

  init(row: ReadRow) throws {
    id = try row.get(Entry.id)
    writer = try row.get(Entry.writer)
    number = try row.get(Entry.number)
  }

  func write(to row: inout RowWriter) throws {
    row.set(Entry.id, id)
    row.set(Entry.writer, writer)
    row.set(Entry.number, number)
  }
}

/// Tasks that insert numbered rows in sequence and count the outcomes.
final class CountingWriter: Sendable {
  struct Report: Sendable {
    /// The numbers whose insertion returned, by writer.
    var acknowledged: [Int: Set<Int>] = [:]
    /// The numbers whose outcome the library reported as unknown.
    var unknown: [Int: Set<Int>] = [:]
    /// The numbers that are not stored according to their error.
    var refused: [Int: Set<Int>] = [:]
    /// The errors other than `.outcomeUnknown`, by kind.
    var errors: [String: Int] = [:]
    /// The longest pauses between two acknowledged rows of all writers.
    var pauses: [Duration] = []

    var acknowledgedCount: Int { acknowledged.values.reduce(0) { $0 + $1.count } }
    var unknownCount: Int { unknown.values.reduce(0) { $0 + $1.count } }
  }

  private let cluster: SqliteCluster
  private let report = Locked(Report())
  private let last = Locked(ContinuousClock.now)
  private let task = Locked<Task<Void, Never>?>(nil)

  init(_ cluster: SqliteCluster) { self.cluster = cluster }

  func begin(writers: Int) {
    let (cluster, report, last) = (cluster, report, last)
    task.with {
      $0 = Task {
        await withTaskGroup(of: Void.self) { group in
          for writer in 0..<writers {
            group.addTask {
              var number = 0
              while !Task.isCancelled {
                number += 1
                do {
                  _ = try await Entry(writer: writer, number: number).insert().run(cluster)
                  let now = ContinuousClock.now
                  let pause = last.with { last in
                    defer { last = now }
                    return last.duration(to: now)
                  }
                  report.with { [number] report in
                    report.acknowledged[writer, default: []].insert(number)
                    if pause > .milliseconds(200) { report.pauses.append(pause) }
                  }
                } catch let error as SqlError {
                  report.with { [number] report in
                    if error.kind == .outcomeUnknown {
                      report.unknown[writer, default: []].insert(number)
                    } else {
                      report.refused[writer, default: []].insert(number)
                      report.errors["\(error.kind): \(error.message)", default: 0] += 1
                    }
                  }
                } catch {
                  // A cancelled insertion may be stored.
                  report.with { [number] in _ = $0.unknown[writer, default: []].insert(number) }
                }
              }
            }
          }
        }
      }
    }
  }

  /// The number of rows acknowledged so far.
  var count: Int { report.with { $0.acknowledgedCount } }

  var errors: [String: Int] { report.with { $0.errors } }

  /// Ends the writers.
  func end() async -> Report {
    let task = task.with { $0 }
    task?.cancel()
    await task?.value
    return report.with { $0 }
  }
}

/// A value behind a lock.
final class Locked<Value>: @unchecked Sendable {
  private let lock = NSLock()
  private var value: Value

  init(_ value: Value) { self.value = value }

  func with<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    try lock.withLock { try body(&value) }
  }
}
