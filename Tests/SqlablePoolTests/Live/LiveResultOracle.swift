import Foundation
import SqlableCodable
import SqlableCore
import SqlablePool
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Live results compared with fresh reads, under random commits.
struct LiveResultOracle {
  /// A table with a foreign key and a column that ignores case.
  struct Player: SqlCodable, Equatable {
    let id: Int
    let name: String
    let team: Int?
    let score: Double

    static let id = column("id", Int.self, PrimaryKey())
    static let name = column("name", String.self, Collate.nocase)
    static let team = column("team", Int?.self, ForeignKey<Member>(onDelete: .setNull))
    static let score = column("score", Double.self)
    static let tableLayout = [id.column, name.column, team.column, score.column]
  }

  /// A live result with its latest value and the rule that selects the relevant commits.
  private struct Followed: Sendable {
    let name: String
    let latest: Latest
    let isConcerned: @Sendable (Commit) -> Bool
    let isRight: @Sendable (SqliteDatabase) throws -> String

    final class Latest: Sendable {
      private let state = Mutex((text: "", count: 0))
      var text: String { state.withLock { $0.text } }
      var count: Int { state.withLock { $0.count } }

      func set(_ text: String) {
        state.withLock { state in
          state.text = text
          state.count += 1
        }
      }
    }
  }

  /// The changes of one transaction, as the pool reports them.
  private struct Commit: Sendable {
    var players: [(old: Player?, new: Player?)] = []
    var changesMembers = false

    var changesPlayers: Bool { !players.isEmpty }
    var changesEither: Bool { changesPlayers || changesMembers }

    /// True if a row matches before or after the change. Above 32 rows the pool keeps no rows to check.
    func changes(_ isOne: @Sendable (Player) -> Bool) -> Bool {
      players.count > 32 || players.contains { [$0.old, $0.new].contains { $0.map(isOne) ?? false } }
    }

    /// True if the commit inserted or deleted rows, or changed this value of one.
    func changes(_ value: @Sendable (Player) -> String) -> Bool {
      players.contains { change in
        guard let old = change.old, let new = change.new, old.id == new.id else { return true }
        return value(old) != value(new)
      }
    }
  }

  private static let names = ["ann", "Ann", "ANN", "bob", "Bob", "cid", "", "éa"]

  private static func change(_ db: SqliteDatabase, _ random: inout some RandomNumberGenerator) throws {
    let id = Int.random(in: 1...12, using: &random)
    let name = names.randomElement(using: &random) ?? ""
    switch Int.random(in: 0..<9, using: &random) {
    case 0...2:
      let team = Bool.random(using: &random) ? try Member.select(Member.id).first(db) : nil
      try Player(id: id, name: name, team: team, score: Double(Int.random(in: 0...4, using: &random)) / 2).save().run(
        db)
    case 3: try Player.update(Player.score.set(to: 1.5)).filter(Player.id == id).run(db)
    case 4: try Player.update(Player.name.set(to: name)).filter(Player.id < id).run(db)
    case 5: try Player.delete(Player.id == id).run(db)
    case 6: try Member(id: id % 4, name: name).save().run(db)
    // The deletion sets the players' team to NULL, which only the pre-update hook reports.
    case 7: try Member.delete(Member.id == id % 4).run(db)
    default:
      try db.execute(
        "UPDATE player SET id = id + 100 WHERE id = \(id) AND NOT EXISTS (SELECT 1 FROM player WHERE id = \(id + 100))")
    }
  }

  private struct Undo: Error {}

