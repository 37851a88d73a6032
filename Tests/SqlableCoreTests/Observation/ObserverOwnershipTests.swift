import SqlableCore
import Testing

@testable import SqlableTestSupport

/// Objects that only an observer retains. Their deinit may call the handle.
struct ObserverOwnershipTests {
  private final class Owner: Sendable {
    private let db: SqliteDatabase
    private let token: ObserverToken

    init(_ db: SqliteDatabase) {
      self.db = db
      token = db.observe(on: Person.self) { (_: Int) in }
    }

    deinit { db.removeObserver(token) }
  }

  @Test func ownerReleasedWithItsObserverMayRemoveObservers() throws {
    let db = try SqliteDatabase.inMemory()
    func token() -> ObserverToken {
      let owner = Owner(db)
      return db.observe(on: Person.self) { (_: Int) in _ = owner }
    }
    db.removeObserver(token())
  }

  @Test func ownerReleasedWithAClosureMayRemoveObservers() throws {
    let db = try SqliteDatabase.inMemory()
    func setClosures() {
      let (first, second) = (Owner(db), Owner(db))
      db.didUpdate = { _, _, _ in _ = first }
      db.didFail = { _ in _ = second }
    }
    setClosures()
    db.didUpdate = nil
    db.didFail = nil
  }
}
