import Foundation
import Glibc
import SqlableBackup
import SqlableCore
import SqlablePool
import SqlableTracing
import Testing

@testable import SqlableTenants
@testable import SqlableTestSupport

/// What can happen between two steps of a hand-over.
@Suite struct HandOverGapsTests {
  @Test func aCommitAfterTheTenantIsClosedArrives() async throws {
    try await withTenants { here in
      try await withTenants { there in
        try await here["acme"].add("1")
        try await here["acme"].transaction { db in try db.execute("CREATE INDEX note_text ON Note (text)") }
        let path = try here.filepath(of: "acme")
        let failure = Mutex<(any Error)?>(nil)
        try await here["acme"].withPool { pool in
          pool.events.add(TraceHub.newToken()) { event in
            guard case .closed = event else { return }
            do {
              let db = try SqliteDatabase(filepath: path)
              for number in 0..<200 { _ = try Note("gap \(number)").insert().run(db) }
              try db.close()
            } catch { failure.withLock { $0 = error } }
          }
        }
        try await here.handOver("acme") { try await there.receive($0) }
        #expect(failure.withLock { $0 } == nil)
        #expect(try await there["acme"].texts() == ["1"] + (0..<200).map { "gap \($0)" })
        let check = try await there["acme"].read { db in try db.query("PRAGMA integrity_check", as: String.self) }
        #expect(check == ["ok"])
      }
    }
  }

  @Test func aTenantStaysIfItsFileIsOpenedInTheGap() async throws {
    try await withTenants { here in
      try await withTenants { there in
        try await here["acme"].add("1")
        let path = try here.filepath(of: "acme")
        let other = Mutex<SqliteDatabase?>(nil)
        try await here["acme"].withPool { pool in
          pool.events.add(TraceHub.newToken()) { event in
            guard case .closed = event, let db = try? SqliteDatabase(filepath: path) else { return }
            _ = try? Note("gap").insert().run(db)
            other.withLock { $0 = db }
          }
        }
        await expectAsync(.busy) { try await here.handOver("acme") { try await there.receive($0) } }
        try other.withLock { try $0?.close() }
        #expect(try await here["acme"].texts() == ["1", "gap"])
        #expect(try !there.contains("acme"))
      }
    }
  }

  @Test func commitsOfOtherProgramsArriveOrAreRefused() async throws {
    try await withTenants { here in
      try await withTenants { there in
        try await here["acme"].add("0")
        let path = try here.filepath(of: "acme")
        let (accepted, isOver) = (Mutex(["0"]), Mutex(false))
        let writer = Thread {
          for number in 1..<100_000 where !isOver.withLock({ $0 }) {
            // Connections of this process are not in the kernel's list of other processes.
            let db = try? SqliteDatabase.openOther(at: path, Configuration(busyTimeout: 0), nil, creates: false)
            if let db, (try? Note("\(number)").insert().run(db)) != nil { accepted.withLock { $0.append("\(number)") } }
            try? db?.close()
            usleep(UInt32.random(in: 0..<30_000))
          }
          isOver.withLock { $0 = true }
        }
        writer.start()
        for _ in 0..<200 where try here.contains("acme") {
          do { try await here.handOver("acme") { try await there.receive($0) } } catch let error as SqlError
            where error.kind == .busy
          {}
        }
        isOver.withLock { $0 = true }
        try await until { writer.isFinished }
        #expect(try !here.contains("acme"))
        #expect(try await there["acme"].texts() == accepted.withLock { $0 })
      }
    }
  }

