import SqlableCore

extension SqlitePool {
  /// True if calls hold all readers that the pool is allowed to open.
  var areReadersBusy: Bool {
    withState { state in
      // If this thread holds a handle of the pool, a call on this thread uses that handle, and does not wait for a
      // reader.
      guard state.phase == .open, state.closeBarrier == nil, state.ownHandle == nil else { return false }
      return state.idleReaders.isEmpty && state.readers.count >= configuration.readers
    }
  }
}

extension SqlitePool.Health.Problem: CustomStringConvertible {
  public var description: String {
    switch self {
    case .closed: "the pool is closed"
    case .noAnswer(.timeout): "a read did not answer in time"
    case .noAnswer(let kind): "a read failed: \(kind)"
    case .fileIsGone: "the database file is no longer at its path"
    case .littleSpace(let bytes): "the file system has only \(bytes) bytes left"
    case .largeWal(let bytes): "the WAL has grown to \(bytes) bytes"
    case .longRead(let call): "a long read prevents a reset of the WAL: \(call)"
    case .longWrite(let call): "a long write delays other writes: \(call)"
    case .damaged(let error): "a statement has found damaged pages: \(error)"
    case .archiveFails(let error): "can't write the archive: \(error)"
    case .archiveIsBehind(let lag): "the archive is behind by \(lag)"
    case .consumerIsBehind(let name, let lag, let delay, let isNew, let error):
      "consumer \(name) of the change log has "
        + (isNew
          ? "not acknowledged its initial rows for \(delay)"
          : "been behind for \(delay), by \(lag == 1 ? "1 change" : "\(lag) changes")")
        + (error.map { "; the consumer retries after the error \($0)" } ?? "")
    case .changesInQuarantine(let name, let count):
      "consumer \(name) of the change log has \(count == 1 ? "1 change" : "\(count) changes") in quarantine"
    }
  }
}
