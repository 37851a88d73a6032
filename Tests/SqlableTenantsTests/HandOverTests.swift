import Foundation
import SqlableBackup
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableTenants
@testable import SqlableTestSupport

@Suite struct HandOverTests {
  @Test func aTenantIsHandedOverWhileItIsWritten() async throws {
    var configuration = TenantsConfiguration()
    // The smallest limit, so that checkpoints run while the file is sent.
    configuration.pool.handles.walAutocheckpoint = 20
    try await withMachines(configuration) { here, there in
      let long = String(repeating: "x", count: 2_000)
      _ = try await Note.insert((0..<1_500).map { Note("\($0) \(long)") }).run(here["acme"])
      let accepted = Mutex(0)
      let writer = Task {
        for number in 0... {
          // Changes pages in all parts of the file.
          let id = 1 + number * 37 % 1_500
          try await here["acme"].transaction { db in
            try Note.update(Note.text.set(to: "\(number) \(long)")).filter(Note.id == id).run(db)
            try Note("\(number)").insert().run(db)
          }
          accepted.withLock { $0 += 1 }
        }
      }
      try await until { accepted.withLock { $0 } > 10 }
      let wire = Wire(to: there)
      try await here.handOver("acme", within: .seconds(900)) { try await wire.send($0) }
      await expectAsync(.tenant(.handedOver)) { try await writer.value }
      let texts = try await there["acme"].texts()
      let count = accepted.withLock { $0 }
      #expect(texts.count == 1_500 + count)
      #expect(texts.dropFirst(1_500) == (0..<count).map { "\($0)" }[...])
      let last = count - 1
      #expect(texts[last * 37 % 1_500] == "\(last) \(long)")
      let check = try await there["acme"].read { db in try db.query("PRAGMA integrity_check", as: String.self) }
      #expect(check == ["ok"])
      try await there["acme"].add("there")
    }
  }

  @Test func theOldMachineRefusesTheTenantForGood() async throws {
    try await withMachines { here, there in
      try await here["acme"].add("1")
      let wire = Wire(to: there)
      try await here.handOver("acme") { try await wire.send($0) }
      let restarted = try openTenants(here.directory.path)
      for tenants in [here, restarted] {
        await expectAsync(.tenant(.handedOver)) { try await tenants["acme"].add("2") }
        await expectAsync(.tenant(.handedOver)) { try await tenants.create("acme") }
        await expectAsync(.tenant(.handedOver)) { try await tenants.delete("acme") }
        await expectAsync(.tenant(.handedOver)) { try await tenants.handOver("acme") { try await wire.send($0) } }
        let names = try await tenants.allNames()
        #expect(names == [])
        #expect(try !tenants.contains("acme"))
        let unfinished = try await tenants.unfinishedHandOvers()
        #expect(unfinished == [])
      }
      try await here["other"].add("1")
      await expectAsync(.tenant(.handedOver)) { try await here.rename("other", to: "acme") }
      let backup = here.directory.path + "-backup.sqlite"
      try await here["other"].withPool { try await $0.backup(to: backup) }
      await expectAsync(.tenant(.handedOver)) { try await here.restore("acme", from: backup) }
      try await restarted.close()
    }
  }

  @Test func aTenantIsHandedOverThereAndBack() async throws {
    try await withMachines { here, there in
      try await here["acme"].add("1")
      let (out, back) = (Wire(to: there), Wire(to: here))
      for number in 2..<5 {
        try await here.handOver("acme") { try await out.send($0) }
        try await there["acme"].add("\(number) there")
        try await there.handOver("acme") { try await back.send($0) }
        try await here["acme"].add("\(number) here")
      }
      let texts = try await here["acme"].texts()
      #expect(texts == ["1", "2 there", "2 here", "3 there", "3 here", "4 there", "4 here"])
    }
  }

  @Test func aTenantStaysIfAPartIsNotSent() async throws {
    try await withMachines { here, there in
      try await here["acme"].add("0")
      let wire = Wire(to: there)
      var accepted = ["0"]
      var index = 0
      while try here.contains("acme") {
        wire.failures.withLock { $0 = [index: .beforeDelivery] }
        do { try await here.handOver("acme") { try await wire.send($0) } } catch is Wire.Failure {
          try await here["acme"].add("\(index)")
          accepted.append("\(index)")
          #expect(try !there.contains("acme"))
        }
        index += 1
        try #require(index < 100)
      }
      #expect(index > 3)
      let texts = try await there["acme"].texts()
      #expect(texts == accepted)
    }
  }