  @Test(arguments: ["delete", "restore", "close"], ["bytes", "sync"])
  func aTenantThatEndsDuringTheCopyIsNotHandedOver(_ way: String, _ moment: String) async throws {
    try await withMachines { here, there in
      try await here["acme"].add("1")
      let backup = here.directory.path + "-backup.sqlite"
      try await here["acme"].withPool { try await $0.backup(to: backup) }
      try await here["acme"].add("2")
      let hasEnded = Mutex(false)
      await expectAsync(way == "close" ? .closed : .tenant(.deleted)) {
        try await here.handOver("acme") { part in
          let isNow =
            switch part.content {
            case .bytes: moment == "bytes"
            case .sync: moment == "sync"
            default: false
            }
          let isFirst =
            isNow
            && hasEnded.withLock { hasEnded in
              defer { hasEnded = true }
              return !hasEnded
            }
          switch way {
          case "delete" where isFirst: try await here.delete("acme")
          case "restore" where isFirst: try await here.restore("acme", from: backup)
          case "close" where isFirst: try await here.close(within: .zero)
          default: break
          }
          return try await there.receive(part)
        }
      }
      #expect(try !there.contains("acme"))
      #expect(try here.contains("acme") == (way != "delete"))
      if way == "restore" { #expect(try await here["acme"].texts() == ["1"]) }
    }
  }

  /// Hands acme from `here` to `there`, whose last answer is lost.
  private func loseTheAnswer(_ here: SqliteTenants, _ there: SqliteTenants) async throws {
    try await here["acme"].add("1")
    let wire = Wire(to: there)
    (wire.lastPart, wire.failsCancel) = (.afterDelivery, true)
    await #expect(throws: Wire.Failure.self) { try await here.handOver("acme") { try await wire.send($0) } }
  }

  @Test(arguments: ["hand over", "delete", "rename", "delete and create"], [false, true])
  func aTenantThatHasLeftTheReceiverIsNotRevived(_ way: String, _ cancels: Bool) async throws {
    try await withTenants { here in
      try await withTenants { there in
        try await withTenants { third in
          try await loseTheAnswer(here, there)
          try await there["acme"].add("2")
          switch way {
          case "hand over": try await there.handOver("acme") { try await third.receive($0) }
          case "rename": try await there.rename("acme", to: "new")
          default: try await there.delete("acme")
          }
          if way == "delete and create" { try await there["acme"].add("3") }
          if cancels {
            await expectAsync(.tenant(.handedOver)) {
              try await here.cancelHandOver("acme") { try await there.receive($0) }
            }
          } else {
            try await here.handOver("acme") { try await there.receive($0) }
          }
          await expectAsync(.tenant(.handedOver)) { try await here["acme"].add("4") }
          #expect(try await here.unfinishedHandOvers() == [])
          #expect(try there.contains("acme") == (way == "delete and create"))
          if way == "hand over" {
            #expect(try await third["acme"].texts() == ["1", "2"])
            await expectAsync(.tenant(.handedOver)) { try await there["acme"].add("4") }
          }
        }
      }
    }
  }

  @Test func aTenantThatCameBackCanBeDeletedAndCreatedAgain() async throws {
    try await withTenants { here in
      try await here["acme"].add("1")
      // As after a crash between the rename of the received file and the end of the earlier mark.
      try Data().write(to: URL(fileURLWithPath: here.filepath(of: "acme") + "-away"))
      try await here.delete("acme")
      try await here.create("acme")
      #expect(try await here["acme"].texts() == [])
    }
  }

  @Test func delayedPartsOfTheFirstAttemptAreRefused() async throws {
    try await withTenants { here in
      try await withTenants { there in
        let rows = (0..<700).map { Note("\($0) " + String(repeating: "x", count: 2_000)) }
        _ = try await Note.insert(rows).run(here["acme"])
        let wire = Wire(to: there)
        (wire.lastPart, wire.failsCancel) = (.beforeDelivery, true)
        let grows = Mutex(true)
        await #expect(throws: Wire.Failure.self) {
          try await here.handOver("acme") { part in
            // The second attempt has more parts with bytes.
            let isFirst = grows.withLock { grows in
              defer { if case .sync = part.content { grows = false } }
              return grows
            }
            if isFirst, case .sync = part.content { _ = try await Note.insert(rows + rows).run(here["acme"]) }
            return try await wire.send(part)
          }
        }
        let late = wire.parts.withLock { $0 }
        let index = Mutex(0)
        try await here.handOver("acme") { part in
          let now = index.withLock { index in
            defer { index += 1 }
            return index
          }
          if now > 0, now < late.count {
            await expectAsync(.misuse("expected part \(part.number) of the tenant, not part \(late[now].number)")) {
              _ = try await there.receive(late[now])
            }
          }
          return try await there.receive(part)
        }
        #expect(try await there["acme"].texts() == (rows + rows + rows).map(\.text))
        let check = try await there["acme"].read { db in try db.query("PRAGMA integrity_check", as: String.self) }
        #expect(check == ["ok"])
      }
    }
  }

