import Sqlable

/// Stores the records of a file, a batch per transaction.
///
/// A batch is stored whole or not at all, so whatever ends an import leaves a file that can be used: with the batches before.
struct Importer {
  /// Larger ones are no faster (measured from 500 to 30,000), smaller ones would wait for the file more often.
  static let batchSize = 2_000

  let db: SqliteDatabase
  var policy = Options.ErrorPolicy.stop

  /// Imports what is left of a file whose header has been read.
  func run<Model: CSVModel>(
    _ model: Model.Type, from reader: consuming CSVReader<Model.CSV>,
    onCommit: (_ rows: Int) -> Void = { _ in }
  ) -> ImportResult {
    var result = ImportResult(table: Model.tableName)
    var progress = Progress("importing \(Model.tableName)")
    let start = ContinuousClock.now
    do {
      var batch = Batch<Model>()
      while try fill(&batch, from: &reader, &result) {
        try store(batch, &result)
        onCommit(result.rows)
        progress.update(done: reader.bytesRead, of: reader.window.fileSize, rows: result.rows)
      }
    } catch {
      result.failure = error
    }
    result.duration = ContinuousClock.now - start
    progress.finish()
    return result
  }
}

extension Importer {
  /// Records with the lines they came from, for the sake of those that a constraint refuses.
  private struct Batch<Model> {
    var rows: [Model] = []
    var lines: [Int] = []
    /// The malformed line that ends the import, once the rows before it are stored.
    var failure: CSVError?
  }

  /// Reads the next batch; false when there is nothing left to store.
  private func fill<Model: CSVModel>(
    _ batch: inout Batch<Model>, from reader: inout CSVReader<Model.CSV>, _ result: inout ImportResult
  ) throws -> Bool {
    if let failure = batch.failure { throw failure }
    batch.rows.removeAll(keepingCapacity: true)
    batch.lines.removeAll(keepingCapacity: true)
    while batch.rows.count < Importer.batchSize {
      do throws(CSVError) {
        guard try reader.advance() else { break }
        batch.rows.append(try Model(csv: reader))
        batch.lines.append(reader.line)
      } catch {
        guard policy == .skip, !error.isFatal else {
          batch.failure = error
          break
        }
        result.skip(error.line, because: error.reason)
      }
    }
    if batch.rows.isEmpty, let failure = batch.failure { throw failure }
    return !batch.rows.isEmpty
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

  /// Stores what can be stored of a batch that a constraint has refused, such as a flight of an unknown airline.
  private func storeOneByOne<Model: CSVModel>(_ batch: Batch<Model>, _ result: inout ImportResult) throws {
    var refusal: LineRefused?
    var stored = 0
    try db.transaction { db in
      for (row, line) in zip(batch.rows, batch.lines) {
        do {
          try row.insert().run(db)
          stored += 1
        } catch let error as SqlError {
          // A refused statement undoes only itself, so the transaction goes on.
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

/// A well-formed line that the database does not take.
struct LineRefused: Error, CustomStringConvertible {
  var line: Int
  var reason: String

  var description: String { "line \(line): \(reason)" }
}
