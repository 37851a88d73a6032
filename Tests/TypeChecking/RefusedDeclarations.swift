// Declarations of models, schemas and migrations with a mistake. `Tests/Checks` describes how the lines are read.

import Foundation
import Sqlable

// swift-format-ignore
func columns(db: SqliteDatabase) throws {
  struct Seat: Sqlable { static let a = column("a", Int.self); static let b = column("b", Int.self); static let tableLayout = [a.column, b.column]; static let tableConstraints: [any TableConstraint] = [PrimaryKeys(a, b)]; init(row: ReadRow) throws {} }
  struct Log: Sqlable { let line: Int; static let line = column("line", Int.self); static let tableLayout = [line.column]; init(row: ReadRow) throws { line = try row.get(Self.line) } }
  struct Seat: Sqlable { static let a = column("a", Int.self); static let b = column("b", Int.self); static let tableLayout = [a.column, b.column]; static let tableConstraints: [any TableConstraint] = [PrimaryKey(a, b)]; init(row: ReadRow) throws {} } // refused among others: 'init(_:_:)' has been renamed to 'PrimaryKeys(_:)'
  struct Seat: Sqlable { static let a = column("a", Int.self); static let tableLayout = [a]; init(row: ReadRow) throws {} } // refused: type 'Seat' does not conform to protocol 'Sqlable'
  struct Seat: Sqlable { static let a = column("a", Int.self); init(row: ReadRow) throws {} } // refused: type 'Seat' does not conform to protocol 'Sqlable'
  struct Seat: Sqlable { static let a = column("a", Int.self); static let tableLayout = [a.column] } // refused: type 'Seat' does not conform to protocol 'Sqlable'
  struct Seat: Sqlable { var a: Int; static let a = column("a", Int.self); static let tableLayout = [a.column]; init(row: ReadRow) throws { a = row.get(Seat.a) } } // refused: call can throw but is not marked with 'try'
  struct Seat: Sqlable { var a: Int; static let a = column("a", String.self); static let tableLayout = [a.column]; init(row: ReadRow) throws { a = try row.get(Seat.a) } } // refused: cannot assign value of type 'String' to type 'Int'
  struct Seat: Sqlable { var a: Int; static let a = column("a", Int.self); static let tableLayout = [a.column]; init(row: ReadRow) throws { a = try row.get(a) } } // refused: 'get(_:as:)' has been renamed to 'get(at:as:)'
  struct Seat: Sqlable { var a: Int; static let a = column("a", Int.self); static let tableLayout = [a.column]; init(row: ReadRow) throws { a = try row.get("a") }; func write(to row: inout RowWriter) throws { row.set(a, a) } } // refused: static member 'a' cannot be used on instance of type 'Seat'
  struct Seat: Sqlable { var a: Int; static let a = column("a", Int.self); static let tableLayout = [a.column]; init(row: ReadRow) throws { a = try row.get("a") }; func write(to row: inout RowWriter) throws { row.set(Seat.a, "x") } } // refused: cannot convert value of type 'TypedColumn<Seat, Int>' to expected argument type 'TypedColumn<Seat, String?>'
  struct Seat: Sqlable { static var a = Column("a", .integer); static let tableLayout = [a]; init(row: ReadRow) throws {} } // refused: static property 'a' is not concurrency-safe because it is nonisolated global shared mutable state
  class Seat: Sqlable { static let a = Column("a", .integer); static let tableLayout = [a]; init(row: ReadRow) throws {} } // refused among others: non-final class 'Seat' cannot conform to the 'Sendable' protocol
  _ = Column("a", Int.self) // refused: cannot convert value of type 'Int.Type' to expected argument type 'ColumnType'
  _ = Column("a", .int) // refused: type 'ColumnType' has no member 'int'
  _ = Column("a", .string) // refused: type 'ColumnType' has no member 'string'
  _ = Column("a", .varchar(20)) // refused: type 'ColumnType' has no member 'varchar'
  _ = Column("a", .integer, .primaryKey) // refused: type 'any ColumnOption' has no member 'primaryKey'
  _ = Column("a", .integer, primaryKey: true) // refused among others: extraneous argument label 'primaryKey:' in call
  _ = Column("a", .integer, PrimaryKey(autoIncrement: true)) // refused: incorrect argument label in call (have 'autoIncrement:', expected 'autoincrement:')
  _ = Column("a", .integer, PrimaryKey) // refused: argument type 'PrimaryKey.Type' does not conform to expected type 'ColumnOption'
  _ = Column("a", .integer, Unique) // refused: argument type 'Unique.Type' does not conform to expected type 'ColumnOption'
  _ = Column("a", .integer, NotNull) // refused: argument type 'NotNull.Type' does not conform to expected type 'ColumnOption'
  _ = Column("a", .integer, Default()) // refused: missing argument for parameter #1 in call
  _ = Column("a", .integer, Default(NoValue())) // refused: no exact matches in call to initializer
  _ = Column("a", .integer, ForeignKey(Person.self)) // refused among others: generic parameter 'Target' could not be inferred
  _ = Column("a", .integer, ForeignKey<NoValue>()) // refused: type 'NoValue' does not conform to protocol 'Sqlable'
  _ = Column("a", .integer, ForeignKey<Person>(onDelete: .casade)) // refused: type 'ForeignKeyAction' has no member 'casade'
  _ = Column("a", .text, Collate.noCase) // refused: type 'Collate' has no member 'noCase'
  _ = Column("a", .nullable) // refused: member 'nullable' expects argument of type 'ColumnType'
  _ = Column("a", .date(.iso)) // refused: type 'ColumnType.DateFormat' has no member 'iso'
  _ = Column(a, .integer) // refused: cannot find 'a' in scope
  _ = Car.column("a", Int) // refused: expected member name or initializer call after type name
  _ = Car.column("a") // refused among others: generic parameter 'Value' could not be inferred
  _ = Car.column("a", Date.self, as: .iso8601) // refused: type 'ColumnType' has no member 'iso8601'
  _ = Car.column("a", Int.self, Check("a > 0"), Default(0), Default("x").source) // refused among others: 'source' is inaccessible due to 'private' protection level
  _ = Index("name") // refused: argument type 'String' does not conform to expected type 'IndexTerm'
  _ = Index(Car.name, unique) // refused: cannot find 'unique' in scope
  _ = Index(Car.name, isUnique: true) // refused: incorrect argument label in call (have '_:isUnique:', expected '_:unique:')
  _ = Unique("name") // refused: argument type 'String' does not conform to expected type 'IndexTerm'
  _ = PrimaryKeys("a", "b") // refused among others: argument type 'String' does not conform to expected type 'IndexTerm'
  _ = ForeignKeys(Car.id, to: Person.self, Person.id) // refused among others: cannot convert value of type 'TypedColumn<Car, Int?>' to expected argument type '[any ColumnConvertible]'
  _ = ForeignKeys([Car.id], to: Person.self) // refused: missing argument for parameter #3 in call
  _ = Check(Car.price) // refused: no exact matches in call to initializer 
  _ = View(Car.read(), Car.name) // refused: extra argument in call
  _ = FullTextIndex("name") // refused: argument type 'String' does not conform to expected type 'ColumnConvertible'
  _ = FullTextIndex(Car.name, tokenizer: .english) // refused: type 'Tokenizer' has no member 'english'
}

