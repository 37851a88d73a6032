import CSqlableSQLite
import Testing

@testable import SqlableCore
@testable import SqlableTestSupport

@Suite struct ResultCodeTests {
  /// Most codes can't be provoked. The library never meets those with the kind `.other`, or they are errors of SQLite
  /// itself.
  @Test func everyResultCodeHasItsKind() {
    let kinds: [Int32: SqlError.Kind] = [
      SQLITE_ERROR: .other,
      SQLITE_INTERNAL: .other,
      SQLITE_PERM: .readOnly,
      SQLITE_ABORT: .interrupted,
      SQLITE_BUSY: .busy,
      SQLITE_LOCKED: .busy,
      SQLITE_NOMEM: .outOfMemory,
      SQLITE_READONLY: .readOnly,
      SQLITE_INTERRUPT: .interrupted,
      SQLITE_IOERR: .io,
      SQLITE_CORRUPT: .corrupt,
      SQLITE_NOTFOUND: .other,
      SQLITE_FULL: .full,
      SQLITE_CANTOPEN: .cannotOpen,
      SQLITE_PROTOCOL: .busy,
      SQLITE_EMPTY: .other,
      SQLITE_SCHEMA: .schema(.mismatch("m")),
      SQLITE_TOOBIG: .tooBig,
      SQLITE_CONSTRAINT: .constraint(.other),
      SQLITE_MISMATCH: .constraint(.dataType),
      SQLITE_MISUSE: .misuse("m"),
      SQLITE_NOLFS: .io,
      SQLITE_AUTH: .other,
      SQLITE_FORMAT: .notADatabase,
      SQLITE_RANGE: .misuse("m"),
      SQLITE_NOTADB: .notADatabase,
      SQLITE_NOTICE: .other,
      SQLITE_WARNING: .other,
    ]
    for code in SQLITE_ERROR...SQLITE_WARNING {
      #expect(SqlError.Kind(code: code, extendedCode: code, message: "m") == kinds[code], "\(code)")
    }
    #expect(SqlError(.busy, message: "locking protocol", code: 15, extendedCode: 15).isRetryable)
    let format = SqlError.Kind(code: SQLITE_ERROR, extendedCode: SQLITE_ERROR, message: "unsupported file format")
    #expect(format == .notADatabase)
  }

  /// SQLite reports a refused schema with SQLITE_CORRUPT. Only its message distinguishes the refusal from damage.
  @Test func aRefusedSchemaIsNotCorruption() {
    func kind(_ code: Int32, _ message: String) -> SqlError.Kind {
      SqlError.Kind(code: code, extendedCode: code, message: message)
    }
    let refused = "malformed database schema (by_a) - unsafe use of json_extract()"
    #expect(kind(SQLITE_CORRUPT, refused) == .schema(.mismatch(refused)))
    #expect(kind(SQLITE_CORRUPT, "malformed database schema (by_a) - invalid rootpage") == .corrupt)
    #expect(kind(SQLITE_CORRUPT, "database disk image is malformed") == .corrupt)
    #expect(kind(SQLITE_CONSTRAINT, "unsafe use of force") == .constraint(.other))
  }
}
