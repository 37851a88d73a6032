import SqlableCore
import SqlableQueries
import SqlableSchema

// Tests/Record has this file and what it uses in one target.
#if canImport(SqlableTestSupport) && !RECORD
@testable import SqlableTestSupport
#endif

/// A part of a declaration: a column, constraints of the table, indexes.
protocol DeclarationPart: Sendable {
  static var column: Column { get }
  static var constraints: [TableConstraint] { get }
  static var indexes: [Index] { get }
}

extension DeclarationPart {
  static var constraints: [TableConstraint] { [] }
  static var indexes: [Index] { [] }
}

/// A table that combines arbitrary parts.
private enum WholeTable<Key: DeclarationPart, First: DeclarationPart, Second: DeclarationPart>: TableDeclaration {
  static var name: String { "whole" }
  static var columns: [Column] { [Key.column, First.column, Second.column, plain, number] }
  static var constraints: [TableConstraint] { Key.constraints + First.constraints + Second.constraints }
  static var indexes: [Index] { Key.indexes + First.indexes + Second.indexes }
}

private let plain = Column("plain", .nullable(.text))
private let number = Column("number", .nullable(.integer))

enum CodedParent: TableDeclaration {
  static let name = "parent"
  static let columns = [Column("id", .integer, PrimaryKey()), Column("code", .text, Unique())]
}

/// Declarations of a table that combine a key and two columns with their constraints and indexes.
enum Declarations {
  private static let keys: [any DeclarationPart.Type] = [
    Keys.Rowid.self, Keys.Counted.self, Keys.Replacing.self, Keys.Text.self, Keys.Downwards.self, Keys.Composite.self,
    Keys.None.self,
  ]
  private static let firsts: [any DeclarationPart.Type] = [
    Firsts.Bare.self, Firsts.Policies.self, Firsts.Checks.self, Firsts.Reference.self, Firsts.Computed.self,
    Firsts.Indexed.self, Firsts.Typed.self, Firsts.Partial.self,
  ]
  private static let seconds: [any DeclarationPart.Type] = [
    Seconds.Bare.self, Seconds.Uniques.self, Seconds.Named.self, Seconds.References.self,
  ]

  static func random(_ generator: inout SeededGenerator) -> any Sqlable.Type {
    let (key, first, second) = (generator.pick(keys), generator.pick(firsts), generator.pick(seconds))
    return model(key, first, second)
  }

  private static func model<K: DeclarationPart, F: DeclarationPart, S: DeclarationPart>(
    _: K.Type, _: F.Type, _: S.Type
  ) -> any Sqlable.Type {
    Entry<WholeTable<K, F, S>>.self
  }
}

private enum Keys {
  enum Rowid: DeclarationPart { static let column = Column("id", .integer, PrimaryKey()) }
  enum Counted: DeclarationPart {
    static let column = Column("id", .integer, PrimaryKey(autoincrement: true, name: "k"))
  }
  enum Replacing: DeclarationPart {
    static let column = Column("id", .integer, PrimaryKey(autoincrement: true, onConflict: .replace))
  }
  enum Text: DeclarationPart {
    static let column = Column("key", .text, PrimaryKey(onConflict: .ignore), Collate.nocase)
  }
  enum Downwards: DeclarationPart {
    static let column = Column("id", .integer, PrimaryKey(descending: true, onConflict: .ignore))
  }
  enum Composite: DeclarationPart {
    static let column = Column("key", .text)
    static let constraints: [TableConstraint] = [
      PrimaryKeys(column, number.desc, onConflict: .replace, name: "the \"key\"")
    ]
  }
  enum None: DeclarationPart { static let column = Column("key", .nullable(.real)) }
}

private enum Firsts {
  enum Bare: DeclarationPart { static let column = Column("first", .integer) }
  enum Policies: DeclarationPart {
    static let column = Column(
      "first", .integer, NotNull(onConflict: .ignore, name: "there"), Unique(onConflict: .ignore, name: "one"),
      Default(-7))
  }
  enum Checks: DeclarationPart {
    static let column = Column("first", .integer, Check("first <> 0", name: "not 0"), Check("first <> 100"))
    static let constraints: [TableConstraint] = [
      Check("first <> number OR plain = 'a''b'", name: "x'y"), Check("first % 3 <> 2"),
    ]
  }
  enum Reference: DeclarationPart {
    static let column = Column(
      "first", .nullable(.integer), ForeignKey<Entry<CodedParent>>(onDelete: .setNull, deferred: true, name: "up"))
  }
  enum Computed: DeclarationPart {
    static let column = Column("first", .nullable(.integer), Generated("number * 2", stored: true))
  }
  enum Indexed: DeclarationPart {
    static let column = Column("first", .integer)
    static let indexes = [Index(column), Index(plain.desc, column, unique: true, name: "an \"index\"")]
  }
}

extension Firsts {
  enum Typed: DeclarationPart {
    static var column: Column {
      Column(
        "first", .integer, Check(number != 7 || plain.in(["a'b", "?", "c"]), name: "typed"), Generated(number + 0.1))
    }
    static let constraints: [TableConstraint] = [
      Check(number.isNull || number.between(-3, and: 3_000_000_000)), Check(plain.like("%\"?'%"), name: "like"),
    ]
  }
  enum Partial: DeclarationPart {
    static let column = Column("first", .integer)
    static let indexes = [
      Index(column, plain.lowercase().desc, where: number == -1), Index(number, unique: true, where: plain.isNull),
      Index((number * 0.1).asc, plain.collate(.nocase).desc, name: "terms"),
      Index(IndexColumn(sql: "first + 1"), where: "plain <> '?'"),
    ]
  }
}

private enum Seconds {
  enum Bare: DeclarationPart { static let column = Column("second", .text) }
  enum Uniques: DeclarationPart {
    static let column = Column("second", .text, Collate.rtrim)
    static let constraints: [TableConstraint] = [
      Unique(column, plain.desc, onConflict: .replace, name: "both"), Unique(number, plain),
    ]
  }
  enum Named: DeclarationPart {
    static let column = Column("second", .text, NotNull(name: "a"), Unique(name: "b"), Check("second <> ''", name: "d"))
  }
  enum References: DeclarationPart {
    static let column = Column("second", .nullable(.text))
    static let constraints: [TableConstraint] = [
      ForeignKeys([column], to: Entry<CodedParent>.self, [Column("code", .text)], onUpdate: .cascade, name: "code")
    ]
  }
}
