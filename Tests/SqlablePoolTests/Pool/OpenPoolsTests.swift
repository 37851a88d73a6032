import Foundation
import SqlableCore
import SqlablePool
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// The lookup of open pools by path and label.
@Suite struct OpenPoolsTests {
  @Test func poolsAreFoundByTheirFileAndTheirLabel() throws {
    try withDirectory { directory in
      let (path, label) = (directory + "/a.sqlite", UUID().uuidString)
      let configuration = PoolConfiguration(handles: Configuration(label: label))
      let pool = try SqlitePool(filepath: path, configuration: configuration)
      let relative = directory + "/./a.sqlite"
      var second: SqlitePool? = try SqlitePool(filepath: relative, configuration: configuration)
      #expect(SqlitePool.pools(at: path).count == 2)
      #expect(SqlitePool.pools(at: path).first === pool)
      #expect(SqlitePool.pools(labelled: label).map { $0 === pool } == [true, false])
      // The handles of a pool belong to the pool.
      _ = try pool.query("SELECT 1", as: Int.self)
      try pool.withWriter { _ in }
      #expect(SqliteDatabase.handles(at: path).count == 0)
      #expect(SqliteDatabase.handles(labelled: label).count == 0)
      try second?.close()
      #expect(SqlitePool.pools(at: path).count == 1)
      second = nil
      try pool.close()
      #expect(SqlitePool.pools(at: path).count == 0)
      #expect(SqlitePool.pools(labelled: label).count == 0)
    }
  }
}
