import Foundation
import Testing

@testable import CheckRules

struct InterfaceTests {
  private func graph(_ symbols: [(kind: String, path: String, text: String)], _ relations: [[String]] = []) -> Data {
    let symbols = symbols.map { symbol in
      [
        "kind": ["identifier": "swift." + symbol.kind], "identifier": ["precise": symbol.path],
        "pathComponents": symbol.path.split(separator: ".").map(String.init),
        "declarationFragments": [
          ["kind": "attribute", "spelling": "@discardableResult "], ["kind": "text", "spelling": symbol.text],
        ],
      ] as [String: Any]
    }
    let relationships = relations.map { ["kind": $0[0], "source": $0[1], "target": $0[2]] }
    return try! JSONSerialization.data(withJSONObject: ["symbols": symbols, "relationships": relationships])
  }

  private func breaks(_ old: String, _ new: Data) throws -> [String] {
    try PublicInterface(graphs: [new]).breaks(since: PublicInterface(lines: old))
  }

  @Test func removedAndChangedDeclarationsAreBreaks() throws {
    let old = """
      # comment
      Car\tstruct Car
      Car.name\tlet name: String
      Car.wheel()\tfunc wheel() -> Int
      Cart\tstruct Cart
      Cart.load\tlet load: Int
      """
    let new = graph([
      ("struct", "Car", "struct Car"), ("property", "Car.name", "let  name: String"),
      ("method", "Car.wheel()", "func wheel() -> Int64"), ("method", "Car.horn()", "func horn()"),
    ])
    let found = try breaks(old, new)
    #expect(found == ["changed\tCar.wheel()\tfunc wheel() -> Int", "removed\tCart"])
  }

  @Test func aStoredPropertyMayBecomeComputed() throws {
    let old = """
      Car\tstruct Car
      Car.name\tvar name: String
      Car.seats\tvar seats: Int
      """
    let new = graph([
      ("struct", "Car", "struct Car"), ("property", "Car.name", "var name: String { get set }"),
      ("property", "Car.seats", "var seats: Int { get }"),
    ])
    let found = try breaks(old, new)
    #expect(found == ["changed\tCar.seats\tvar seats: Int"])
  }

  @Test func anAliasKeepsTheOldNameWithItsMembers() throws {
    let old = """
      Choice\tstruct Choice
      Choice.when(_:)\tfunc when(_ value: Int) -> Choice
      Choice.end\tvar end: Choice
      choose()\tfunc choose() -> Choice
      """
    let new = graph([
      ("typealias", "Choice", "typealias Choice = CaseBuilder"), ("struct", "CaseBuilder", "struct CaseBuilder"),
      ("method", "CaseBuilder.when(_:)", "func when(_ value: Int) -> CaseBuilder"),
      ("func", "choose()", "func choose() -> CaseBuilder"),
    ])
    let found = try breaks(old, new)
    #expect(found == ["removed\tChoice.end"])
  }

  @Test func aMemberMayMoveToAProtocolOfItsType() throws {
    let old = """
      Handle\tclass Handle
      Handle.close()\tfunc close()
      Handle.open()\tfunc open()
      """
    let new = graph(
      [
        ("class", "Handle", "class Handle"), ("protocol", "Base", "protocol Base"),
        ("protocol", "Pool", "protocol Pool"), ("method", "Base.close()", "func close()"),
        ("protocol", "Other", "protocol Other"), ("method", "Other.open()", "func open()"),
      ], [["conformsTo", "Handle", "Pool"], ["conformsTo", "Pool", "Base"]])
    let found = try breaks(old, new)
    #expect(found == ["removed\tHandle.open()"])
  }

  @Test func addedCasesAndRequirementsWithoutDefaultAreBreaks() throws {
    let old = """
      Color\tenum Color
      Shape\tprotocol Shape
      """
    let new = graph(
      [
        ("enum", "Color", "enum Color"), ("enum.case", "Color.red", "case red"),
        ("protocol", "Shape", "protocol Shape"), ("property", "Shape.area", "var area: Int { get }"),
        ("property", "Shape.name", "var name: String { get }"), ("enum", "Size", "enum Size"),
        ("enum.case", "Size.big", "case big"),
      ],
      [
        ["requirementOf", "Shape.area", "Shape"], ["requirementOf", "Shape.name", "Shape"],
        ["defaultImplementationOf", "default", "Shape.name"],
      ])
    let found = try breaks(old, new)
    #expect(found == ["added\tColor.red\tcase red", "added\tShape.area\tvar area: Int { get }"])
  }

  @Test func aBreakMustBeListedAndAListedBreakMustBeOne() throws {
    try RepositoryTests().withRepository([
      Interface.file: "Car\tstruct Car\nCart\tstruct Cart\n", Interface.breaks: "removed\tTrain\n",
    ]) { repository in
      let interface = try PublicInterface(graphs: [graph([("struct", "Car", "struct Car")])])
      let report = try repository.compare(interface, isCheck: true)
      #expect(
        report.problems.map(\.text) == [
          "a breaking change is not listed: removed Cart. Describe it under Breaking in CHANGELOG.md, then run "
            + "`\(Interface.command)`",
          "not a breaking change any more: removed Train",
        ])
      let written = try repository.compare(interface, isCheck: false)
      #expect(written.problems.isEmpty)
      let list = try repository.text(Interface.breaks)
      #expect(list == "removed\tCart\n")
      let after = try repository.compare(interface, isCheck: true)
      #expect(after.problems.isEmpty)
    }
  }

  @Test func aReleaseKeepsTheInterfaceOfTheGraphs() throws {
    try RepositoryTests().withRepository([Interface.file: "Cart\tstruct Cart\n", Interface.breaks: ""]) { repository in
      let graphs = repository.root.appending(path: "graphs")
      try FileManager.default.createDirectory(at: graphs, withIntermediateDirectories: true)
      try graph([("struct", "Car", "struct Car")]).write(to: graphs.appending(path: "Sqlable.symbols.json"))
      let before = try repository.interface(graphs: graphs.path, isCheck: true)
      #expect(before.problems.count == 1)
      let kept = try repository.keepInterface(graphs: graphs.path)
      #expect(kept.declarations == 1)
      let lines = try repository.text(Interface.file)
      #expect(lines == "Car\tstruct Car\n")
      let after = try repository.interface(graphs: graphs.path, isCheck: true)
      #expect(after.problems.isEmpty)
    }
  }
}
