#if Cluster
import Sqlable
import SqlableBackup
import Foundation
import Glibc
import NIOCore

extension SqliteCluster {
  /// Backs the database up into a file, while the cluster reads and writes.
  ///
  /// ```swift
  /// try await cluster.backup(to: "/backups/bikes.sqlite")
  /// ```
  ///
  /// The file is an SQLite database. The backup contains every commit that was acknowledged before the call. The leader
  /// sends the whole copy in one answer, and the client holds the copy in memory. The client creates, checks and
  /// renames the file as ``SqliteDatabase/backup(to:_:)-(String,_)`` does, with the same errors. Only the file's owner
  /// can read the file. The time limit is `timeLimit`, or the client's `timeout` if `timeLimit` is nil. Throws
  /// `.misuse` for a database of more than 2 GiB.
  ///
  /// - Parameters:
  ///   - checks: The checks that run before the file gets its final name.
  ///   - schema: The models whose tables the backup must contain.
  ///   - method: `.vacuumed` leaves out free pages.
  public func backup(
    to path: String, _ method: BackupOptions.Method = .copied, checks: BackupChecks = .integrity, schema: Schema? = nil,
    timeLimit: Duration? = nil
  ) async throws {
    let target = try BackupTarget(path)
    let deadline = Deadline.after(timeLimit ?? configuration.timeout)
    let options = BackupOptions(method: method, checks: checks, schema: schema)
    let database = configuration.database
    do {
      let files = try await sessions.attempt(before: deadline) { session in
        try await session.files(of: database, before: deadline)
      }
      let stop = BackupStop(Configuration(), options, deadline: deadline)
      try await onBackupThread(stop) {
        let received = try PartialFile.make(beside: target.path + ".received", mode: 0o600)
        for (file, suffix) in zip(files, ["", "-wal"]) { try file.write(to: received.path + suffix) }
        try withExtendedLifetime(received) {
          let copy = try SqliteDatabase(filepath: received.path)
          try copy.writeBackup(to: path, options, stop)
          try copy.close()
        }
      }
    } catch { throw error.labelled(configuration.label) }
  }

  /// Replaces the contents of the database with those of a backup, in one transaction.
  ///
  /// ```swift
  /// try await cluster.restore(from: "/backups/bikes.sqlite")
  /// ```
  ///
  /// The backup is an SQLite database, for example the database of a service that moves to a cluster. The client first
  /// checks the backup and reads the backup into memory. Then the client drops all tables of the cluster's database,
  /// and creates and fills the tables of the backup. Clients see the old contents until the commit and the new contents
  /// after the commit. Live results are read again, and loops over changes receive `.missed`. After any error except
  /// `.outcomeUnknown`, the database is unchanged.
  ///
  /// The restored database also contains the table of transaction ids. The call stores an id in that table, to detect
  /// whether a commit without an answer was stored. All rows belong to one commit, which each node holds in memory. The
  /// time limit is `timeLimit`, or the client's `timeout` if `timeLimit` is nil. Throws the errors of
  /// ``SqliteDatabase/restore(from:_:)`` for the backup, `.misuse` inside a transaction, and the errors of the nodes.
  ///
  /// - Parameters:
  ///   - checks: The checks of the backup, which run before any table is replaced.
  ///   - schema: The models whose tables the backup must contain.
  public func restore(
    from path: String, checks: BackupChecks = .integrity, schema: Schema? = nil, timeLimit: Duration? = nil
  ) async throws {
    guard current == nil else { throw SqlError.misuse("a cluster can't be restored inside a transaction") }
    let deadline = Deadline.after(timeLimit ?? configuration.timeout)
    let options = BackupOptions(checks: checks, schema: schema)
    let stop = BackupStop(Configuration(), options, deadline: deadline)
    do {
      let copy = try await onBackupThread(stop) {
        let copy = try SqliteDatabase.inMemory()
        let source = try stop.mapping { try copy.checkedBackup(at: path, options, stop) }
        try stop.mapping { try copy.replaceContents(from: source, options) }
        return copy
      }
      let dump = try DatabaseDump(copy)
      let parts = try dump.parts()
      let statistics = try copy.query("SELECT count(*) FROM sqlite_schema WHERE name = 'sqlite_stat1'", as: Int.self)
      let record = TransactionRecord(id: UUID(), age: configuration.transactionIdAge)
      try await transaction(record, enforcesForeignKeys: false, before: deadline) { tx in
        do {
          try await tx.dropAll()
          for part in parts { try await tx.run(part, of: dump) }
          if statistics != [0] { try await tx.execute("ANALYZE") }
          try await tx.execute(SQL(verbatim: TransactionRecord.createTable))
        } catch { throw error.afterRollback }
      }
    } catch { throw error.labelled(configuration.label) }
  }
}

