import Foundation
import Sqlable
import Testing

/// The client in Docs/Examples/Clients writes the same bytes as the library.
@Suite struct StatementClientGuide {
  private static let client = GuidesTests.root.appending(path: "Docs/Examples/Clients/statements.py").path
  private static let hasPython = Administrator.run("python3", "--version")

  /// What `examples()` of the client has, in its order.
  private func statements() throws -> [Data] {
    let owner: SqlExpression = Bicycle.ownerId == Person.id
    let red = ["red", "é\u{0}\"\\\n\u{1F600}"]
    let prices: [Double] = [
      0.1, 2, 1e21, 1e-7, 123456.789, .leastNonzeroMagnitude, .greatestFiniteMagnitude, .infinity, -.infinity, -0.0,
    ]
    return try [
      Bicycle.read().filter(Bicycle.color == "red").orderBy(Bicycle.id, .desc).limit(10).json(),
      Bicycle.read().filter(Bicycle.id.between(3, and: 7) || Bicycle.color.in(red)).json(),
      Bicycle.read().filter(Bicycle.ownerId.isNull && !Bicycle.name.like("50!%%", escape: "!")).json(),
      Bicycle.read().filter(Bicycle.id.in([-1, 9_007_199_254_740_991, .max, .min])).first().json(),
      Seat.count().filter(.any(prices.map { Seat.price == $0 })).json(),
      Bicycle.join(Person.self, on: owner).json(),
      Person.leftJoin(Bicycle.self, on: owner).select(Person.name, Bicycle.id.count()).groupBy(Person.id)
        .having(countAll() > 1).json(),
      Person.read().filter(exists(Bicycle.read().filter(owner))).json(),
      Car.select(Car.name.expression, (Car.price * 2.5).expression).distinct()
        .union(Car.select(Car.name.lowercase().expression, TypedExpression(Data([1, 2, 255])).expression)).json(),
      Bicycle(id: 3, name: "Norco", color: "red").insert().json(),
      Bicycle.updateAll(Bicycle.ownerId.set(to: nil)).json(),
      ReturningStatement(Bicycle.insert([Bicycle(name: "Trek", color: "blue")]).returning()).json(),
      Bicycle.update(Bicycle.color.set(to: "blue"), Bicycle.id.set(to: Bicycle.id + 1)).filter(Bicycle.color == "red")
        .limit(2, offset: 1).json(),
      Bicycle.delete(Bicycle.id > 3).returning(Bicycle.id).json(), Bicycle.deleteAll().json(),
    ]
  }

  @Test(.enabled(if: hasPython, "there is no Python here")) func theClientWritesWhatTheLibraryWrites() throws {
    let process = try ChildProcess("python3", [StatementClientGuide.client], errors: .dropped)
    let output = String(decoding: try process.output.readToEnd() ?? Data(), as: UTF8.self)
    #expect(process.end())
    let lines = output.split(separator: "\n").map { $0.split(separator: "\t") }
    let statements = try statements()
    try #require(lines.count == statements.count && lines.allSatisfy { $0.count == 2 })
    for (line, statement) in zip(lines, statements) {
      #expect(line[0] == String(decoding: statement, as: UTF8.self))
      #expect(try CorpusStatement(json: Data(line[0].utf8)).json == statement)
      #expect(line[1].count == 64)
    }
  }
}
