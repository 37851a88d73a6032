import Testing

/// Tests of the message for each mistake in a type.
@Suite struct TypeMistakeTests {
  @Test func onlyAStructOrFinalClassIsAModel() {
    expectMistake(
      "@Sqlable class Boat { let id: Int? }",
      "@Sqlable needs a final class: init(row:) must create the same type", at: "class",
      ["add final": "@Sqlable final class Boat { let id: Int? }"])
    expectMistake(
      "@Sqlable enum Rig: String, Codable { case sloop }",
      "@Sqlable needs a struct or a final class, not an enum; conform an enum with raw values to SqlValue", at: "enum",
      ["conform to SqlValue": "enum Rig: String, Codable, SqlValue { case sloop }"])
    expectMistake(
      "@Sqlable enum Rig { case sloop }",
      "@Sqlable needs a struct or a final class, not an enum; conform an enum with raw values to SqlValue", at: "enum")
    expectMistake(
      "@Sqlable actor Boat { let id: Int }", "@Sqlable needs a struct or a final class, not an actor", at: "actor")
    expectMistake(
      "@Sqlable protocol Boat { var id: Int { get } }", "@Sqlable needs a struct or a final class, not a protocol",
      at: "protocol")
    expectMistake(
      "@SqlEmbedded final class Place { let name: String }", "@SqlEmbedded needs a struct, not a class", at: "class")
  }

  @Test func aGenericTypeHasNoColumns() {
    expectMistake(
      "@Sqlable struct Box<Value> { var value: Value }",
      """
      @Sqlable can't write the columns of a generic type; \
      write the conformance by hand, with static computed properties
      """, at: "<Value>")
  }

  @Test func anExtensionSeesTheType() {
    expectMistake(
      "enum Shop {\n  @Sqlable private struct Boat { var id: Int }\n}",
      "the macro's extension can't access the private type Boat; make Boat fileprivate", at: "private",
      ["make it fileprivate": "enum Shop {\n  @Sqlable fileprivate struct Boat { var id: Int }\n}"])
    expectMistake(
      "enum Harbour { private enum Shop { @Sqlable struct Boat { var id: Int } } }",
      "the macro's extension can't access Boat in the private type Shop; make Shop fileprivate", at: "Boat")
  }

  @Test func aTableHasOneKey() {
    expectMistake(
      """
      @Sqlable struct Berth {
        @PrimaryKey var deck: Int
        @PrimaryKey(descending: true) var number: Int
        var guest: String?
      }
      """, "a table can't have two primary keys; declare a key of several columns in tableConstraints",
      at: "@PrimaryKey(descending: true)",
      [
        "declare a compound key": """
        @Sqlable struct Berth {
          var deck: Int
          var number: Int
          var guest: String?
          static let tableConstraints = [PrimaryKeys(deck, number.desc)]
        }
        """
      ])
    expectMistake(
      """
      @Sqlable struct Berth {
        @PrimaryKey var deck: Int
        @PrimaryKey var number: Int
        static let tableConstraints: [TableConstraint] = []
      }
      """,
      "a table can't have two primary keys; replace the attributes by PrimaryKeys(deck, number) in tableConstraints",
      at: "@PrimaryKey")
  }

  @Test func twoColumnsHaveTwoNames() {
    expectMistake(
      "@Sqlable struct Boat {\n  var ownerID: Int\n  var ownerId: Int\n}",
      "ownerId and ownerID have the same column owner_id", at: "ownerId: Int",
      [
        "give the column a name":
          "@Sqlable struct Boat {\n  var ownerID: Int\n  @Column(\"<#name#>\") var ownerId: Int\n}"
      ])
    expectMistake(
      "@Sqlable struct Boat {\n  var id: Int\n  @Column(\"ID\") var number: Int\n}",
      "number and id have the same column ID", at: "number: Int")
  }

  @Test func macroArgumentsMustBeLiterals() {
    expectMistake(
      "@Sqlable(naming: style) struct Boat { var id: Int }",
      "naming must be the literal .snakeCase or .verbatim", at: "style")
    expectMistake(
      "@Sqlable(\"\") struct Boat { var id: Int }",
      "the name of a table can't be empty or contain a NUL byte", at: "\"\"")
    expectMistake(
      "@Sqlable(\"x\") struct Boat { var id: Int; static let tableName = \"y\" }",
      "Boat already declares tableName; remove one of the two", at: "\"x\"")
    expectMistake(
      "@Sqlable(options: [.strict]) struct Boat { var id: Int; static let tableOptions: [TableOption] = [] }",
      "Boat already declares tableOptions; remove one of the two", at: "options: [.strict]")
    expectMistake("@Sqlable @Sqlable struct Boat { var id: Int }", "the type has @Sqlable twice", at: "@Sqlable")
  }

  @Test func manualDeclarationsAreAsVisibleAsTheType() {
    expectMistake(
      "@Sqlable public struct Boat {\n  var id: Int\n  /// By hand.\n  static let tableIndexes = [Index(id)]\n}",
      "tableIndexes must be public like Boat", at: "tableIndexes = [Index(id)]",
      [
        "make it public": """
        @Sqlable public struct Boat {
          var id: Int
          /// By hand.
          public static let tableIndexes = [Index(id)]
        }
        """
      ])
  }

  @Test func aTableHasOneFullTextIndex() {
    expectMistake(
      """
      @Sqlable struct Note {
        @FullText(tokenizer: .porter) var title: String
        @FullText(prefixes: [2]) var text: String
      }
      """,
      "only one @FullText of a table can have arguments, and title already has arguments; remove the arguments here",
      at: "@FullText(prefixes: [2])",
      [
        "remove the arguments": """
        @Sqlable struct Note {
          @FullText(tokenizer: .porter) var title: String
          @FullText var text: String
        }
        """
      ])
  }

  @Test func aModelHasColumns() {
    expectMistake(
      "@Sqlable struct Boat { @Transient var id = 5 }", "Boat has no stored properties, and so no columns", at: "Boat")
  }
}
