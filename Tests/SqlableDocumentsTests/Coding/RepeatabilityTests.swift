import Foundation
import SqlableCore
import SqlableDocuments
import SqlableQueries
import Testing

@testable import SqlableTestSupport

/// Statements that `checkIsRepeatable` refuses or accepts.
@Suite struct RepeatabilityTests {
  private func message(_ work: some Runnable, functions: Set<String> = []) -> String? {
    sqlError { try AnyStatement(work).checkIsRepeatable(functions: functions) }?.message
  }

  @Test func randomValuesAreRefusedEverywhere() {
    let random = randomInteger()
    let works: [any Runnable] = [
      Car.updateAll(Car.price.set(to: random.cast(to: Double.self))),
      Bicycle.delete(Bicycle.id == random % 2),
      Bicycle.delete().orderBy(random).limit(1),
      Bicycle.delete(Bicycle.ownerId.in(Person.select(Person.id).filter(Person.id > random))),
      Bicycle.delete(exists(Person.read().filter(Person.id == Bicycle.ownerId && Person.id > random))),
      Bicycle.insert(Bicycle.name, from: Person.select(Person.name).filter(Person.id > random).orderBy(Person.id)),
      Bicycle(name: "a", color: "b").insert()
        .onConflict(Bicycle.name, Bicycle.color, set: Bicycle.ownerId.set(to: random)),
      Bicycle.deleteAll().returning(random),
      Car.select(Car.name.max()).groupBy(random),
      Car.select(Car.id).joining(Person.self, on: Person.id == random),
    ]
    for work in works {
      #expect(message(work) == "random() is not repeatable: its value changes with each call", "\(work.sql)")
    }
  }

