import CSqlableSQLite

/// The mode of a checkpoint. A checkpoint copies pages from the WAL into the database file.
public enum CheckpointMode: Sendable, Hashable {
  /// Copies the pages of all commits that are part of every open reader's snapshot. Never waits.
  case passive
  /// Waits for writers and for readers of older snapshots, then copies all pages.
  case full
  /// Like `full`, and then waits for all readers of the WAL, so that the next commit overwrites the WAL from the
  /// beginning.
  case restart
  /// Like `restart`, and then truncates the WAL to zero bytes.
  case truncate

  fileprivate var code: Int32 {
    switch self {
    case .passive: SQLITE_CHECKPOINT_PASSIVE
    case .full: SQLITE_CHECKPOINT_FULL
    case .restart: SQLITE_CHECKPOINT_RESTART
    case .truncate: SQLITE_CHECKPOINT_TRUNCATE
    }
  }
}

/// The result of a checkpoint.
public struct Checkpoint: Sendable, Hashable {
  /// The number of pages in the WAL; 0 after a complete ``CheckpointMode/truncate``, and without a WAL.
  public let pages: Int
  /// The number of the WAL's pages that have been copied into the database file.
  public let copiedPages: Int
  /// True if all pages were copied, and every wait that the mode requires ended in time. False if another connection's
  /// read or write prevented the copying or lasted too long.
  public let isComplete: Bool
}

extension Connection {
  /// Runs a checkpoint of the main database. Waits for other connections until the busy timeout.
  package func checkpoint(_ mode: CheckpointMode) throws -> Checkpoint {
    var (pages, copied): (Int32, Int32) = (0, 0)
    let code = sqlite3_wal_checkpoint_v2(handle, "main", mode.code, &pages, &copied)
    guard code & 0xFF == SQLITE_OK || code & 0xFF == SQLITE_BUSY else { throw error(code, sql: nil) }
    // Without a WAL, SQLite sets both numbers to -1.
    return Checkpoint(
      pages: max(0, Int(pages)), copiedPages: max(0, Int(copied)), isComplete: code == SQLITE_OK && pages == copied)
  }

  /// Calls `body` with this busy timeout, and then restores the connection's busy timeout.
  package func withBusyTimeout<Value>(_ timeout: Duration, _ body: () throws -> Value) rethrows -> Value {
    let (before, interruption) = (busyTimeout, interruption)
    setBusyTimeout(milliseconds: Int32(min(max(timeout, .zero) / .milliseconds(1), Double(Int32.max))))
    defer {
      setBusyTimeout(milliseconds: Int32(before * 1_000))
      if let interruption { use(interruption) }
    }
    return try body()
  }
}
