import Foundation
import Sqlable
import SqlableAdvice
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Pools whose statements are explained, or whose trace advises.
@Suite(.timeLimit(.minutes(60))) struct PoolAdviceTests {
  @Test func keptHandleIsRefusedOutsideItsClosure() throws {
    try withMembers { pool in
      let writer = try pool.transaction { db in
        try Member(id: 1, name: "Ann").insert().run(db)
        return db
      }
      let reader = try pool.read { db in db }
      let uses: [(SqliteDatabase) throws -> Void] = [
        { try Member(id: 2, name: "late").insert().run($0) },
        { _ = try Member.read().run($0) },
        { try $0.execute("DELETE FROM member") },
        { try $0.transaction { _ in } },
        { try $0.beginTransaction() },
        { _ = try $0.prepare(Member.read()) },
        { _ = try Member.read().cursor($0) },
        { _ = try $0.createChild() },
        { _ = try Member.read().explain($0) },
        { try $0.createTable(Person.self) },
      ]
      for handle in [writer, reader] {
        #expect(handle.transactionLevel == 0)
        expectMisuse { try handle.close() }
        for use in uses {
          let error = expectMisuse { try use(handle) }
          #expect(error?.message.contains("valid only inside its closure") == true)
        }
      }
      // While another call uses the handle, a kept handle would join that call's transaction.
      try pool.transaction { db in
        #expect(db === writer)
        let errors = Collected<SqlError?>()
        onThreads(1) { _ in errors.append(sqlError { try Member(id: 3, name: "mixed in").insert().run(writer) }) }
        #expect(errors.values.first??.message.contains("valid only inside its closure") == true)
        // A kept reader is refused inside the call, too.
        expectMisuse { _ = try Member.read().run(reader) }
      }
      let ids = try Member.read().run(pool).map(\.id)
      #expect(ids == [1])
    }
  }

  /// With an observer, the library reads the schema in every call, by PRAGMA statements.
  @Test func librarySchemaQueriesKeepTheReaderOpen() throws {
    try withMembers(PoolConfiguration(readers: 1)) { pool in
      let reader = try pool.read { $0 }
      let token = pool.observe(on: Member.self) { _ in }
      for id in 1...3 {
        try Member(id: id, name: "Anna").insert().run(pool)
        #expect(try Member.count().run(pool) == id)
        #expect(try pool.read { try $0.query("SELECT count(*) FROM member", as: Int.self) } == [id])
        expectSqlError { try pool.read { try $0.execute("SELECT 'PRAGMA' FROM nosuch") } }
        _ = try pool.read { try Member.byId(id).explain($0) }
      }
      pool.removeObserver(token)
      #expect(reader.isOpen)
    }
  }

  /// `SQLABLE_TEXTS=10000000 swift test --filter newSQLTextsDoNotGrowTheMemory` takes hours.
  @Test func newSQLTextsDoNotGrowTheMemory() throws {
    let wanted = ProcessInfo.processInfo.environment["SQLABLE_TEXTS"].flatMap { Int($0) } ?? times(20_000)
    try withMembers(PoolConfiguration(keepsTotals: true)) { pool in
      pool.trace(.slow(.zero, advises: true)) { _ in }
      pool.trace(.init(values: [.of(Member.self, Member.name)])) { _ in }
      try pool.read { db in
        func run(_ numbers: Range<Int>) throws {
          for number in numbers {
            _ = try db.query(SQL(verbatim: "SELECT id AS c\(number) FROM member WHERE id < 0"), as: Int.self)
          }
        }
        try run(0..<min(5_000, wanted))
        // Other tests of the process allocate memory, too. A leak would grow in each round.
        var growths: [Int] = []
        repeat {
          let first = wanted * (growths.count + 1)
          let before = residentBytes()
          try run(first..<first + max(5_000, wanted - 5_000))
          growths.append(residentBytes() - before)
        } while growths.count < 12 && growths.allSatisfy({ $0 >= 48 << 20 })
        #expect(growths.contains { $0 < 48 << 20 }, "\(growths)")
      }
      #expect(pool.topStatements(.max).count <= 1_000)
    }
  }

  private func residentBytes() -> Int {
    let words = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ") ?? []
    return (words.count > 1 ? Int(words[1]) ?? 0 : 0) * 4_096
  }
}
