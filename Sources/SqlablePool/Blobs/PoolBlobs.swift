import SqlableCore

extension SqlitePool {
  /// Returns a blob of a row as a sequence of chunks of bytes.
  ///
  /// ```swift
  /// for try await chunk in pool.blobBytes(Photo.image, of: Photo.byId(7)) { try await response.write(chunk) }
  /// ```
  ///
  /// Each loop reads one snapshot with one reader of the pool, from the first chunk to the end of the loop. The next
  /// chunk is read when the loop asks for it, so only one chunk is in memory. A slow loop holds its reader, and SQLite
  /// can't reset the WAL meanwhile; `maximumRead` of the pool's configuration limits the time. All chunks have
  /// `chunkSize` bytes, except that the last chunk can be shorter.
  ///
  /// Throws the errors of `readBlob` of a handle and of `read`, and `.misuse` if `chunkSize` is less than 1.
  public func blobBytes<Model>(
    _ column: some ColumnConvertible, of row: Statement<Model, Model?>, chunkSize: Int = 1 << 16,
    file: StaticString = #fileID, line: UInt = #line
  ) -> some AsyncSequence<[UInt8], any Error> & Sendable {
    let column = column.column
    return BlobBytes { [self] exchange in
      try await perform(.read, at: .init(file: file, line: line)) { db in
        guard chunkSize > 0 else { throw self.misuse("a chunk of a blob must have at least one byte") }
        try db.readBlob(column, of: row) { blob in
          var offset = 0
          while offset < blob.count, try exchange.next(db.checkInterruption) != nil {
            let chunk = try blob.read(min(chunkSize, blob.count - offset), at: offset)
            offset += chunk.count
            exchange.answer(chunk)
          }
        }
      }
    }
  }

  /// Replaces a blob of a row with `size` bytes from a sequence.
  ///
  /// ```swift
  /// try await pool.writeBlob(Photo.image, of: Photo.byId(7), size: length, from: request.body)
  /// // BEGIN IMMEDIATE; UPDATE "main"."photo" SET "image" = zeroblob(?) WHERE "id" = ?; sqlite3_blob_write …; COMMIT
  /// ```
  ///
  /// The next chunk is requested when the previous chunk is written. One transaction holds the writer until the
  /// sequence ends: if the sequence is slow, all other writes wait. Save slow uploads in a file first.
  ///
  /// If the sequence throws, or the task is cancelled, nothing is stored. Throws `.misuse` if the sequence has more or
  /// fewer than `size` bytes, and the errors of `writeBlob` of a handle.
  public func writeBlob<Model, Bytes: AsyncSequence>(
    _ column: some ColumnConvertible, of row: Statement<Model, Model?>, size: Int, from bytes: sending Bytes,
    file: StaticString = #fileID, line: UInt = #line
  ) async throws where Bytes.Element: Collection<UInt8> {
    let column = column.column
    let exchange = ThreadExchange<[UInt8]?, Void>()
    // Don't share a commit: a failed shared commit would run the write again, but the sequence delivers its bytes once.
    let call = Task {
      do {
        try await perform(.outsideTransaction, at: .init(file: file, line: line)) { db in
          try db.writeBlob(column, of: row, size: size) { blob in
            var offset = 0
            while let question = try exchange.next(db.checkInterruption), let chunk = question {
              guard chunk.count <= size - offset else { throw self.misuse("the sequence has more bytes than `size`") }
              try blob.write(chunk, at: offset)
              offset += chunk.count
              exchange.answer(())
            }
            guard offset == size else { throw self.misuse("the sequence has fewer bytes than `size`") }
          }
        }
        exchange.end()
      } catch {
        exchange.end(error)
        throw error
      }
    }
    try await withTaskCancellationHandler {
      do {
        for try await chunk in bytes { _ = try await exchange.ask([UInt8](chunk)) }
        _ = try await exchange.ask(nil)
      } catch {
        // `end` stops the transaction. Wait for its result: if the transaction has already stored all bytes, the call
        // succeeds despite the cancellation.
        exchange.end(error)
        if case .success = await call.result { return }
        throw error
      }
      try await call.value
    } onCancel: {
      call.cancel()
    }
  }
}

/// A blob as a sequence of chunks of bytes.
private struct BlobBytes: AsyncSequence, Sendable {
  fileprivate typealias Exchange = ThreadExchange<Void, [UInt8]>

  private let answer: @Sendable (Exchange) async throws -> Void

  init(_ answer: @escaping @Sendable (Exchange) async throws -> Void) { self.answer = answer }

  func makeAsyncIterator() -> Iterator { Iterator(loop: Loop(answer)) }

  /// The loop over the chunks, which takes a reader before the first chunk.
  struct Iterator: AsyncIteratorProtocol {
    fileprivate let loop: Loop

    /// Returns the next chunk; nil after the last chunk.
    mutating func next() async throws -> [UInt8]? { try await loop.next() }
  }

  /// The read of one loop. Releasing this object ends the read.
  fileprivate final class Loop {
    private let exchange = Exchange()
    private let answer: @Sendable (Exchange) async throws -> Void
    private var call: Task<Void, Never>?

    init(_ answer: @escaping @Sendable (Exchange) async throws -> Void) { self.answer = answer }

    deinit {
      exchange.end()
      call?.cancel()
    }

    func next() async throws -> [UInt8]? {
      if call == nil {
        call = Task { [exchange, answer] in
          do {
            try await answer(exchange)
            exchange.end()
          } catch { exchange.end(error) }
        }
      }
      return try await exchange.ask(())
    }
  }
}
