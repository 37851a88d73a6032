import Sqlable
import Testing

@testable import SqlableTestSupport

/// The examples of Docs/Tasks.md.
@Suite struct TasksGuide {
  @Test(.needsPreupdateHook) func eachTypeIsNamedInFull() async throws {
    let pool = try SqlitePool.inMemory()
    try await pool.transaction { db in
      try db.createTables(Person.self, Bicycle.self, Car.self)
      let owner = try Person(id: nil, name: "Anna").insert().run(db)
      try Bicycle(name: "Norco", color: "red", ownerId: owner).insert().run(db)
      try Car(name: "Zoe", price: 20_000, isElectric: true).insert().run(db)
    }
    let reds: Statement<Bicycle, [Bicycle]> = Bicycle.read().filter(Bicycle.color == "red")
    let bike: Statement<Bicycle, Bicycle?> = Bicycle.byId(1)
    let count: Statement<Bicycle, Int> = Bicycle.count()
    let isThere: Statement<Bicycle, Bool> = Bicycle.exists(Bicycle.name == "Norco")
    let prices: Select<(String, Double)> = Car.select(Car.name, Car.price)
    let owned: Select<(Bicycle, Person)> = Bicycle.join(Person.self, on: Bicycle.ownerId == Person.id)
    let owners: AssociatedQuery<Person, [Bicycle]> = Person.read().including(Person.bikes)
    let live: LiveQuery<[Bicycle]> = reds.updates(in: pool)
    let changes: Changes<RowChange> = pool.changes(on: Bicycle.self)

    #expect(try await reds.run(pool).map(\.name) == ["Norco"])
    #expect(try await bike.run(pool)?.color == "red")
    #expect(try await count.run(pool) == 1)
    #expect(try await isThere.run(pool))
    #expect(try await prices.run(pool).map(\.1) == [20_000])
    #expect(try await owned.run(pool).map(\.1.name) == ["Anna"])
    #expect(try await owners.run(pool).map(\.1.count) == [1])
    for try await bikes in live {
      #expect(bikes.count == 1)
      break
    }
    try await Bicycle.delete(Bicycle.id == 1).run(pool)
    for await change in changes {
      guard case .row(let row) = change else { continue }
      #expect(row.change == .delete)
      #expect(row.id == 1)
      break
    }
    try await pool.close()
  }

  @Test func eachNameOfATaskStandsInItsAnswer() throws {
    let example = try GuidesTests.blocks(of: "swift", in: "Docs/Tasks.md").flatMap(\.rawLines).joined()
    for line in try Repository.text(of: "Docs/Tasks.md").components(separatedBy: "\n") where line.hasPrefix("| ") {
      let cells = line.split(separator: "|").map(String.init)
      try #require(cells.count == 3, "\(line)")
      let answers = try cells[2].matches(of: /\]\(([A-Za-z]+\.md)/).map { try Repository.text(of: "Docs/\($0.1)") }
      for name in cells[1].matches(of: /`([^`]+)`/).map({ String($0.1) }) {
        let isAnswered = answers.contains { $0.contains(name) }
        #expect(isAnswered || example.contains(name), "no answer has \(name): \(line)")
      }
    }
  }

  @Test(arguments: GuidesTests.guides) func everyAnchorLeadsToAHeading(_ guide: String) throws {
    let directory = Repository.root.appending(path: guide).deletingLastPathComponent()
    for link in try Repository.text(of: guide).matches(of: /\]\(([^)#]*)#([^)]+)\)/) {
      guard !link.1.hasPrefix("http") else { continue }
      let file = link.1.isEmpty ? Repository.root.appending(path: guide) : directory.appending(path: String(link.1))
      let anchors = try GuidesTests.anchors(of: String(contentsOf: file, encoding: .utf8))
      #expect(anchors.contains(String(link.2)), "\(guide) links to \(link.1)#\(link.2)")
    }
  }
}

extension GuidesTests {
  /// The anchors that GitHub gives to the headings of a guide.
  static func anchors(of text: String) -> Set<String> {
    var isCode = false
    var anchors: Set<String> = []
    for line in text.components(separatedBy: "\n") {
      if line.hasPrefix("```") { isCode.toggle() }
      guard !isCode, let heading = line.wholeMatch(of: /#+ (.*)/) else { continue }
      let kept = heading.1.lowercased().filter { $0.isLetter || $0.isNumber || "-_ ".contains($0) }
      anchors.insert(kept.replacingOccurrences(of: " ", with: "-"))
    }
    return anchors
  }
}