  @Test func anEndedHandOverKeepsTheTokenOfTheNext() async throws {
    try await withTenants { tenants in
      let name = try TenantName("acme")
      try await tenants["acme"].add("1")
      let first = try tenants.directory.lockHandOver(of: name)
      first.remove()
      let second = try tenants.directory.lockHandOver(of: name)
      try second.write(newToken())
      first.remove()
      _ = try second.token()
      #expect(sqlError { _ = try tenants.directory.lockHandOver(of: name) }?.kind == .busy)
    }
  }

  @Test func aHandOverWhoseCancellationHasNoAnswerCanBeRepeated() async throws {
    try await withTenants { here in
      try await withTenants { there in
        try await here["acme"].add("1")
        await #expect(throws: Wire.Failure.self) {
          try await here.handOver("acme") { part in
            switch part.content {
            case .end: throw Wire.Failure()
            case .cancel:
              _ = try await there.receive(part)
              throw Wire.Failure()
            default: return try await there.receive(part)
            }
          }
        }
        #expect(try await here.unfinishedHandOvers() == ["acme"])
        // The receiver never takes a cancelled hand-over; the tenant stays, and the next call begins anew.
        await expectAsync(.tenant(.missing)) { try await here.handOver("acme") { try await there.receive($0) } }
        try await here["acme"].add("2")
        try await here.handOver("acme") { try await there.receive($0) }
        #expect(try await there["acme"].texts() == ["1", "2"])
      }
    }
  }

  /// A forked process has the descriptors of its parent. Closing a descriptor does not end its lock then.
  @Test(.disabled(if: isSanitized)) func aCallThatGivesUpEndsItsLock() async throws {
    try await withMachines { here, there in
      try await here["acme"].add("1")
      let (wire, name) = (Wire(to: there), try TenantName("acme"))
      (wire.lastPart, wire.failsCancel) = (.beforeDelivery, true)
      await #expect(throws: Wire.Failure.self) { try await here.handOver("acme") { try await wire.send($0) } }
      // Another call has the file to itself.
      guard case .claimed(let slot) = try here.withState({ try $0.claim(name, .waits) }) else {
        throw SqlError.misuse("the tenant is in use")
      }
      let token = try here.filepath(of: "acme") + "-token"
      let inode = try #require(FileManager.default.attributesOfItem(atPath: token)[.systemFileNumber] as? Int)
      var child: pid_t = -1
      // On a busy machine, a call might give up before the fork. Another call then follows.
      for _ in 0..<5 where child <= 0 {
        let hasEnded = Mutex(false)
        let call = Task {
          defer { hasEnded.withLock { $0 = true } }
          try await here.cancelHandOver("acme") { try await there.receive($0) }
        }
        try await until {
          // Foundation reads only the first page of such a file.
          let locks = KernelLocks.text(ofFileAt: "/proc/locks", upTo: 1 << 22)
          return locks?.contains(":\(inode) ") == true || hasEnded.withLock { $0 }
        }
        let files = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        let file = files.first { file in
          (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + file)) == token
        }
        if let descriptor = file.flatMap({ Int32($0) }), !hasEnded.withLock({ $0 }) {
          child = Fork.begin()
          if child == 0 {
            // The other descriptors have the locks of other tests.
            var other: Int32 = 0
            while other < 65_536 {
              if other != descriptor { close(other) }
              other += 1
            }
            while true { pause() }
          }
        }
        call.cancel()
        _ = await call.result
      }
      try #require(child > 0)
      #expect(sqlError { try here.directory.lockHandOver(of: name).unlock() } == nil)
      kill(child, SIGKILL)
      _ = Fork.wait(for: child)
      here.start(here.withState { $0.endClaim(slot) })
      try await here.cancelHandOver("acme") { try await there.receive($0) }
      #expect(try await here["acme"].texts() == ["1"])
    }
  }
}
