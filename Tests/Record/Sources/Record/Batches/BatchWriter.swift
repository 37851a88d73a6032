import Foundation
import Sqlable

/// The ways in which batches are written.
enum BatchStyle: String, CaseIterable {
  case handle, byHand, deferred, pool, sharedCommits, asynchronous

  var threads: Int { self == .sharedCommits || self == .asynchronous ? 4 : 1 }
  var isOfPools: Bool { self == .pool || self == .sharedCommits || self == .asynchronous }
}

/// Writes batches one after another, and tells the result of each.
struct BatchWriter: Sendable {
  /// The error by which the program rolls a transaction back.
  struct Undo: Error {}

  /// The planted faults.
  enum Flaw: String, CaseIterable {
    /// Tells that a batch is stored before its commit.
    case acknowledgesEarly
    /// Stores a row that it says it has rolled back.
    case keepsUndoneRows
    /// Tells that a batch is stored although its transaction threw.
    case ignoresErrors
    /// Commits do not wait for the disk.
    case neverSyncs
  }

  let path: String
  let style: BatchStyle
  let configuration: Configuration
  let flaw: Flaw?
  /// The number of batches of each thread; nil writes until the process is killed.
  var count: Int?

  static func createTables(_ path: String, _ configuration: Configuration) throws {
    let db = try SqliteDatabase(filepath: path, configuration: configuration)
    try db.createTables(Part.self, Tally.self)
    try db.close()
  }

  /// Writes with the numbers from this writer on, one for each thread.
  func run(firstWriter: Int) async throws {
    guard style.isOfPools else { return try runOnHandle(firstWriter) }
    let pool = try SqlitePool(
      filepath: path,
      configuration: PoolConfiguration(handles: configuration, readers: 1, waitTimeout: .seconds(60), pollInterval: nil)
    )
    await withTaskGroup(of: Void.self) { group in
      for thread in 0..<style.threads {
        group.addTask {
          for number in 1...(count ?? Batch.numbersPerWriter - 1) {
            let batch = Batch(firstWriter + thread, number)
            await record(batch, pool)
          }
        }
      }
    }
    try await pool.close()
  }

  private func runOnHandle(_ writer: Int) throws {
    let db = try SqliteDatabase(filepath: path, configuration: configuration)
    for number in 1...(count ?? Batch.numbersPerWriter - 1) {
      let batch = Batch(writer, number)
      do {
        try write(batch, db)
        tell("+", batch)
      } catch { tell(error, batch) }
    }
    try db.close()
  }

  // MARK: One batch

  private func write(_ batch: Batch, _ db: SqliteDatabase) throws {
    switch style {
    case .byHand:
      try db.beginTransaction()
      do {
        try body(batch, db)
        try db.commitTransaction()
      } catch {
        if db.transactionLevel > 0 { try db.rollbackTransaction(1) }
        throw error
      }
    case .deferred: try db.transaction(.deferred) { db in try body(batch, db) }
    default: try db.transaction { db in try body(batch, db) }
    }
  }

  private func record(_ batch: Batch, _ pool: SqlitePool) async {
    do {
      if style == .asynchronous {
        try await pool.transaction { db in try body(batch, db) }
      } else {
        // Each call blocks a thread of its own, as in a program with threads.
        try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
          Thread { done.resume(with: Result { try pool.transaction { db in try body(batch, db) } }) }.start()
        }
      }
      tell("+", batch)
    } catch { tell(error, batch) }
  }

  private func body(_ batch: Batch, _ db: SqliteDatabase) throws {
    if let deleted = batch.deleted { try Part.delete(Part.batch == Batch(batch.writer, deleted).id).run(db) }
    for part in batch.parts { try part.insert().run(db) }
    if let part = batch.undonePart {
      if flaw == .keepsUndoneRows {
        try part.insert().run(db)
      } else {
        do {
          try db.transaction { db in
            try part.insert().run(db)
            throw Undo()
          }
        } catch is Undo {}
      }
    }
    if try Tally.update(Tally.batches.set(to: Tally.batches + 1)).filter(Tally.writer == batch.writer).run(db) == 0 {
      try Tally(writer: batch.writer, batches: 1).insert().run(db)
    }
    if batch.isUndone { throw Undo() }
    if flaw == .acknowledgesEarly { tell("+", batch) }
  }

  // MARK: Results

  private func tell(_ sign: String, _ batch: Batch) { Teller.tell("\(sign) \(batch.writer) \(batch.number)") }

  private func tell(_ error: any Error, _ batch: Batch) {
    guard !(error is Undo) else { return tell("-", batch) }
    if flaw == .ignoresErrors { return tell("+", batch) }
    let fate = (error as? SqlError)?.transaction == .unknown ? "?" : "!"
    Teller.tell("\(fate) \(batch.writer) \(batch.number) \(error)".replacing("\n", with: " "))
  }
}
