import Foundation
import SwiftSyntaxMacrosGenericTestSupport
import Testing

/// Tests of the expansion of whole types.
@Suite struct TypeExpansionTests {
  @Test func publicStructHasAPublicInitializerAndVisibleColumns() {
    expectExpansion(
      """
      @Sqlable("boats", naming: .verbatim, options: [.strict])
      public struct Boat {
        @PrimaryKey public private(set) var id: Int?
        @Embedded public let homePort: Place
        public var rigName = "sloop"
        var note: String?
        private var code: Int
        @Transient public var onSale: @Sendable () -> Void = {}
      }
      """,
      """
      public struct Boat {
        public private(set) var id: Int?
        public let homePort: Place
        public var rigName = "sloop"
        var note: String?
        private var code: Int
        public var onSale: @Sendable () -> Void = {}

        public init(
          id: Int? = nil, homePort: Place, rigName: String = "sloop", code: Int,
          onSale: @escaping @Sendable () -> Void = {}) {
          self.id = id
          self.homePort = homePort
          self.rigName = rigName
          self.code = code
          self.onSale = onSale
        }
      }

      extension Boat: Sqlable {
        public static let tableName = "boats"
        public static let id: TypedColumn<Boat, Int> = column("id", Int.self, PrimaryKey())
        public static let homePort = embedded("homePort", Place.self)
        public static let rigName = column("rigName", String.self)
        static let note = column("note", String?.self)
        private static let code = column("code", Int.self)
        public static let tableLayout: [Column] = \
      [id.column] + homePort.columns + [rigName.column, note.column, code.column]
        public static let tableOptions: [TableOption] = [.strict]

        public init(row: ReadRow) throws {
          id = try row.get(Boat.id)
          homePort = try row.get(Boat.homePort)
          rigName = try row.get(Boat.rigName)
          note = try row.get(Boat.note)
          code = try row.get(Boat.code)
        }

        public func write(to row: inout RowWriter) throws {
          row.set(Boat.id, id)
          row.set(Boat.homePort, homePort)
          row.set(Boat.rigName, rigName)
          row.set(Boat.note, note)
          row.set(Boat.code, code)
        }
      }
      """)
  }

  @Test func aFinalClassHasItsInitializersInItsBody() {
    expectExpansion(
      """
      @Sqlable final class Boat {
        let id: Int?
        let name: String
      }
      """,
      """
      final class Boat {
        let id: Int?
        let name: String

        init(row: ReadRow) throws {
          id = try row.get(Boat.id)
          name = try row.get(Boat.name)
        }

        init(id: Int? = nil, name: String) {
          self.id = id
          self.name = name
        }
      }

      extension Boat: Sqlable {
        static let id = column("id", Int?.self)
        static let name = column("name", String.self)
        static let tableLayout = [id.column, name.column]

        func write(to row: inout RowWriter) throws {
          row.set(Boat.id, id)
          row.set(Boat.name, name)
        }
      }
      """)
  }

  @Test func declarationsOfTheTypeAreKept() {
    expectExpansion(
      """
      @Sqlable public struct Boat {
        public var id: Int
        public static let id = column("number", Int.self)
        public static let tableLayout = [id.column]
        public init(id: Int) { self.id = id }
        public init(row: ReadRow) throws { id = try row.get(Boat.id) }
        public func write(to row: inout RowWriter) throws { row.set(Boat.id, id) }
      }
      """,
      """
      public struct Boat {
        public var id: Int
        public static let id = column("number", Int.self)
        public static let tableLayout = [id.column]
        public init(id: Int) { self.id = id }
        public init(row: ReadRow) throws { id = try row.get(Boat.id) }
        public func write(to row: inout RowWriter) throws { row.set(Boat.id, id) }
      }

      extension Boat: Sqlable {
      }
      """)
  }

  @Test func anEmbeddedStructHasFields() {
    expectExpansion(
      """
      @SqlEmbedded struct Place {
        @Column("name", Collate.nocase) var title: String
        var country: String?
      }
      """,
      """
      struct Place {
        var title: String
        var country: String?
      }

      extension Place: SqlEmbedded {
        static let title: Field<Place, String> = field("name", String.self, Collate.nocase)
        static let country = field("country", String?.self)
        static let fields = [title.column, country.column]

        init(row: EmbeddedRow) throws {
          title = try row.get(Place.title)
          country = try row.get(Place.country)
        }

        func write(to row: inout EmbeddedWriter) throws {
          row.set(Place.title, title)
          row.set(Place.country, country)
        }
      }
      """)
  }

