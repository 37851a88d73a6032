import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

protocol SoftDeletable: Sqlable {
  static var id: TypedColumn<Self, Int> { get }
  static var deletedAt: TypedColumn<Self, Date?> { get }
}

extension SoftDeletable {
  static var present: Statement<Self, [Self]> { read().filter(deletedAt == nil) }

  static func present(_ id: Int) -> Statement<Self, Self?> { present.filter(Self.id == id).first() }

  static func trash(_ id: Int, at time: Date = Date()) -> Statement<Self, Int> {
    update(deletedAt.set(to: time)).filter(Self.id == id && deletedAt == nil)
  }

  static func restore(_ id: Int) -> Statement<Self, Int> {
    update(deletedAt.set(to: nil)).filter(Self.id == id)
  }

  static func purge(before time: Date) -> Statement<Self, Int> {
    delete(deletedAt < time)
  }
}

private struct Page: Codable, Equatable {
  var id: Int?
  var title: String
  var deletedAt: Date?
}

extension Page: SqlCodable, SoftDeletable {
  static let id = column("id", Int.self, PrimaryKey(autoincrement: true))
  static let title = column("title", String.self)
  static let deletedAt = column("deleted_at", Date?.self)
  static let tableLayout = [id.column, title.column, deletedAt.column]
  static let tableIndexes = [Index(title, unique: true, where: deletedAt.isNull)]
}

private struct Remark: Codable, Equatable {
  var id: Int?
  var pageId: Int
  var text: String
  var deletedAt: Date?
}

extension Remark: SqlCodable, SoftDeletable {
  static let id = column("id", Int.self, PrimaryKey(autoincrement: true))
  static let pageId = column("page_id", Int.self, ForeignKey<Page>(onDelete: .cascade))
  static let text = column("text", String.self)
  static let deletedAt = column("deleted_at", Date?.self)
  static let tableLayout = [id.column, pageId.column, text.column, deletedAt.column]
  static let tableIndexes = [Index(pageId)]
}

extension Page {
  static let remarks = toMany(Remark.self, by: Remark.pageId).filter(Remark.deletedAt == nil)
}

private struct PresentPage: Codable, Equatable {
  var id: Int
  var title: String
}

extension PresentPage: SqlCodable {
  static let id = column("id", Int.self, PrimaryKey())
  static let title = column("title", String.self)
  static let tableLayout = [id.column, title.column]
  static let tableOptions: [TableOption] = [
    .view(View(Page.select(Page.id, Page.title).filter(Page.deletedAt == nil)))
  ]
}

private struct Photo: Codable, Equatable {
  var id: Int?
  var title: String
}

extension Photo: SqlCodable {
  static let id = column("id", Int.self, PrimaryKey(autoincrement: true))
  static let title = column("title", String.self)
  static let tableLayout = [id.column, title.column]
}

/// The examples of Docs/SoftDelete.md.
@Suite struct SoftDeleteGuide {
  let trashing = Trigger(
    "page_trashed", after: .update(of: Page.deletedAt), on: Page.self,
    run: Remark.update(Remark.deletedAt.set(to: Page.deletedAt.new))
      .filter(Remark.pageId == Page.id.new && Remark.deletedAt.isNotDistinct(from: Page.deletedAt.old)))

