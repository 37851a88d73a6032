import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

/// A class as a model. Its instances are shared, so a lock guards the mutable property.
private final class Wheel: Sqlable {
  static let id = column("id", Int?.self, PrimaryKey(autoincrement: true))
  static let name = column("name", String.self)
  static let size = column("size", Int.self, Default(26))
  static let tableLayout = [id.column, name.column, size.column]

  let id: Int?
  let name: String
  let size: Mutex<Int>

  init(id: Int? = nil, name: String, size: Int) {
    (self.id, self.name, self.size) = (id, name, Mutex(size))
  }

  init(row: ReadRow) throws {
    id = try row.get(Wheel.id)
    name = try row.get(Wheel.name)
    size = Mutex(try row.get(Wheel.size))
  }

  func write(to row: inout RowWriter) throws {
    row.set(Wheel.id, id)
    row.set(Wheel.name, name)
    row.set(Wheel.size, size.withLock { $0 })
  }
}

/// A superclass that is no model.
private class Part: @unchecked Sendable {
  let name: String
  init(name: String) { self.name = name }
}

private final class Screw: Part, Sqlable, @unchecked Sendable {
  static let name = column("name", String.self, PrimaryKey())
  static let length = column("length", Int.self)
  static let tableLayout = [name.column, length.column]

  let length: Int

  init(name: String, length: Int) {
    self.length = length
    super.init(name: name)
  }

  init(row: ReadRow) throws {
    length = try row.get(Screw.length)
    super.init(name: try row.get(Screw.name))
  }

  func write(to row: inout RowWriter) throws {
    row.set(Screw.name, name)
    row.set(Screw.length, length)
  }
}

/// A model class that is not final, so it needs a required initializer.
private class Animal: Sqlable, @unchecked Sendable {
  class var tableName: String { "animal" }
  static let name = Column("name", .text, PrimaryKey())
  class var tableLayout: [Column] { [name] }

  let name: String

  init(name: String) { self.name = name }
  required init(row: ReadRow) throws { name = try row.get(Animal.name) }

  func write(to row: inout RowWriter) throws { row.set(Animal.name, name) }
}

@Suite struct ClassModelTests {
  @Test func aFinalClassIsAModel() throws {
    try withDatabase { db in
      try db.createTable(Wheel.self)
      let wheel = Wheel(name: "front", size: 28)
      let id = try wheel.insert().run(db)
      try Wheel.insert([Wheel(name: "rear", size: 27), Wheel(name: "spare", size: 20)]).run(db)
      let read = try #require(try Wheel.byId(id).run(db))
      #expect(read !== wheel)
      #expect(read.name == "front")
      #expect(read.size.withLock { $0 } == 28)
      read.size.withLock { $0 = 29 }
      try read.update().run(db)
      try read.save().run(db)
      #expect(try Wheel.select(Wheel.size).orderBy(Wheel.id).run(db) == [29, 27, 20])
      #expect(try Wheel.read(Wheel.size < 29).orderBy(Wheel.name).run(db).map(\.name) == ["rear", "spare"])
      let rows = try Wheel.read(Wheel.size < 29).evaluate(over: [wheel])
      #expect(rows.map(\.name) == ["front"])
      try read.delete().run(db)
      #expect(try Wheel.count().run(db) == 2)
    }
  }

  @Test func anObserverSeesTheRowsOfAClass() throws {
    try withDatabase { db in
      try db.createTable(Wheel.self)
      let seen = Mutex(0)
      let observer = db.observe(.insert, on: Wheel.self) { (_: Int) in seen.withLock { $0 += 1 } }
      try Wheel(name: "front", size: 28).insert().run(db)
      try Wheel.updateAll(Wheel.size.set(to: 3)).run(db)
      #expect(seen.withLock { $0 } == 1)
      _ = observer
    }
  }

  @Test func aSubclassOfAnotherClassIsAModel() throws {
    try withDatabase { db in
      try db.createTable(Screw.self)
      try Screw(name: "M4", length: 12).insert().run(db)
      #expect(try Screw.read().run(db).map { "\($0.name) \($0.length)" } == ["M4 12"])
    }
  }

  @Test func aClassThatIsNotFinalIsAModel() throws {
    try withDatabase { db in
      try db.createTable(Animal.self)
      try Animal(name: "Rex").insert().run(db)
      #expect(try Animal.read().run(db).map(\.name) == ["Rex"])
    }
  }
}
