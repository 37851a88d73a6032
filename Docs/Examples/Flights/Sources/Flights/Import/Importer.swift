import Sqlable

/// Stores the records of a file, one batch per transaction.
///
/// A batch is stored as a whole or not at all: whatever ends an import, the database has all batches before.
struct Importer {
  let db: SqliteDatabase
  var policy = Options.ErrorPolicy.stop

  /// Imports the rest of a file whose header has been read; calls `onCommit` with the number of rows stored so far.
  func run<Model: CSVModel>(
    _ model: Model.Type, from reader: consuming sending CSVReader<Model.CSV>,
    onCommit: (_ rows: Int) -> Void = { _ in }
  ) -> ImportResult {
    var result = ImportResult(table: Model.tableName)
    var progress = Progress("importing \(Model.tableName)")
    let start = ContinuousClock.now
    let batches = BatchReader<Model>(reader, policy: policy)
    defer { batches.cancel() }
    do {
      while true {
        let batch = batches.next()
        for error in batch.skipped { result.skip(error.line, because: error.reason) }
        try store(batch, &result)
        onCommit(result.rows)
        if let failure = batch.failure { throw failure }
        if batch.isLast { break }
        progress.update(done: batch.bytesRead, of: batches.fileSize, rows: result.rows)
      }
    } catch {
      result.failure = error
    }
    result.duration = ContinuousClock.now - start
    progress.finish()
    return result
  }

  private func store<Model: CSVModel>(_ batch: Batch<Model>, _ result: inout ImportResult) throws {
    do {
      try Model.insert(batch.rows).run(db)
      result.rows += batch.rows.count
    } catch let error as SqlError {
      guard case .constraint = error.kind else { throw error }
      try storeOneByOne(batch, &result)
    }
  }

  /// Stores the acceptable rows of a batch that a constraint has rejected, such as one with a flight of an unknown
  /// airline.
  private func storeOneByOne<Model: CSVModel>(_ batch: Batch<Model>, _ result: inout ImportResult) throws {
    var refusal: LineRefused?
    var stored = 0
    try db.transaction { db in
      for (row, line) in zip(batch.rows, batch.lines) {
        do {
          try row.insert().run(db)
          stored += 1
        } catch let error as SqlError {
          // A rejected statement rolls back only itself, so the transaction continues.
          guard case .constraint(let constraint) = error.kind, error.transaction == .untouched else { throw error }
          let reason = "refused by a constraint (\(constraint))"
          guard policy == .skip else {
            refusal = LineRefused(line: line, reason: reason)
            return
          }
          result.skip(line, because: reason)
        }
      }
    }
    result.rows += stored
    if let refusal { throw refusal }
  }
}

/// A well-formed line that the database rejects.
struct LineRefused: Error, CustomStringConvertible {
  var line: Int
  var reason: String

  var description: String { "line \(line): \(reason)" }
}
