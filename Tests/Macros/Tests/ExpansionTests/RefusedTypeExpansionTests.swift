import SwiftSyntaxMacrosGenericTestSupport
import Testing

/// Tests of the expansion of types that the macros refuse.
@Suite struct RefusedTypeExpansionTests {
  @Test func aClassThatIsNotFinalHasAnOutline() {
    expectExpansion(
      """
      @Sqlable class Boat {
        let id: Int?
      }
      """,
      """
      class Boat {
        let id: Int?

        required init(row: ReadRow) throws {
          fatalError()
        }

        init(id: Int? = nil) {
          fatalError()
        }
      }

      extension Boat: Sqlable {
        static let id = column("id", Int?.self)
        static let tableLayout: [Column] = []

        func write(to row: inout RowWriter) throws {
        }
      }
      """,
      [
        DiagnosticSpec(
          message: "@Sqlable needs a final class: init(row:) must create the same type", line: 1, column: 10,
          fixIts: [FixItSpec(message: "add final")])
      ])
  }

  @Test func anotherKindOfTypeHasNoCode() {
    expectExpansion(
      """
      @Sqlable actor Boat {
        let id: Int
      }
      """,
      """
      actor Boat {
        let id: Int
      }
      """,
      [
        DiagnosticSpec(message: "@Sqlable needs a struct or a final class, not an actor", line: 1, column: 10)
      ])
  }

  @Test func ofTwoMacrosTheFirstWritesTheCode() {
    expectExpansion(
      """
      @Sqlable @Sqlable struct Boat {
        let id: Int
      }
      """,
      """
      struct Boat {
        let id: Int
      }

      extension Boat: Sqlable {
        static let id = column("id", Int.self)
        static let tableLayout = [id.column]

        init(row: ReadRow) throws {
          id = try row.get(Boat.id)
        }

        func write(to row: inout RowWriter) throws {
          row.set(Boat.id, id)
        }
      }
      """,
      [DiagnosticSpec(message: "the type has @Sqlable twice", line: 1, column: 10)])
  }

  @Test func anAttributeOutsideAModelIsReported() {
    expectExpansion(
      """
      struct Boat {
        @Unique var id: Int?
        @Column("x") func run() {}
      }
      """,
      """
      struct Boat {
        var id: Int?
        func run() {}
      }
      """,
      [
        DiagnosticSpec(
          message: "@Unique has no effect here: the type has neither @Sqlable nor @SqlEmbedded", line: 2, column: 3),
        DiagnosticSpec(message: "@Column needs a property", line: 3, column: 3),
      ])
  }

  @Test func afterAMistakeTheConformanceIsAnOutline() {
    expectExpansion(
      """
      @Sqlable("boats", options: [.strict]) public struct Boat {
        @PrimaryKey(autoincrement: true) public var id: Int?
        @Index @Column("hull", as: .text, Unique()) var number: String
        @Embedded var home: Place
        var any: Any
        var tableName: String
      }
      """,
      """
      public struct Boat {
        public var id: Int?
        var number: String
        var home: Place
        var any: Any
        var tableName: String

        public init(id: Int? = nil, number: String, home: Place, any: Any, tableName: String) {
          fatalError()
        }
      }

      extension Boat: Sqlable {
        public static let tableName = "boats"
        public static let id = column("id", Int.self)
        static let number = column("hull", String.self)
        static let home = embedded("home", Place.self)
        static let any = Column("any", .nullable(.blob))
        public static let tableLayout: [Column] = []

        public init(row: ReadRow) throws {
          fatalError()
        }

        public func write(to row: inout RowWriter) throws {
        }
      }
      """,
      [
        DiagnosticSpec(
          message: "a column can't store values of different types; give any a concrete type, or mark any @Transient",
          line: 5, column: 12),
        DiagnosticSpec(
          message: "a model already has a member tableName; rename the property", line: 6, column: 7,
          fixIts: [FixItSpec(message: "rename the property, not the column")]),
      ])
  }
}