extension ClusterTransaction {
  fileprivate func dropAll() async throws {
    // Views are dropped before the tables that the views read. DROP of a virtual table also drops its shadow tables.
    let objects = try await query(
      """
      SELECT type, name FROM sqlite_schema
      WHERE type IN ('table', 'trigger', 'view') AND name NOT LIKE 'sqlite!_%' ESCAPE '!'
        AND name NOT IN (SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'shadow')
      ORDER BY type DESC, rowid
      """, as: String.self, String.self)
    for (type, name) in objects {
      try await execute(SQL(verbatim: "DROP \(type.uppercased()) IF EXISTS \(name.quotedName)"))
    }
    for name in ["user_version", "application_id"] { try await execute(SQL(verbatim: "PRAGMA \(name) = 0")) }
  }

  fileprivate func run(_ part: DatabaseDump.Part, of dump: DatabaseDump) async throws {
    switch part {
    case .statement(let sql): try await execute(SQL(verbatim: sql))
    case .rows(let query, let insert, let columns):
      let next = try dump.rows(of: query)
      let sql = "\(insert) VALUES (\(repeatElement("?", count: columns).joined(separator: ", ")))"
      while true {
        var requests: [SqlRequest] = []
        while requests.count < 1_000, let values = try next() {
          // The protocol limits the number of values and can't carry U+0000 in a text. A row that exceeds these limits
          // is sent as SQL text.
          let isText = columns > WireRequest.maximumValues || values.contains(where: \.hasNul)
          requests.append(
            isText
              ? SqlRequest(sql: try dump.text(of: values, insert), values: [], isReadOnly: false)
              : SqlRequest(sql: sql, values: values, isReadOnly: false))
        }
        guard !requests.isEmpty else { return }
        _ = try await answers(to: requests)
      }
    }
  }
}

extension ClusterSession {
  /// The maximum size of a database that a node can send, in bytes.
  private static let maximumSize: Int64 = 1 << 31

  /// Returns the database's files, which contain every commit that was acknowledged before the call.
  func files(of database: String, before deadline: ContinuousClock.Instant) async throws -> [WireFile] {
    // Send a query first, because it makes the leader apply all commits of its Raft log. The request for the files does
    // not have this effect.
    let size = SqlRequest(
      sql: "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size", values: [], isReadOnly: true)
    guard case .integer(let bytes)? = try await answer(to: size, before: deadline).rows.first?.first else {
      throw SqlError.wire("an answer without the size of the database")
    }
    guard bytes <= ClusterSession.maximumSize else {
      throw SqlError.misuse("a node can't send a database of more than 2 GiB")
    }
    let files = try await dump(database, before: deadline)
    guard files.map(\.name) == [database, database + "-wal"] else { throw SqlError.wire("files with unexpected names") }
    return files
  }
}

extension WireFile {
  fileprivate func write(to path: String) throws {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw SqlError.system("create", path, errno) }
    defer { close(descriptor) }
    try bytes.withUnsafeReadableBytes { bytes in
      var rest = UnsafeRawBufferPointer(rebasing: bytes[...])
      while !rest.isEmpty {
        let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
        guard count > 0 || errno == EINTR else { throw SqlError.system("write", path, errno) }
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(max(0, count)))
      }
    }
  }
}

extension DatabaseValue {
  fileprivate var hasNul: Bool { if case .text(let text) = self { text.utf8.contains(0) } else { false } }
}
#endif
