import Foundation
import Glibc
import SqlableCore
import Testing

@testable import SqlableTenants
@testable import SqlableTestSupport

/// The files of tenants that are being received.
@Suite struct ReceptionTests {
  private let token = String(repeating: "a", count: 32)

  private func part(_ number: Int, _ content: TenantPart.Content) -> TenantPart {
    TenantPart(tenant: "acme", token: token, number: number, content: content)
  }

  /// Returns the open files of this process whose path contains `text`.
  private func openFiles(_ text: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap {
      try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + $0)
    }.filter { $0.contains(text) }
  }

  @Test func theDescriptorIsClosedBeforeTheFileGetsItsName() async throws {
    try await withMachines { here, there in
      try await here["acme"].add("1")
      let kept = Mutex<TenantReception?>(nil)
      try await here.handOver("acme") { part in
        // As a duplicate part does that another thread still handles.
        if case .end = part.content {
          kept.withLock { $0 = there.receptions.reception(of: try! TenantName("acme"), token: part.token) }
        }
        return try await there.receive(part)
      }
      #expect(kept.withLock { $0 } != nil)
      #expect(try openFiles(there.directory.path).filter { $0.hasSuffix(".sqlite") } == [])
      #expect(try await there["acme"].texts() == ["1"])
    }
  }

  @Test(.needsPlainFiles("reads the header"))
  func aReceivedTenantIsInWALModeBeforeItsFirstCall() async throws {
    try await withMachines { here, there in
      try await here["acme"].add("1")
      try await here.handOver("acme") { try await there.receive($0) }
      let header = try Data(contentsOf: URL(fileURLWithPath: there.filepath(of: "acme"))).prefix(20)
      #expect(Array(header[18...]) == [2, 2])
      #expect(try await there["acme"].texts() == ["1"])
    }
  }

  @Test func anIdleReceptionEnds() async throws {
    try await withDirectoryAsync { directory in
      let receptions = TenantReceptions(limit: .milliseconds(50))
      let path = directory + "/1.sqlite"
      receptions.add(try TenantReception(token, at: path, begin: 0), of: try TenantName("acme"))
      try await until { !FileManager.default.fileExists(atPath: path) }
      #expect(try openFiles(directory) == [])
      #expect(receptions.reception(of: try TenantName("acme"), token: token) == nil)
    }
  }

  @Test func aPartProlongsItsReceptionOnly() async throws {
    try await withTenants { tenants in
      _ = try await tenants.receive(part(0, .begin(wait: 0)))
      _ = try await tenants.receive(
        TenantPart(tenant: "idle", token: token, number: 0, content: .begin(wait: 0)))
      let mark = ContinuousClock.now
      _ = try await tenants.receive(part(1, .bytes(Data([1]), offset: 0)))
      tenants.receptions.endIdle(at: mark + .seconds(600))
      _ = try await tenants.receive(part(2, .sync))
      await expectAsync(.tenant(.missing)) {
        _ = try await tenants.receive(TenantPart(tenant: "idle", token: token, number: 1, content: .sync))
      }
      tenants.receptions.endIdle(at: .now + .seconds(600))
      #expect(try openFiles(tenants.directory.path + "/.new").filter { $0.hasSuffix(".sqlite") } == [])
    }
  }

  @Test func aHandOverAfterTheTimeLimitBeginsAgain() async throws {
    try await withMachines { here, there in
      try await here["acme"].add("1")
      await expectAsync(.tenant(.missing)) {
        try await here.handOver("acme") { part in
          if case .end = part.content { there.receptions.endIdle(at: .now + .seconds(611)) }
          return try await there.receive(part)
        }
      }
      try await here["acme"].add("2")
      try await here.handOver("acme") { try await there.receive($0) }
      #expect(try await there["acme"].texts() == ["1", "2"])
    }
  }

  @Test func aReceptionLastsLongerThanTheSendersWait() async throws {
    try await withMachines { here, there in
      try await here["acme"].add("1")
      let (begun, left) = (Mutex(false), Mutex(false))
      // While the sender waits for this loop, no part arrives.
      let loop = Task {
        try await here["acme"].withPool { _ in
          begun.withLock { $0 = true }
          try await until { left.withLock { $0 } }
        }
      }
      try await until { begun.withLock { $0 } }
      let name = try TenantName("acme")
      let move = Task { try await here.handOver("acme", within: .seconds(7_200)) { try await there.receive($0) } }
      try await until { here.withState { $0.slots[name]?.isWanted == true } }
      there.receptions.endIdle(at: .now + .seconds(7_100))
      left.withLock { $0 = true }
      try await loop.value
      try await move.value
      #expect(try await there["acme"].texts() == ["1"])
      // The numbers of another machine have a limit.
      _ = try await here.receive(part(0, .begin(wait: .max)))
      here.receptions.endIdle(at: .now + .seconds(2 * 365 * 86_400))
      #expect(try openFiles(here.directory.path + "/.new").filter { $0.hasSuffix(".sqlite") } == [])
    }
  }

  @Test func closedTenantsReceiveNothing() async throws {
    try await withTenants { tenants in
      _ = try await tenants.receive(part(0, .begin(wait: 0)))
      try await tenants.close()
      #expect(try openFiles(tenants.directory.path + "/.new").filter { $0.hasSuffix(".sqlite") } == [])
      await expectAsync(.closed) { _ = try await tenants.receive(part(0, .begin(wait: 0))) }
    }
  }
}