// swift-format-ignore
func migrations(db: SqliteDatabase, pool: SqlitePool, migrations: Migrations) throws {
  try Migrations([Migration("a", sql: "SELECT 1"), Migration("b") { db in try db.createTable(Car.self) }]).apply(db)
  try Migrations([Migration("a", sql: "SELECT 1")]).apply() // refused: missing argument for parameter #1 in call
  try Migrations(Migration("a", sql: "SELECT 1")).apply(db) // refused: cannot convert value of type 'Migration' to expected argument type '[Migration]'
  try Migrations([Migration("a") { db.createTable(Car.self) }]).apply(db) // refused: contextual type for closure argument list expects 1 argument, which cannot be implicitly ignored
  try Migrations([Migration("a") { db in db.createTable(Car.self) }]).apply(db) // refused: call can throw, but it is not marked with 'try' and the error is not handled
  try Migrations([Migration(1, sql: "SELECT 1")]).apply(db) // refused: cannot convert value of type 'Int' to expected argument type 'String'
  try Migrations([Migration("a", "SELECT 1")]).apply(db) // refused: missing argument label 'sql:' in call
  try Migrations(["a": "SELECT 1"]).apply(db) // refused: cannot convert value of type '[String : String]' to expected argument type '[Migration]'
  migrations.apply(db) // refused: call can throw but is not marked with 'try'
  try migrations.migrate(db) // refused: value of type 'Migrations' has no member 'migrate'
  try migrations.run(db) // refused: value of type 'Migrations' has no member 'run'
  try db.createTable(Car) // refused: expected member name or initializer call after type name
  try db.createTable("car") // refused among others: generic parameter 'Model' could not be inferred
  try db.createTable(NoValue.self) // refused: instance method 'createTable' requires that 'NoValue' conform to 'Sqlable'
  db.createTable(Car.self) // refused: call can throw but is not marked with 'try'
  try db.dropTable("car") // refused: value of type 'SqliteDatabase' has no member 'dropTable'
  try Schema(Car.self).plan(db, renamed: ["a", "b"]).apply(db) // refused: dictionary of type '[String : String]' cannot be used with array literal
  try Schema(Car.self, NoValue.self).verify(db) // refused: argument type 'NoValue' does not conform to expected type 'Sqlable'
  _ = Trigger("t", after: .updated, on: Car.self, run: Person.deleteAll()) // refused: type 'Trigger.Event' has no member 'updated'
  _ = Trigger("t", after: .insert, on: "car", run: Person.deleteAll()) // refused among others: generic parameter 'Model' could not be inferred
  _ = Trigger("t", after: .insert, on: Car.self, when: Car.name.new, run: Person.deleteAll()) // refused: struct 'Trigger' requires that 'String' conform to 'SqlBoolean'
}