  @Test func nestedTypeHasItsFullNameAndSeesEnclosingTypes() {
    expectExpansion(
      """
      enum Shop {
        @Sqlable fileprivate struct Index {
          var a: Shelf
          var b: Int
        }
      }
      """,
      """
      enum Shop {
        fileprivate struct Index {
          var a: Shelf
          var b: Int

          static let a = column("a", Shelf.self)

          static let b = column("b", Int.self)
        }
      }

      extension Shop.Index: Sqlable {
        static let tableLayout = [a.column, b.column]

        init(row: ReadRow) throws {
          a = try row.get(Shop.Index.a)
          b = try row.get(Shop.Index.b)
        }

        func write(to row: inout RowWriter) throws {
          row.set(Shop.Index.a, a)
          row.set(Shop.Index.b, b)
        }
      }
      """)
  }

  @Test func longListsTakeSeveralLines() {
    let names = (1...12).map { "aLongProperty\($0)" }
    expectExpansion(
      "@Sqlable struct Model {\n  var \(names.joined(separator: ", ")): Int\n}",
      """
      struct Model {
        var \(names.joined(separator: ", ")): Int
      }

      extension Model: Sqlable {
      \(names.enumerated().map { "  static let \($1) = column(\"a_long_property\($0 + 1)\", Int.self)" }
        .joined(separator: "\n"))
        static let tableLayout = [
          aLongProperty1.column, aLongProperty2.column, aLongProperty3.column, aLongProperty4.column, \
      aLongProperty5.column,
          aLongProperty6.column, aLongProperty7.column, aLongProperty8.column, aLongProperty9.column,
          aLongProperty10.column, aLongProperty11.column, aLongProperty12.column,
        ]

        init(row: ReadRow) throws {
      \(names.map { "    \($0) = try row.get(Model.\($0))" }.joined(separator: "\n"))
        }

        func write(to row: inout RowWriter) throws {
      \(names.map { "    row.set(Model.\($0), \($0))" }.joined(separator: "\n"))
        }
      }
      """)
  }

  @Test func indexesWithOneNameAreOneIndex() {
    expectExpansion(
      """
      @Sqlable struct Car {
        @Index var id: Int
        @Index(unique: true, name: "x") @Index(name: "y") var maker: String
        @Index(name: "y") var color: String
        @Index(unique: true, name: "x", descending: true) var year: Int

        init(row: ReadRow) throws {}
        func write(to row: inout RowWriter) throws {}
      }
      """,
      """
      struct Car {
        var id: Int
        var maker: String
        var color: String
        var year: Int

        init(row: ReadRow) throws {}
        func write(to row: inout RowWriter) throws {}
      }

      extension Car: Sqlable {
        static let id = column("id", Int.self)
        static let maker = column("maker", String.self)
        static let color = column("color", String.self)
        static let year = column("year", Int.self)
        static let tableLayout = [id.column, maker.column, color.column, year.column]
        static let tableIndexes = [
          Index(id), Index(maker, year.desc, unique: true, name: "x"), Index(maker, color, name: "y"),
        ]
      }
      """)
  }

  @Test func guideShowsTheExpansion() throws {
    let guide = URL(filePath: #filePath).appending(path: "../../../../../Docs/Macros.md").standardizedFileURL
    let blocks = try String(contentsOf: guide, encoding: .utf8).components(separatedBy: "```")
      .filter { $0.hasPrefix("swift\n") }.map { String($0.dropFirst("swift\n".count)) }
    let model = try #require(blocks.first { $0.hasPrefix("@Sqlable struct Yacht") })
    let written = try #require(blocks.first { $0.hasPrefix("extension Yacht") })
    let plain = model.split(separator: "\n").map { line -> String in
      guard let start = line.range(of: "var ") ?? line.range(of: "struct ") else { return String(line) }
      return (line.hasPrefix("  ") ? "  " : "") + line[start.lowerBound...]
    }
    expectExpansion(model, plain.joined(separator: "\n") + "\n\n" + written)
  }
}
