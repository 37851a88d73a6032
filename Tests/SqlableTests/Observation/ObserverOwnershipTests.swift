import Sqlable
import Testing

/// What an observer alone has kept alive ends with it, and may call the handle while it does.
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

  @Test func anOwnerThatEndsWithItsObserverMayRemoveOthers() throws {
    let db = try SqliteDatabase.inMemory()
    func token() -> ObserverToken {
      let owner = Owner(db)
      return db.observe(on: Person.self) { (_: Int) in _ = owner }
    }
    db.removeObserver(token())
  }

  @Test func anOwnerThatEndsWithAClosureMayRemoveOthers() throws {
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