// swift-format-ignore
func coded(db: SqliteDatabase, boat: Boat) throws {
  try boat.insert().run(db)
  _ = Boat.read().filter(Boat.name == "Fram").orderBy(Boat.length.desc, Boat.name)
  struct Raft: SqlCodable { var id: Int?; var name: String } // refused: type 'Raft' does not conform to protocol 'Sqlable'
  struct Raft: SqlCodable { var id: Int?; static let id = column("id", Int.self); static let tableLayout = [id] } // refused: type 'Raft' does not conform to protocol 'Sqlable'
  struct Raft: SqlCodable { var id: Int?; var wood: NoValue; static let id = column("id", Int.self); static let tableLayout = [id.column] } // refused among others: type 'Raft' does not conform to protocol 'Decodable'
  struct Raft: SqlCodable { var id: Int?; var line: Int; static let id = column("id", Int.self); static let tableLayout = [id.column, line.column] } // refused among others: cannot use instance member 'line' within property initializer; property initializers run before 'self' is available
  class Raft: SqlCodable { var id: Int? } // refused among others: non-final class 'Raft' cannot conform to the 'Sendable' protocol
  _ = Boat.read().filter(Boat.crew == 5) // refused among others: instance member 'crew' cannot be used on type 'Boat'; did you mean to use a value of this type instead?
  _ = Boat.read().filter(Boat.crew > 5 && Boat.name == "x") // refused among others: instance member 'crew' cannot be used on type 'Boat'; did you mean to use a value of this type instead?
  _ = Boat.read().orderBy(Boat.crew) // refused among others: instance method 'orderBy' requires that 'Int' conform to 'OrderingTerm'
  _ = Boat.select(Boat.name, Boat.crew) // refused among others: static method 'select' requires that 'Int' conform to 'Selectable'
  _ = Boat.read().filter(boat.name == "x") // refused: static member 'name' cannot be used on instance of type 'Boat'
  _ = Boat.read().filter(Boat.name == 5 && Boat.length > 3) // refused: '==' is unavailable: the value has a different type than the term on the left
  _ = try boat.insert.run(db) // refused: method 'insert' was used as a property; add () to call it
  _ = try Boat.insert(boat).run(db) // refused: static method 'insert' requires that 'Boat' conform to 'Sequence'
  _ = try Boat.insert(boat, boat).run(db) // refused: no exact matches in call to static method 'insert'
}
