import Foundation
import Sqlable
import Testing

@testable import SqlableCluster
@testable import SqlableCore

/// Tests of the pauses of clients that wait for the write lock.
@Suite(.timeLimit(.minutes(2))) struct BackoffTests {
  @Test func pausesGrowUpToTheirMaximumAndAreRandom() {
    var backoff = Backoff(from: .milliseconds(1), upTo: .milliseconds(64), least: 0)
    var bound = Duration.milliseconds(1)
    for _ in 0..<6 {
      #expect((.zero...bound).contains(backoff.next()))
      bound *= 2
    }
    let pauses = (0..<1_000).map { _ in backoff.next() }
    #expect(pauses.allSatisfy { (.zero...Duration.milliseconds(64)).contains($0) })
    // The bounds hold for a thousand random pauses.
    #expect(pauses.min()! < .milliseconds(8))
    #expect(pauses.max()! > .milliseconds(56))
    var other = Backoff(from: .milliseconds(10), upTo: .milliseconds(200))
    #expect((Duration.milliseconds(5)...Duration.milliseconds(10)).contains(other.next()))
  }

  /// The test counts the requests, because a busy machine can only lower their number.
  @Test(arguments: [false, true]) func clientWaitingForTheWriteLockRetriesRarely(_ isClosure: Bool) async throws {
    let node = try FakeNode()
    defer { node.close() }
    node.isLocked()
    var configuration = ClusterConfiguration()
    configuration.timeout = .seconds(3)
    // The fake node has no voters that could confirm a read.
    configuration.confirmsReads = false
    let cluster = try SqliteCluster(nodes: [node.address], configuration: configuration)
    defer { cluster.close() }
    let error = await failure {
      if isClosure {
        try await cluster.transaction { tx in try await tx.execute("DELETE FROM t") }
      } else {
        try await cluster.execute("DELETE FROM t")
      }
    }
    #expect(error?.kind == .timeout, "\(String(describing: error))")
    // The pauses are 128 ms on average. Pauses of 1 ms would cause thousands of requests.
    #expect((2...200).contains(node.refusedBegins), "\(node.refusedBegins) questions")
  }
}
