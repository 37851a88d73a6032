import SqlableCore
import SqlableTracing

/// Returns the SQL of the reads that `body` runs, without the bound values.
func tracedReads(_ db: SqliteDatabase, _ body: () throws -> Void) throws -> [String] {
  let texts = Mutex<[String]>([])
  let trace = db.trace { event in
    if event.kind == .read { texts.withLock { $0.append(event.sql) } }
  }
  defer { db.removeTrace(trace) }
  try body()
  return texts.withLock(\.self)
}
