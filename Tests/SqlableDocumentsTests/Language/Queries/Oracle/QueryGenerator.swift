import SqlableCore

// Tests/Record has this file and what it uses in one target.
#if canImport(SqlableTestSupport) && !RECORD
@testable import SqlableTestSupport
#endif

/// A generator of random queries over two tables, and of random rows for them.
struct QueryGenerator {
  var random: SeededGenerator
  /// All sources created so far, by number.
  private(set) var sources: [Int: RandomQuery.Source] = [:]
  /// The tables that the enclosing queries use without an alias.
  private var bare: Set<Int> = []
  private static let textCount = 5

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  /// A visible column: its source, its position and its type.
  private struct Place {
    let id: Int
    let position: Int
    let isText: Bool
    var term: RandomTerm { .column(id, position) }
  }

  private typealias Reach = [Place]

  mutating func rows() -> [[RandomValue]] {
    (0..<random.pick([0, 3, 4, 5, 6, 7])).map { id in
      let list = (0..<Int.random(in: 0...3, using: &random)).map { _ in
        random.chance(20) ? nil : Int.random(in: 0...3, using: &random)
      }
      return [
        .number(id), random.chance(20) ? .null : number(), random.chance(20) ? .null : number(),
        random.chance(20) ? .null : text(), random.chance(20) ? .null : .list(list),
      ]
    }
  }

  private mutating func number() -> RandomValue { .number(Int.random(in: -1...3, using: &random)) }
  private mutating func text() -> RandomValue {
    .text(Int.random(in: 0..<QueryGenerator.textCount, using: &random))
  }

  // MARK: Queries

  mutating func query() -> RandomQuery {
    (sources, bare) = ([:], [])
    let width = Int.random(in: 1...4, using: &random)
    return query(types: (0..<width).map { _ in random.chance(30) }, depth: 2, around: [])
  }

  /// Returns the parts of a change: a condition and a number over the table's columns, and a query of two numbers.
  mutating func change(of table: Int) -> (condition: RandomTerm, number: RandomTerm, pairs: RandomQuery) {
    (sources, bare) = ([:], [table])
    let source = RandomQuery.Source(id: 0, kind: .table(table), isBare: true)
    sources[0] = source
    let places = places(of: source)
    let change = (condition(2, places, subqueries: true), number(2, places, subqueries: true))
    bare = []
    return (change.0, change.1, query(types: [false, false], depth: 1, around: []))
  }

  /// Returns a join of the two tables with all their columns.
  mutating func join() -> RandomQuery {
    (sources, bare) = ([:], [0])
    var query = RandomQuery(sources: [.init(id: 0, kind: .table(0), isBare: true), .init(id: 1, kind: .table(1))])
    sources = [0: query.sources[0], 1: query.sources[1]]
    let all = query.sources.flatMap(places(of:))
    query.sources[1].join = random.chance(50) ? .left : .inner
    query.sources[1].condition = condition(2, all, subqueries: true)
    if random.chance(50) { query.filter = condition(2, all) }
    query.results = all.map(\.term)
    query.order = [0, 5].map { .init(key: .result($0), isDescending: random.chance(50)) }
    if random.chance(50) { query.limit = 3 }
    return query
  }

  /// Returns a query whose columns have the given types: true for text, false for numbers.
  private mutating func query(types: [Bool], depth: Int, around: Reach, isOrdered: Bool? = nil) -> RandomQuery {
    let outer = bare
    defer { bare = outer }
    // SQLite can't order by columns of enclosing queries.
    let isOrdered = isOrdered ?? random.chance(50)
    let results = isOrdered ? [] : around
    var query = core(types, depth, around, results)
    if random.chance(25) {
      for _ in 0..<Int.random(in: 1...2, using: &random) {
        bare = outer
        query.compounds.append((random.pick(RandomQuery.Operation.allCases), core(types, depth, around, results)))
      }
      query.order = []
      // SQLite orders a duplicate term by its first position, where the other parts may have another term.
      guard Set(query.results.map { "\($0)" }).count == types.count else { return query }
    }
    // A limit without an order selects arbitrary rows.
    if isOrdered {
      for index in types.indices.shuffled(using: &random) {
        query.order.append(.init(key: .result(index), isDescending: random.chance(40)))
      }
      if random.chance(50) {
        query.limit = Int.random(in: 0...5, using: &random)
        if random.chance(50) { query.offset = Int.random(in: 0...2, using: &random) }
      }
    } else {
      query.order = []
    }
    return query
  }

