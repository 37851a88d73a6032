import CBaseline
import CSQLite3
import Sqlable

extension Suite {
  var scans: [Workload] {
    [
      workload("W1", "scan of rows of 10 integers", operations: fixture.rows) { integers },
      workload("W2", "scan of mixed rows, dates as REAL", operations: fixture.rows) { mixed },
      workload("W2n", "scan of mixed rows, dates in SQLite's text form", operations: fixture.rows) { textDates },
    ]
  }

  private var integers: [Workload.Contender] {
    let (raw, db) = (fixture.raw, fixture.db)
    return [
      .init(Name.c) { baseline_scan_integers(raw.db) },
      .init(Name.swift) {
        let statement = try raw.prepare("SELECT a, b, c, d, e, f, g, h, i, j FROM ints")
        defer { sqlite3_finalize(statement) }
        var rows: [Integers] = []
        while sqlite3_step(statement) == SQLITE_ROW {
          func column(_ index: Int32) -> Int { Int(sqlite3_column_int64(statement, index)) }
          rows.append(
            Integers(
              a: column(0), b: column(1), c: column(2), d: column(3), e: column(4), f: column(5), g: column(6),
              h: column(7), i: column(8), j: column(9)))
        }
        return rows.digest()
      },
      .init(Name.untyped) { try UntypedIntegers.read().run(db).digest() },
      .init(Name.typed) { try TypedIntegers.read().run(db).digest() },
      .init(Name.codable) { try CodedIntegers.read().run(db).digest() },
    ]
  }

  private var mixed: [Workload.Contender] {
    let (raw, db) = (fixture.raw, fixture.db)
    return [
      .init(Name.c) { baseline_scan_mixed(raw.db) },
      .init(Name.swift) {
        let statement = try raw.prepare("SELECT \(RawSwift.mixedColumns) FROM mixed")
        defer { sqlite3_finalize(statement) }
        return RawSwift.rows(statement).digest()
      },
      .init(Name.untyped) { try Untyped.read().run(db).digest() },
      .init(Name.typed) { try Typed.read().run(db).digest() },
      .init(Name.codable) { try Coded.read().run(db).digest() },
    ]
  }

  private var textDates: [Workload.Contender] {
    let (raw, db) = (fixture.raw, fixture.db)
    return [
      .init(Name.c) { baseline_scan_text_dates(raw.db) },
      .init(Name.swift) {
        let statement = try raw.prepare("SELECT \(RawSwift.mixedColumns) FROM mixed_text")
        defer { sqlite3_finalize(statement) }
        return RawSwift.rows(statement, datesAreText: true).digest()
      },
      .init(Name.typed) { try TypedTextDates.read().run(db).digest() },
      .init(Name.codable) { try CodedTextDates.read().run(db).digest() },
    ]
  }
}
