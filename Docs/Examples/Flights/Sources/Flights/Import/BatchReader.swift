import Dispatch
import Synchronization

/// Records that are stored together, with the malformed lines among them.
struct Batch<Model: CSVModel>: Sendable {
  /// Larger batches are no faster (measured from 500 to 30,000), smaller ones would wait for the file more often.
  static var size: Int { 2_000 }

  var rows: [Model] = []
  /// The lines of the rows, to report those that a constraint rejects.
  var lines: [Int] = []
  /// The malformed lines that were skipped.
  var skipped: [CSVError] = []
  /// The malformed line that ends the import, once the rows before it are stored.
  var failure: CSVError?
  var isLast = false
  /// The number of bytes of the file read so far.
  var bytesRead = 0
}

/// Reads batches ahead on a separate thread: an import then takes the time for reading or for storing, whichever is
/// longer, not both.
///
/// Sound as `Sendable`: mutable state is atomic or guarded by a lock. At most two batches wait, so memory stays
/// constant.
final class BatchReader<Model: CSVModel>: Sendable {
  let fileSize: Int?
  private let policy: Options.ErrorPolicy
  private let reader: Mutex<CSVReader<Model.CSV>>
  private let batches = Mutex<[Batch<Model>]>([])
  private let isCancelled = Atomic(false)
  // A semaphore must not be freed below its initial value, so both begin with 0.
  private let filled = DispatchSemaphore(value: 0)
  private let room = DispatchSemaphore(value: 0)

  /// Starts reading the rest of a file whose header has been read.
  init(_ reader: consuming sending CSVReader<Model.CSV>, policy: Options.ErrorPolicy) {
    fileSize = reader.window.fileSize
    self.policy = policy
    self.reader = Mutex(reader)
    for _ in 0..<2 { room.signal() }
    DispatchQueue(label: "flights.reader").async { [self] in
      var isDone = false
      while !isDone {
        room.wait()
        if isCancelled.load(ordering: .relaxed) { return }
        let batch = self.reader.withLock { fill(from: &$0) }
        isDone = batch.isLast
        batches.withLock { $0.append(batch) }
        filled.signal()
      }
    }
  }

  /// Waits for the next batch; must not be called after the last one.
  func next() -> Batch<Model> {
    filled.wait()
    defer { room.signal() }
    return batches.withLock { $0.removeFirst() }
  }

  /// Stops reading when no more batches are needed.
  func cancel() {
    isCancelled.store(true, ordering: .relaxed)
    room.signal()
  }

  private func fill(from reader: inout CSVReader<Model.CSV>) -> Batch<Model> {
    var batch = Batch<Model>()
    batch.rows.reserveCapacity(Batch<Model>.size)
    batch.lines.reserveCapacity(Batch<Model>.size)
    // Skipped lines count too: a file of nothing else would make one endless batch.
    while batch.rows.count + batch.skipped.count < Batch<Model>.size {
      do throws(CSVError) {
        guard try reader.advance() else {
          batch.isLast = true
          break
        }
        batch.rows.append(try Model(csv: reader))
        batch.lines.append(reader.line)
      } catch {
        guard policy == .skip, !error.isFatal else {
          batch.failure = error
          batch.isLast = true
          break
        }
        batch.skipped.append(error)
      }
    }
    batch.bytesRead = reader.bytesRead
    return batch
  }
}