  @Test(arguments: ["pages", "sync"])
  func aTenantStaysIfAPartBesideTheFenceIsNotSent(_ failing: String) async throws {
    try await withMachines { here, there in
      try await here["acme"].add("1")
      // The rows that were written while a part was sent.
      let (rows, fenced) = (Mutex(["1"]), Mutex(0))
      @Sendable func write(_ text: String) async throws {
        try await here["acme"].add(text)
        rows.withLock { $0.append(text) }
      }
      await #expect(throws: Wire.Failure.self) {
        try await here.handOver("acme") { part in
          let kind =
            switch part.content {
            case .pages: "pages"
            case .sync: "sync"
            default: ""
            }
          switch (rows.withLock { $0.count }, kind) {
          // The next round sends the page of this row.
          case (1, "sync"): try await write("2")
          // There is no other round, so the page of this row is sent while the file is closed and renamed.
          case (2, "pages"): try await write("3")
          case (3, failing):
            fenced.withLock { $0 = here.withState { $0.openPools.isEmpty ? 1 : 0 } }
            throw Wire.Failure()
          default: break
          }
          return try await there.receive(part)
        }
      }
      #expect(fenced.withLock { $0 } == 1)
      #expect(rows.withLock { $0 } == ["1", "2", "3"])
      #expect(try await here.unfinishedHandOvers() == [])
      try await here["acme"].add("4")
      #expect(try !there.contains("acme"))
      try await here.handOver("acme") { try await there.receive($0) }
      #expect(try await there["acme"].texts() == ["1", "2", "3", "4"])
    }
  }

  @Test func aLostAnswerIsAskedForAgain() async throws {
    try await withMachines { here, there in
      try await here["acme"].add("1")
      let wire = Wire(to: there)
      wire.lastPart = .afterDelivery
      try await here.handOver("acme") { try await wire.send($0) }
      await expectAsync(.tenant(.handedOver)) { try await here["acme"].add("2") }
      let texts = try await there["acme"].texts()
      #expect(texts == ["1"])
    }
  }

  @Test func withoutAnAnswerNobodyWritesUntilTheHandOverIsCalledAgain() async throws {
    try await withMachines { here, there in
      try await here["acme"].add("1")
      let wire = Wire(to: there)
      (wire.lastPart, wire.failsCancel) = (.afterDelivery, true)
      await #expect(throws: Wire.Failure.self) { try await here.handOver("acme") { try await wire.send($0) } }
      await expectAsync(.tenant(.handedOver)) { try await here["acme"].add("2") }
      let unfinished = try await here.unfinishedHandOvers()
      #expect(unfinished == ["acme"])
      await expectAsync(.tenant(.handedOver)) { try await here.cancelHandOver("acme") { try await there.receive($0) } }
      let texts = try await there["acme"].texts()
      #expect(texts == ["1"])
      let ended = try await here.unfinishedHandOvers()
      #expect(ended == [])
    }
  }

  @Test func aCancelledHandOverCanNotBeEndedByALatePart() async throws {
    try await withMachines { here, there in
      try await here["acme"].add("1")
      let wire = Wire(to: there)
      (wire.lastPart, wire.failsCancel) = (.beforeDelivery, true)
      await #expect(throws: Wire.Failure.self) { try await here.handOver("acme") { try await wire.send($0) } }
      await expectAsync(.tenant(.handedOver)) { try await here["acme"].add("2") }
      try await here.cancelHandOver("acme") { try await there.receive($0) }
      try await here["acme"].add("2")
      for part in wire.parts.withLock({ $0 }) {
        await expectAsync(.tenant(.missing)) { _ = try await there.receive(part) }
      }
      #expect(try !there.contains("acme"))
      wire.lastPart = nil
      try await here.handOver("acme") { try await wire.send($0) }
      let texts = try await there["acme"].texts()
      #expect(texts == ["1", "2"])
    }
  }

  @Test func anotherCancelledHandOverLeavesTheRecordOfTheOwner() async throws {
    try await withMachines { here, there in
      try await here["acme"].add("1")
      let wire = Wire(to: there)
      (wire.lastPart, wire.failsCancel) = (.afterDelivery, true)
      await #expect(throws: Wire.Failure.self) { try await here.handOver("acme") { try await wire.send($0) } }
      try await withTenants { third in
        try await third["acme"].add("third")
        await expectAsync(.tenant(.exists)) { try await third.handOver("acme") { try await there.receive($0) } }
      }
      try await here.handOver("acme") { try await there.receive($0) }
      #expect(try await there["acme"].texts() == ["1"])
      let unfinished = try await here.unfinishedHandOvers()
      #expect(unfinished == [])
    }
  }

  @Test func aPartWithInvalidNumbersIsRefused() async throws {
    try await withTenants { tenants in
      func part(_ number: Int, _ content: TenantPart.Content, token: String) -> TenantPart {
        TenantPart(tenant: "acme", token: token, number: number, content: content)
      }
      let token = String(repeating: "a", count: 32)
      _ = try await tenants.receive(part(0, .begin(wait: 0), token: token))
      let contents: [TenantPart.Content] = [
        .bytes(Data([1]), offset: -1), .bytes(Data([1]), offset: .max),
        .pages(Data(count: 512), numbers: [0], size: 512), .pages(Data(count: 512), numbers: [.max], size: 512),
        .pages(Data(count: 1), numbers: [1], size: .max), .pages(Data(count: 511), numbers: [1], size: 512),
        .end(size: -1), .end(size: .max),
      ]
      for content in contents {
        await expectAsync(.misuse("the part of the tenant has an invalid offset, page number or size")) {
          _ = try await tenants.receive(part(1, content, token: token))
        }
      }
      for token in ["", "../../../../../../../../../etc/a", String(repeating: "A", count: 32)] {
        await expectAsync(.misuse("the part has an invalid token")) {
          _ = try await tenants.receive(part(0, .begin(wait: 0), token: token))
        }
      }
      #expect(try !tenants.contains("acme"))
    }
  }

  @Test func aHandOverWaitsForTheUsersOfATenant() async throws {
    try await withMachines { here, there in
      try await here["acme"].add("1")
      let wire = Wire(to: there)
      try await here["acme"].withPool { pool in
        await expectAsync(.busy) {
          try await here.handOver("acme", within: .milliseconds(50)) { try await wire.send($0) }
        }
        try await Note("2").insert().run(pool)
      }
      try await here.handOver("acme") { try await wire.send($0) }
      let texts = try await there["acme"].texts()
      #expect(texts == ["1", "2"])
    }
  }

  @Test func aTenantThatExistsIsNotReceived() async throws {
    try await withMachines { here, there in
      try await here["acme"].add("1")
      try await there["acme"].add("there")
      await expectAsync(.tenant(.exists)) { try await here.handOver("acme") { try await there.receive($0) } }
      await expectAsync(.tenant(.missing)) { try await here.handOver("b") { try await there.receive($0) } }
      #expect(try await here["acme"].texts() == ["1"])
      #expect(try await there["acme"].texts() == ["there"])
      let report = try String(contentsOfFile: there.filepath(of: "acme") + "-received", encoding: .utf8)
      #expect(report.hasPrefix("cancelled "))
    }
  }

  @Test func partsInAnotherOrderAreRefused() async throws {
    try await withMachines { here, there in
      try await here["acme"].add("1")
      let wire = Wire(to: there)
      (wire.lastPart, wire.failsCancel) = (.beforeDelivery, true)
      await #expect(throws: Wire.Failure.self) { try await here.handOver("acme") { try await wire.send($0) } }
      let parts = wire.parts.withLock { $0 }
      _ = try await there.receive(parts[0])
      await expectAsync(.misuse("expected part 1 of the tenant, not part 2")) { _ = try await there.receive(parts[2]) }
      _ = try await there.receive(parts[1])
      _ = try await there.receive(parts[1])
      let message = "the receipt belongs to another part; return the receipt that receive(_:) returned for this part"
      await expectAsync(.misuse(message)) {
        try await here.handOver("acme") { TenantReceipt(token: $0.token, number: -1, isOwner: true) }
      }
      try await here.handOver("acme") { try await there.receive($0) }
      #expect(try await there["acme"].texts() == ["1"])
    }
  }
}