  @Test func registeredFunctionsAreRefusedUnlessListed() {
    let shout = ScalarFunction("shout") { (text: String) in text + "!" }
    let update = Person.updateAll(Person.name.set(to: shout(Person.name)))
    #expect(
      message(update)
        == "function shout can't be checked for repeatability; add its name to `functions` if equal arguments always "
        + "give equal values"
    )
    #expect(message(update, functions: ["whisper"]) != nil)
    #expect(message(update, functions: ["whisper", "SHOUT"]) == nil)
  }

  @Test func aLimitedChangeNeedsAnOrderByAKey() {
    let message = "the limit on table bicycle is not repeatable; order the rows by a key"
    for delete in [
      Bicycle.delete().limit(2), Bicycle.delete().orderBy(Bicycle.name).limit(2),
      Bicycle.delete(Bicycle.id > 3).limit(2), Bicycle.delete(Bicycle.id == Bicycle.ownerId).limit(2),
    ] {
      #expect(self.message(delete) == message, "\(delete.sql)")
    }
    for delete in [
      Bicycle.delete().orderBy(Bicycle.id, .desc).limit(2),
      Bicycle.delete().orderBy(Bicycle.name).orderBy(Bicycle.id).limit(2), Bicycle.delete(Bicycle.id == 3).limit(1),
      Bicycle.delete(Bicycle.color == "red"),
    ] {
      #expect(self.message(delete) == nil, "\(delete.sql)")
    }
    let half = Seat.update(Seat.price.set(to: 1)).orderBy(Seat.row).limit(1)
    #expect(self.message(half) == message.replacingOccurrences(of: "bicycle", with: "seat"))
    #expect(self.message(half.orderBy(Seat.letter)) == nil)
    #expect(self.message(half.filter(Seat.letter == "A")) == nil)
  }

  @Test func anInsertFromAQueryNeedsADeterminedOrder() {
    let message =
      "the order of the inserted rows is not repeatable; order the query by the keys of its tables, or "
      + "by all selected terms"
    let names = Car.select(Car.name)
    let pairs = Car.select(Car.name, Bicycle.id.typed(as: Int?.self)).joining(Bicycle.self, on: Bicycle.id == Car.id)
    for query in [
      names, names.orderBy(Car.price), names.distinct(), names.distinct().orderBy(Car.id),
      names.union(names.filter(Car.price > 3)), names.groupBy(Car.name),
    ] {
      #expect(self.message(Worker.insert(Worker.name, from: query)) == message, "\(query.sql)")
    }
    #expect(self.message(Worker.insert(Worker.name, Worker.bossId, from: pairs.orderBy(Car.id))) == message)
    for query in [
      names.orderBy(Car.id), names.orderBy(Car.name), names.distinct().orderBy(Car.name),
      names.union(names.filter(Car.price > 3)).orderBy(Car.name), names.groupBy(Car.name).orderBy(Car.name),
      names.filter(Car.id == 7), Car.select(Car.name.max().ifNull("")), values(["a", "b"]),
    ] {
      #expect(self.message(Worker.insert(Worker.name, from: query)) == nil, "\(query.sql)")
    }
    #expect(
      self.message(Worker.insert(Worker.name, Worker.bossId, from: pairs.orderBy(Car.id).orderBy(Bicycle.id))) == nil)
    #expect(self.message(Bicycle.insert(from: Bicycle.read().orderBy(Bicycle.id)).in("archive")) == nil)
    #expect(self.message(Bicycle.insert(from: Bicycle.read()).in("archive")) == message)
  }

  @Test func aScalarSubqueryNeedsADeterminedRow() {
    func update(_ query: Select<String>) -> Statement<Worker, Int> {
      Worker.updateAll(Worker.name.set(to: scalar(query).ifNull("")))
    }
    let names = Car.select(Car.name)
    for query in [names, names.limit(1), names.orderBy(Car.price).limit(1), names.filter(Car.id == Car.id)] {
      #expect(
        message(update(query))?.hasSuffix("order the query by the keys of its tables, or by all selected terms")
          == true,
        "\(query.sql)")
    }
    for query in [
      names.filter(Car.id == Worker.id), names.orderBy(Car.id, .desc), Car.select(Car.name.max().ifNull("")),
    ] {
      #expect(message(update(query)) == nil, "\(query.sql)")
    }
  }

  @Test func resultsThatDependOnTheRowOrderAreRefused() {
    let ranks = Car.select(Car.id, rowNumber().over(orderBy: Car.price.asc)).orderBy(Car.id)
    let lines = Car.select(Car.id, rowNumber().over(orderBy: Car.price.asc, Car.id.asc)).orderBy(Car.id)
    let totals = Car.select(Car.id, Car.price.sum().over(orderBy: Car.price.asc)).orderBy(Car.id)
    let running = Car.select(
      Car.id, Car.price.sum().over(orderBy: Car.price.asc, frame: .rows(.unboundedPreceding, .currentRow)))
    #expect(
      message(ranks)
        == "the window of row_number() is not repeatable: its order has ties; order by the keys of the tables")
    #expect(
      message(running) == "the window of sum() is not repeatable: its order has ties; order by the keys of the tables")
    #expect(message(lines) == nil)
    #expect(message(totals) == nil)
    #expect(
      message(Car.select(Car.name.groupConcat()))
        == "group_concat() is not repeatable: the result depends on the row order; give the function an order")
    let bare = "a column of grouped rows is not repeatable; group by the column, or use an aggregate"
    #expect(message(Car.select(Car.name, Car.price).groupBy(Car.name)) == bare)
    #expect(message(Car.select(Car.name, countAll())) == bare)
    #expect(message(Car.read().groupBy(Car.name)) == bare)
    #expect(message(Car.select(Car.name, Car.price.max()).groupBy(Car.name)) == nil)
    let ignoring = Bicycle.update(Bicycle.name.set(to: "x")).filter(Bicycle.color == "red").onConflict(.ignore)
    #expect(
      message(ignoring) == """
        the update is not repeatable: the conflict policy might keep any one of several conflicting rows; use abort
        """)
    #expect(message(Bicycle(id: 1, name: "x", color: "y").update().onConflict(.ignore)) == nil)
  }

  @Test func aReadIsRefusedOnlyIfItsLimitNeedsAnOrder() {
    #expect(message(Car.read()) == nil)
    #expect(message(Car.read().orderBy(Car.price)) == nil)
    #expect(message(Car.count().limit(3)) == nil)
    #expect(message(Car.exists(Car.price > 3)) == nil)
    #expect(
      message(Car.read().limit(3))
        == "the limit of the query is not repeatable; order the query by the keys of its tables, or by all "
        + "selected terms")
    #expect(message(Car.read().orderBy(Car.id).limit(3)) == nil)
    #expect(message(Car.byId(3)) == nil)
  }

  /// An order that ignores case does not determine the order of two texts that differ only in case.
  @Test func anOrderByACollationDoesNotDetermineTheRows() {
    let names = Car.select(Car.name)
    #expect(message(names.orderBy(Car.name.collate(.nocase)).limit(1)) != nil)
    #expect(message(Car.select(Car.name.collate(.nocase)).orderBy(Car.name.collate(.nocase)).limit(1)) != nil)
  }

  @Test func aJoinWithAnAliasNeedsTheKeysOfBothTables() {
    let boss = Alias(Worker.self, "boss")
    let pairs = Worker.select(Worker.name, boss[Worker.name]).joining(boss, on: Worker.bossId == boss[Worker.id])
    #expect(message(pairs.orderBy(Worker.id).limit(3)) != nil)
    #expect(message(pairs.orderBy(boss[Worker.id]).limit(3)) != nil)
    #expect(message(pairs.orderBy(Worker.id).orderBy(boss[Worker.id]).limit(3)) == nil)
  }

  /// The check walks the tree by recursion.
  @Test func theDeepestStatementsAreCheckedOnASmallStack() throws {
    let levels = try onThread(stackSize: smallStack) {
      let term = (0..<98).reduce(Bicycle.id.expression) { term, _ in term + 1 }
      try AnyStatement(Bicycle.delete(term > 1)).checkIsRepeatable()
      // SQLite's parser limits nested queries more tightly than nested terms.
      var (levels, condition) = (0, Bicycle.id == 1)
      while let statement = try? AnyStatement(Bicycle.delete(condition)) {
        try statement.checkIsRepeatable()
        condition = exists(Bicycle.read().filter(condition))
        levels += 1
      }
      return levels
    }
    #expect(levels > 2)
  }
}