  private func withPages(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.createTables(of: Schema(Page.self, Remark.self, PresentPage.self).adding(trashing))
      try Page.insert([Page(title: "Home"), Page(title: "About")]).run(db)
      try Remark.insert([Remark(pageId: 1, text: "Welcome"), Remark(pageId: 1, text: "Spam")]).run(db)
      try body(db)
    }
  }

  @Test func trashedRowsAreFilteredAndRestored() throws {
    try withPages { db in
      let trashed = try Page.trash(1).run(db)  // 1; 0 if the page is gone or in the trash already
      let pages = try Page.present.orderBy(Page.title).run(db)
      let home = try Page.present(1).run(db)  // nil
      let all = try Page.read().run(db)  // with the trash
      let restored = try Page.restore(1).run(db)
      #expect(trashed == 1)
      #expect(pages.map(\.title) == ["About"])
      #expect(home == nil)
      #expect(all.count == 2)
      #expect(try Page.byId(1).run(db) != nil)
      #expect(restored == 1)
      #expect(try Page.present.run(db).count == 2)
      #expect(Page.present.sql == #"SELECT "id", "title", "deleted_at" FROM "page" WHERE "deleted_at" IS NULL"#)
      #expect(Page.trash(1).sql == #"UPDATE "page" SET "deleted_at" = ? WHERE "id" = ? AND "deleted_at" IS NULL"#)
      #expect(Page.restore(1).sql == #"UPDATE "page" SET "deleted_at" = ? WHERE "id" = ?"#)
      #expect(Page.purge(before: Date()).sql == #"DELETE FROM "page" WHERE "deleted_at" < ?"#)
      try Page.trash(2, at: Date(timeIntervalSince1970: 0)).run(db)
      #expect(try Page.purge(before: Date(timeIntervalSince1970: 1)).run(db) == 1)
      #expect(try Page.trash(1).run(db) == 1)
      #expect(try Page.trash(1).run(db) == 0)
    }
  }

  @Test func partialIndexAllowsANewRowWithATrashedTitle() throws {
    try withPages { db in
      try Page.trash(1).run(db)
      try Page(title: "Home").insert().run(db)
      expectError(.constraint(.unique)) { try Page(title: "Home").insert().run(db) }
      expectError(.constraint(.unique)) { try Page.restore(1).run(db) }
      #expect(
        try db.query("SELECT sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'page'", as: String.self) == [
          #"CREATE UNIQUE INDEX "page_title_where_deleted_at_null" ON "page" ("title") WHERE "deleted_at" IS NULL"#
        ])
    }
  }

  @Test func associationsAndJoinsNeedTheCondition() throws {
    try withPages { db in
      try Remark.trash(2).run(db)
      let pages = try Page.present.orderBy(Page.id).including(Page.remarks).run(db)  // [(Page, [Remark])]
      let both = Page.present.join(Remark.self, on: Remark.pageId == Page.id && Remark.deletedAt == nil)
      #expect(pages.map { $0.1.map(\.text) } == [["Welcome"], []])
      #expect(try both.run(db).map(\.1.text) == ["Welcome"])
      #expect(try Page.present.join(Remark.self, on: Remark.pageId == Page.id).run(db).count == 2)
    }
  }

  @Test func triggerTrashesAndRestoresChildren() throws {
    try withPages { db in
      let present = Remark.present.orderBy(Remark.id)
      try Remark.trash(2, at: Date(timeIntervalSince1970: 0)).run(db)
      try Page.trash(1).run(db)
      #expect(try present.run(db).isEmpty)
      try Page.restore(1).run(db)
      #expect(try present.run(db).map(\.text) == ["Welcome"])
      #expect(
        try db.query("SELECT sql FROM sqlite_schema WHERE type = 'trigger'", as: String.self) == [
          """
          CREATE TRIGGER "page_trashed" AFTER UPDATE OF "deleted_at" ON "page" FOR EACH ROW \
          BEGIN UPDATE "remark" SET "deleted_at" = "new"."deleted_at" \
          WHERE "page_id" = "new"."id" AND "deleted_at" IS "old"."deleted_at"; END
          """
        ])
    }
  }

  @Test func viewHasNoTrashedRows() throws {
    try withPages { db in
      try Page.trash(1).run(db)
      let pages = try PresentPage.read().orderBy(PresentPage.title).run(db)
      #expect(pages == [PresentPage(id: 2, title: "About")])
      #expect(try PresentPage.byId(1).run(db) == nil)
      #expect(try PresentPage.count().run(db) == 1)
      expectMisuse { try PresentPage(id: 3, title: "Contact").insert().run(db) }
      #expect(
        try db.query("SELECT sql FROM sqlite_schema WHERE type = 'view'", as: String.self) == [
          """
          CREATE VIEW "present_page" ("id", "title") AS SELECT "id", "title" FROM "page" WHERE "deleted_at" IS NULL
          """
        ])
    }
  }

  @Test func observersGetAnUpdateOfATrashedRow() throws {
    try withPages { db in
      let log = Mutex([String]())
      db.observe(on: Page.self) { (change: RowChange) in log.withLock { $0.append("\(change.change) \(change.id)") } }
      try Page.trash(1).run(db)
      #expect(log.withLock { $0 } == ["update 1"])
    }
  }

  @Test func rowsMoveToATrashTable() throws {
    try withDatabase { db in
      try db.createTable(Photo.self)
      try db.createTable(Photo.self, named: "photo_trash")
      try Photo.insert([Photo(title: "Home"), Photo(title: "About")]).run(db)
      try db.transaction { db in
        let photo = Photo.read().filter(Photo.id == 1)
        try Photo.insert(from: photo).in("photo_trash").run(db)
        try Photo.delete(Photo.id == 1).run(db)
      }
      let trash = try Photo.read().in("photo_trash").run(db)
      #expect(trash.map(\.title) == ["Home"])
      #expect(try Photo.read().run(db).map(\.title) == ["About"])
    }
  }
}