/// A connection to another machine that can fail.
final class Wire: @unchecked Sendable {
  struct Failure: Error {}

  enum Moment {
    case beforeDelivery, afterDelivery
  }

  private let receiver: SqliteTenants
  /// The failures by the number of the part.
  let failures = Mutex<[Int: Moment]>([:])
  /// The parts that were sent, other than cancellations.
  let parts = Mutex<[TenantPart]>([])
  // Set between the calls.
  var lastPart: Moment?
  var failsCancel = false

  init(to receiver: SqliteTenants) { self.receiver = receiver }

  func send(_ part: TenantPart) async throws -> TenantReceipt {
    let part = try JSONDecoder().decode(TenantPart.self, from: JSONEncoder().encode(part))
    var moment: Moment?
    switch part.content {
    case .cancel: if failsCancel { throw Failure() }
    case .end:
      parts.withLock { $0.append(part) }
      moment = lastPart ?? failures.withLock { $0.removeValue(forKey: part.number) }
    default:
      parts.withLock { $0.append(part) }
      moment = failures.withLock { $0.removeValue(forKey: part.number) }
    }
    if moment == .beforeDelivery { throw Failure() }
    let receipt = try await receiver.receive(part)
    if moment == .afterDelivery { throw Failure() }
    return try JSONDecoder().decode(TenantReceipt.self, from: JSONEncoder().encode(receipt))
  }
}