  private mutating func core(_ types: [Bool], _ depth: Int, _ around: Reach, _ results: Reach) -> RandomQuery {
    var query = RandomQuery(sources: [])
    var own: Reach = []
    for index in 0..<random.pick([1, 1, 1, 2, 2, 3]) {
      var source = source(index, depth, own, around)
      sources[source.id] = source
      own += places(of: source)
      if source.join == .inner, case .elements = source.kind {
        if random.chance(30) { source.condition = condition(1, own + around) }
      } else if index > 0, source.join != .cross {
        source.condition = condition(random.pick([1, 1, 2]), own + around)
      }
      query.sources.append(source)
    }
    if random.chance(40) { query.filter = condition(depth, own + around, subqueries: depth > 0) }
    if random.chance(35) {
      groups(&query, types, own)
    } else {
      let windows = depth == 2 && random.chance(20)
      query.results = types.map { isText in
        windows && !isText && random.chance(60) ? window(own) : term(isText, 2, own + results, subqueries: depth > 0)
      }
      query.isDistinct = random.chance(20)
      if !query.isDistinct, random.chance(40) {
        query.order.append(.init(key: .term(term(random.chance(30), 2, own)), isDescending: random.chance(40)))
      }
    }
    return query
  }

  private mutating func groups(_ query: inout RandomQuery, _ types: [Bool], _ own: Reach) {
    query.groups = types.filter { _ in random.chance(40) }.map { term($0, 2, own) }
    query.results = types.map { isText in
      var known = query.groups
      known.removeAll { self.isText($0) != isText }
      return !known.isEmpty && random.chance(50) ? random.pick(known) : aggregate(isText, own)
    }
    if query.groups.isEmpty, !query.results.contains(where: \.isAggregate) {
      query.results[0] = aggregate(types[0], own)
    }
    guard !query.groups.isEmpty else { return }
    if random.chance(40) {
      query.having = .comparison(random.pick(RandomTerm.Comparison.allCases), aggregate(false, own), .value(number()))
    }
    if random.chance(40) {
      query.order.append(.init(key: .term(aggregate(false, own)), isDescending: random.chance(40)))
    }
  }

  private func isText(_ term: RandomTerm) -> Bool {
    switch term {
    case .column(let id, let position):
      if case .table = sources[id]?.kind { position > 2 } else { false }
    case .value(.text), .concatenation: true
    case .choice(let cases, _): isText(cases[0].1)
    case .coalesce(let first, _), .nullIf(let first, _): isText(first)
    case .aggregate(.min, let term, _, _), .aggregate(.max, let term, _, _): isText(term)
    default: false
    }
  }

  private mutating func source(_ index: Int, _ depth: Int, _ own: Reach, _ around: Reach) -> RandomQuery.Source {
    let id = sources.count
    // Reserve the number first, because the nested queries take numbers too.
    sources[id] = RandomQuery.Source(id: id, kind: .table(0))
    let join: RandomQuery.Source.Join = index == 0 ? .inner : random.pick([.inner, .inner, .left, .left, .cross])
    let arrays = own.filter { $0.isText && $0.position == 4 }
    switch Int.random(in: 0..<100, using: &random) {
    case ..<12 where depth > 1:
      let query = query(types: [false, false], depth: 0, around: [])
      return .init(id: id, kind: .named(query), join: join == .cross ? .inner : join)
    case ..<20 where depth > 1:
      return .init(id: id, kind: .alias(query(types: [false, false], depth: 0, around: [])), join: join)
    case ..<26:
      let rows = (0..<Int.random(in: 1...3, using: &random)).map { _ in
        [random.chance(20) ? .null : number(), random.chance(20) ? .null : number()]
      }
      return .init(id: id, kind: .values(rows), join: join)
    case ..<40 where !arrays.isEmpty: return .init(id: id, kind: .elements(random.pick(arrays).term))
    default:
      let table = Int.random(in: 0...1, using: &random)
      let isBare = !bare.contains(table) && random.chance(60)
      if isBare { bare.insert(table) }
      return .init(id: id, kind: .table(table), isBare: isBare, join: join)
    }
  }

  private func places(of source: RandomQuery.Source) -> Reach {
    if case .table = source.kind { return (0..<5).map { Place(id: source.id, position: $0, isText: $0 > 2) } }
    return (0..<2).map { Place(id: source.id, position: $0, isText: false) }
  }

  // MARK: Terms

  private mutating func term(_ isText: Bool, _ depth: Int, _ reach: Reach, subqueries: Bool = false) -> RandomTerm {
    isText ? text(depth, reach) : number(depth, reach, subqueries: subqueries)
  }

  private mutating func column(_ isText: Bool, _ reach: Reach) -> RandomTerm {
    let places = reach.filter { $0.isText == isText }
    if places.isEmpty || random.chance(15) { return .value(isText ? text() : number()) }
    return random.pick(places).term
  }

  private mutating func number(_ depth: Int, _ reach: Reach, subqueries: Bool = false) -> RandomTerm {
    guard depth > 0, random.chance(50) else { return column(false, reach) }
    func next(_ generator: inout QueryGenerator) -> RandomTerm { generator.number(depth - 1, reach) }
    switch Int.random(in: 0..<10, using: &random) {
    case 0: return .plus(next(&self), next(&self))
    case 1: return .minus(next(&self), next(&self))
    case 2: return .times(next(&self), next(&self))
    case 3: return .coalesce(next(&self), next(&self))
    case 4: return .nullIf(next(&self), next(&self))
    case 5: return .choice([(condition(1, reach), next(&self))], otherwise: random.chance(50) ? next(&self) : nil)
    case 6:
      return .choice(
        [(condition(1, reach), next(&self)), (condition(1, reach), next(&self))],
        otherwise: random.chance(50) ? next(&self) : nil)
    case 7 where subqueries: return .query(.scalar, single(reach))
    case 8: return condition(depth - 1, reach)
    default: return column(false, reach)
    }
  }

