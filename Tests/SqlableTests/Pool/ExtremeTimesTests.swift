import Foundation
import Sqlable
import SqlableBackup
import SqlablePolicies
import SqlableRecovery
import Testing

@testable import SqlableTestSupport

@Suite struct ExtremeTimesTests {
  private static let long = [
    Duration.seconds(10_000_000_000), .seconds(Int64.max), .seconds(Int64.max) * 10,
  ]

  @Test(arguments: long) func extremelyLongTimesLimitNothing(_ time: Duration) throws {
    try withDirectory { directory in
      let configuration = PoolConfiguration(
        waitTimeout: time, deadline: time, maximumGroupTime: time, pollInterval: time, longRead: time,
        maximumRead: time)
      let pool = try SqlitePool(filepath: directory + "/a.sqlite", configuration: configuration)
      try withDeadline(time) {
        try pool.transaction { db in try db.createTable(Member.self) }
        try Member(id: 1, name: "m").insert().run(pool)
        #expect(try Member.count().run(pool) == 1)
        try pool.backup(to: directory + "/b.sqlite", BackupOptions(timeLimit: time))
      }
      #expect(pool.health(within: time).isHealthy)
      if !isEncrypted {
        try pool.archive(to: directory + "/archive", ArchiveOptions(interval: time, baseInterval: time, keep: time))
          .stop()
      }
      var policy = StatementPolicy(.table(Member.self).readingAll())
      policy.limits.time = time
      #expect(try Member.count().limited(by: policy.limits).run(pool) == 1)
      _ = try? policy.json()
      try pool.close(within: time)
    }
  }

  @Test(arguments: long) func timesInThePastStopCallsAtOnce(_ time: Duration) throws {
    try withDirectory { directory in
      let past = Duration.zero - time
      let pool = try SqlitePool(filepath: directory + "/a.sqlite")
      expectError(.timeout) {
        try withDeadline(past) { _ = try Member.count().run(pool) }
      }
      expectError(.timeout) { try pool.backup(to: directory + "/b.sqlite", BackupOptions(timeLimit: past)) }
      #expect(!pool.health(within: past).isHealthy)
      try pool.close(within: past)
    }
  }

  @Test func policyJSONRefusesAnUnrepresentableTimeLimit() throws {
    var policy = StatementPolicy(.table(Member.self).readingAll())
    for time in [Duration.seconds(Int64.max), .seconds(Int64.max) * 10, .milliseconds(Int64.max) + .microseconds(1)] {
      policy.limits.time = time
      expectMisuse { _ = try policy.json() }
    }
    policy.limits.time = .milliseconds(Int64.max)
    #expect(try String(decoding: policy.json(), as: UTF8.self).contains("9223372036854775807"))
  }
}