  @Test(.needsPreupdateHook, arguments: [1, 2, 3]) func everyResultFollowsItsTable(_ seed: UInt64) async throws {
    try await withMembers { pool in
      try await pool.transaction { db in try db.createTable(Player.self) }
      var loops: [Task<Void, any Error>] = []
      var followed: [Followed] = []
      func follow<Value: Sendable>(
        _ name: String, _ updates: LiveQuery<Value>, _ read: @escaping @Sendable (SqliteDatabase) throws -> Value,
        when isConcerned: @escaping @Sendable (Commit) -> Bool
      ) {
        let latest = Followed.Latest()
        followed.append(Followed(name: name, latest: latest, isConcerned: isConcerned) { "\(try read($0))" })
        loops.append(Task { for try await value in updates { latest.set("\(value)") } })
      }
      func rows(
        _ name: String, _ statement: Statement<Player, [Player]>, when isConcerned: @escaping @Sendable (Commit) -> Bool
      ) {
        follow(name, statement.updates(in: pool), { try statement.run($0) }, when: isConcerned)
        follow(
          name + ", changes", statement.updates(in: pool, onlyChanges: true), { try statement.run($0) },
          when: isConcerned)
      }
      rows("all", Player.read().orderBy(Player.id)) { $0.changesPlayers }
      rows("without case", Player.read().filter(Player.name == "ANN").orderBy(Player.id)) {
        $0.changes { $0.name.lowercased() == "ann" }
      }
      rows("numbers", Player.read().filter(Player.score >= 1 && Player.score < 2).orderBy(Player.id)) {
        $0.changes { $0.score >= 1 && $0.score < 2 }
      }
      rows("null", Player.read().filter(Player.team.isNull).orderBy(Player.id)) { $0.changes { $0.team == nil } }
      rows("like", Player.read().filter(Player.name.like("%n%")).orderBy(Player.id)) {
        $0.changes { $0.name.lowercased().contains("n") }
      }
      rows("first two", Player.read().filter(Player.id > 3).orderBy(Player.score, .desc).orderBy(Player.id).limit(2)) {
        $0.changes { $0.id > 3 }
      }
      let byName = Player.read().orderBy(Player.name).orderBy(Player.id)
      let byNameDown = Player.read().orderBy(Player.name, .desc)
      let byTeam = Player.read().orderBy(Player.team.asc.nullsLast, Player.score.desc, Player.id.asc)
      let byBytes = Player.read().filter(Player.score > 0).orderBy(Player.name.collate(.binary)).orderBy(Player.id)
      for offset in [0, 2] {
        rows("page by name, \(offset)", byName.limit(3, offset: offset)) { $0.changesPlayers }
        rows("page by name, down, \(offset)", byNameDown.limit(3, offset: offset)) { $0.changesPlayers }
        rows("page by team, \(offset)", byTeam.limit(2, offset: offset)) { $0.changesPlayers }
        rows("page by bytes, \(offset)", byBytes.limit(2, offset: offset)) { $0.changes { $0.score > 0 } }
      }
      rows("one number", Player.read().filter(Player.score == 1.5).orderBy(Player.id)) {
        $0.changes { $0.score == 1.5 }
      }
      rows("no decimals", Player.read().filter(Player.score == 1).orderBy(Player.id)) { $0.changes { $0.score == 1 } }
      rows("two values", Player.read().filter(Player.score == 1 && Player.name == "bob").orderBy(Player.id)) {
        $0.changes { $0.score == 1 && $0.name.lowercased() == "bob" }
      }
      rows("empty text", Player.read().filter(Player.name == "").orderBy(Player.id)) { $0.changes { $0.name.isEmpty } }
      let rich = Player.read().filter(Player.team.in(Member.select(Member.id).filter(Member.name == "ann")))
        .orderBy(Player.id)
      rows("subquery", rich) { $0.changesEither }
      let count = Player.count().filter(Player.score > 1)
      follow("count", count.updates(in: pool), { try count.run($0) }) { $0.changes { $0.score > 1 } }
      let one = Player.byId(5)
      follow("one", one.updates(in: pool), { try one.run($0) }) { $0.changes { $0.id == 5 } }
      let any = Player.exists().filter(Player.name == "bob")
      follow("exists", any.updates(in: pool), { try any.run($0) }) { $0.changes { $0.name.lowercased() == "bob" } }
      let pairs = Player.join(Member.self, on: Player.team == Member.id).orderBy(Player.id)
      follow("join", pairs.updates(in: pool), { try pairs.run($0) }) { $0.changesEither }
      let sums = Player.select(Player.team, Player.score.sum()).groupBy(Player.team).orderBy(Player.team)
      follow("sums", sums.updates(in: pool), { try sums.run($0) }) {
        $0.changes { "\($0.team ?? -1) \($0.score)" }
      }
      let teams = Member.read().orderBy(Member.id).including(Player.read().orderBy(Player.id), by: Player.team)
      follow("to many", teams.updates(in: pool), { try teams.run($0) }) { $0.changesEither }
      var players = pool.modelChanges(on: Player.self).commits.makeAsyncIterator()
      var members = pool.changes(on: Member.self).commits.makeAsyncIterator()
      var commits: [Commit] = []
      // From here on, each loop has registered its tables and filters.
      try await until { followed.allSatisfy { $0.latest.count > 0 } }
      let counts = followed.map(\.latest.count)
      var random = SeededGenerator(seed: seed)
      for step in 0..<150 {
        var stepRandom = SeededGenerator(seed: random.next())
        let isUndone = step % 10 == 9
        do {
          try await pool.transaction { [stepRandom] db in
            var random = stepRandom
            for _ in 0..<Int.random(in: 1...4, using: &random) { try LiveResultOracle.change(db, &random) }
            if isUndone { throw Undo() }
          }
        } catch is Undo {}
        _ = stepRandom.next()
        let right = try await pool.read { [followed] db in try followed.map { try $0.isRight(db) } }
        let end = ContinuousClock.now + .seconds(600)
        for (result, right) in zip(followed, right) {
          while result.latest.text != right, ContinuousClock.now < end { try await Task.sleep(for: .microseconds(200)) }
          #expect(result.latest.text == right, "\(result.name), step \(step)")
        }
        if ContinuousClock.now >= end { break }
      }
      // A last commit to both tables marks the end of the changes.
      try await pool.transaction { db in
        try Member(id: 999, name: "end").insert().run(db)
        try Player(id: 999, name: "", team: nil, score: 0).insert().run(db)
      }
      var isOver = false
      while !isOver, let commit = await players.next() {
        var next = Commit()
        for case .row(let row) in commit {
          next.players.append((try row.old(), try row.new()))
          if row.id == 999 { isOver = true }
        }
        commits.append(next)
      }
      isOver = false
      while !isOver, let commit = await members.next() {
        for case .row(let row) in commit where row.id == 999 { isOver = true }
        commits.append(Commit(changesMembers: true))
      }
      // A loop reads only for relevant commits. Three extra reads allow for commits while others subscribe.
      for (result, before) in zip(followed, counts) {
        let concerned = commits.count { result.isConcerned($0) }
        #expect(result.latest.count - before <= concerned + 3, "\(result.name) was read again without cause")
      }
      // Filters by row avoid most reads.
      let reads = Dictionary(uniqueKeysWithValues: followed.map { ($0.name, $0.latest.count) })
      #expect((reads["one"] ?? 0) < (reads["all"] ?? 0))
      for loop in loops { loop.cancel() }
    }
  }
}