  private mutating func text(_ depth: Int, _ reach: Reach) -> RandomTerm {
    guard depth > 0, random.chance(40) else { return column(true, reach) }
    switch Int.random(in: 0..<4, using: &random) {
    case 0: return .concatenation(text(depth - 1, reach), text(depth - 1, reach))
    case 1: return .coalesce(text(depth - 1, reach), text(depth - 1, reach))
    case 2: return .nullIf(text(depth - 1, reach), text(depth - 1, reach))
    default: return .choice([(condition(1, reach), text(0, reach))], otherwise: text(0, reach))
    }
  }

  private mutating func condition(_ depth: Int, _ reach: Reach, subqueries: Bool = false) -> RandomTerm {
    let isText = random.chance(30)
    guard depth > 0 else { return comparison(isText, 0, reach) }
    switch Int.random(in: 0..<14, using: &random) {
    case 0, 1: return .and(condition(depth - 1, reach, subqueries: subqueries), condition(depth - 1, reach))
    case 2, 3: return .or(condition(depth - 1, reach, subqueries: subqueries), condition(depth - 1, reach))
    case 4: return .not(condition(depth - 1, reach, subqueries: subqueries))
    case 5: return .isNull(term(isText, 1, reach))
    case 6: return .between(term(isText, 1, reach), column(isText, reach), column(isText, reach))
    case 7:
      let values = (0..<Int.random(in: 0...40, using: &random) % 5).map { _ in isText ? text() : number() }
      return .isIn(term(isText, 1, reach), values)
    case 8 where subqueries, 9 where subqueries:
      return .query(.isIn(term(isText, 1, reach)), query(types: [isText], depth: 0, around: reach))
    case 10 where subqueries:
      var query = query(types: [isText], depth: 0, around: reach)
      // SQLite drops DISTINCT inside EXISTS, so an offset counts duplicate rows.
      if query.isDistinct { query.offset = nil }
      return .query(.exists, query)
    case 11 where subqueries:
      return .comparison(random.pick(RandomTerm.Comparison.allCases), .query(.scalar, single(reach)), number(1, reach))
    default: return comparison(isText, 1, reach)
    }
  }

  private mutating func comparison(_ isText: Bool, _ depth: Int, _ reach: Reach) -> RandomTerm {
    .comparison(
      random.pick(RandomTerm.Comparison.allCases), term(isText, depth, reach), term(isText, depth, reach))
  }

  /// Returns a scalar query: one row, always the same.
  private mutating func single(_ around: Reach) -> RandomQuery {
    var query = query(types: [false], depth: 0, around: around, isOrdered: true)
    query.order = [.init(key: .result(0), isDescending: random.chance(40))]
    (query.limit, query.offset) = (1, nil)
    return query
  }

  // MARK: Aggregates and windows

  /// Returns an aggregate of the query's own columns. SQLite assigns one of outer columns to the outer query.
  private mutating func aggregate(_ isText: Bool, _ own: Reach) -> RandomTerm {
    let condition = random.chance(25) ? local(own) : nil
    guard !isText else {
      let texts = own.filter(\.isText)
      guard !texts.isEmpty else {
        return .aggregate(.max, .concatenation(.value(text()), .value(text())), isDistinct: false, filter: condition)
      }
      return .aggregate(random.pick([.min, .max]), random.pick(texts).term, isDistinct: false, filter: condition)
    }
    if random.chance(25) { return .countAll(filter: condition) }
    let argument = random.chance(50) ? numbers(own) : .plus(numbers(own), number(1, own))
    let kind = random.pick([RandomTerm.Aggregate.count, .sum, .min, .max, .count])
    let aggregate = RandomTerm.aggregate(
      kind, argument, isDistinct: [.count, .sum].contains(kind) && random.chance(30), filter: condition)
    return random.chance(25) ? .plus(aggregate, .value(number())) : aggregate
  }

  private mutating func numbers(_ own: Reach) -> RandomTerm { random.pick(own.filter { !$0.isText }).term }

  private mutating func local(_ own: Reach) -> RandomTerm {
    .comparison(random.pick(RandomTerm.Comparison.allCases), numbers(own), number(1, own))
  }

  private mutating func window(_ own: Reach) -> RandomTerm {
    let partition = random.chance(50) ? [term(random.chance(30), 1, own)] : []
    if random.chance(50) {
      let order = (0..<random.pick([1, 2])).map { _ in (number(1, own), isDescending: random.chance(40)) }
      // row_number() is excluded: SQLite numbers ties in any order.
      return .ranking(random.pick([.rank, .denseRank]), partition: partition, order: order)
    }
    return .running(
      random.pick([.count, .sum, .min, .max]), numbers(own), partition: partition, order: [numbers(own)], rows: nil)
  }
}
