import SqlableCore
import SqlableQueries

// Tests/Record has this file and what it uses in one target.
#if canImport(SqlableTestSupport) && !RECORD
@testable import SqlableTestSupport
#endif

/// A builder that turns random queries into queries of the library.
struct QueryBuilder {
  let world: QueryWorld
  /// The values that are bound as named parameters, if `takesParameters` is set.
  var parameters: [RandomValue] = []
  var takesParameters = false

  /// The columns of the visible sources, by source number.
  typealias Names = [Int: [SqlExpression]]

  mutating func select(_ query: RandomQuery, _ outer: Names = [:]) -> Select<DynamicRow> {
    var names = outer
    var select = core(query, &names)
    for (operation, other) in query.compounds {
      var otherNames = outer
      combine(&select, operation, core(other, &otherNames))
    }
    end(&select, query, names)
    return select
  }

  /// Returns a typed query of two numbers.
  private mutating func pair(_ query: RandomQuery, _ outer: Names) -> Select<(Int?, Int?)> {
    var names = outer
    var select = typed(core(query, &names), query, names)
    for (operation, other) in query.compounds {
      var otherNames = outer
      combine(&select, operation, typed(core(other, &otherNames), other, otherNames))
    }
    end(&select, query, names)
    return select
  }

  private mutating func typed(
    _ select: Select<DynamicRow>, _ query: RandomQuery, _ names: Names
  ) -> Select<(Int?, Int?)> {
    select.select(
      term(query.results[0], names).typed(as: Int?.self), term(query.results[1], names).typed(as: Int?.self))
  }

  private func combine<Row>(
    _ select: inout Select<Row>, _ operation: RandomQuery.Operation, _ other: Select<Row>
  ) {
    switch operation {
    case .union: select = select.union(other)
    case .unionAll: select = select.unionAll(other)
    case .intersect: select = select.intersect(other)
    case .except: select = select.except(other)
    }
  }

  private mutating func end<Row>(_ select: inout Select<Row>, _ query: RandomQuery, _ names: Names) {
    for ordering in query.order {
      switch ordering.key {
      case .result(let index):
        select = select.orderBy(term(query.results[index], names), ordering.isDescending ? .desc : .asc)
      case .term(let term):
        select = select.orderBy(self.term(term, names), ordering.isDescending ? .desc : .asc)
      }
    }
    guard let limit = query.limit else { return }
    select = query.offset.map { select.limit(limit, offset: $0) } ?? select.limit(limit)
  }

  private mutating func core(_ query: RandomQuery, _ names: inout Names) -> Select<DynamicRow> {
    var select = start(query.sources[0], &names)
    for source in query.sources.dropFirst() { select = joined(select, source, &names) }
    if let filter = query.filter { select = select.filter(term(filter, names)) }
    for group in query.groups { select = select.groupBy(term(group, names)) }
    if let having = query.having { select = select.having(term(having, names)) }
    if query.isDistinct { select = select.distinct() }
    let terms = query.results.map { term($0, names) }
    switch terms.count {
    case 1: return select.select(terms[0])
    case 2: return select.select(terms[0], terms[1])
    case 3: return select.select(terms[0], terms[1], terms[2])
    default: return select.select(terms[0], terms[1], terms[2], terms[3])
    }
  }

  // MARK: Sources

  private mutating func start(_ source: RandomQuery.Source, _ names: inout Names) -> Select<DynamicRow> {
    let name = world.aliases(source.id)
    switch source.kind {
    case .table(let index): return start(world.tables[index], source, &names)
    case .named(let query):
      let named = pair(query, names).named(name)
      names[source.id] = [named.columns.0.expression, named.columns.1.expression]
      let first: SqlExpression = named.columns.0.expression
      return named.read().select(first)
    case .alias, .values, .elements:
      let alias = pairs(source, names)
      names[source.id] = [alias[QueryPair.first], alias[QueryPair.second]]
      return alias.read().select(alias[QueryPair.first])
    }
  }

  private func start<Model: QueryModel>(
    _ model: Model.Type, _ source: RandomQuery.Source, _ names: inout Names
  ) -> Select<DynamicRow> {
    if source.isBare {
      names[source.id] = Model.columns.map(\.expression)
      return Model.select(Model.columns[0])
    }
    let alias = Alias(Model.self, world.aliases(source.id))
    names[source.id] = Model.columns.map { alias[$0] }
    return alias.read().select(alias[Model.columns[0]])
  }

  /// Returns an alias of a query with a model, or of rows of values.
  private mutating func pairs(_ source: RandomQuery.Source, _ names: Names) -> Alias<Entry<QueryPair>> {
    let name = world.aliases(source.id)
    switch source.kind {
    case .alias(let query):
      let query = select(query, names)
      return Alias(Entry<QueryPair>.self, name) { _ in query }
    case .values(let rows):
      let rows = rows.map { (number($0[0]), number($0[1])) }
      return Alias(Entry<QueryPair>.self, name) { _ in values(rows) }
    default: return Alias(Entry<QueryPair>.self, name)
    }
  }

  private func number(_ value: RandomValue) -> Int? {
    if case .number(let number) = value { number } else { nil }
  }

  private mutating func joined(
    _ select: Select<DynamicRow>, _ source: RandomQuery.Source, _ names: inout Names
  ) -> Select<DynamicRow> {
    let name = world.aliases(source.id)
    switch source.kind {
    case .table(let index): return joined(select, world.tables[index], source, &names)
    case .elements(let array):
      let elements = JSONEach(term(array, names), as: name)
      names[source.id] = [elements.key(as: Int?.self).expression, elements.value(as: Int?.self).expression]
      guard let condition = source.condition else { return select.joining(elements) }
      return select.joining(elements, on: term(condition, names))
    case .named(let query):
      let named = pair(query, names).named(name)
      names[source.id] = [named.columns.0.expression, named.columns.1.expression]
      let condition = source.condition.map { term($0, names) } ?? (TypedExpression(1).expression == 1)
      return source.join == .left
        ? select.leftJoining(named, on: condition) : select.joining(named, on: condition)
    case .alias, .values:
      let alias = pairs(source, names)
      names[source.id] = [alias[QueryPair.first], alias[QueryPair.second]]
      return joined(select, alias, source, names)
    }
  }

  private mutating func joined<Model: QueryModel>(
    _ select: Select<DynamicRow>, _ model: Model.Type, _ source: RandomQuery.Source, _ names: inout Names
  ) -> Select<DynamicRow> {
    guard source.isBare else {
      let alias = Alias(Model.self, world.aliases(source.id))
      names[source.id] = Model.columns.map { alias[$0] }
      return joined(select, alias, source, names)
    }
    names[source.id] = Model.columns.map(\.expression)
    guard let condition = source.condition else {
      return select.crossJoin(Model.self).select(Model.columns[0])
    }
    let on = term(condition, names)
    return source.join == .left
      ? select.leftJoin(Model.self, on: on).select(Model.columns[0]) : select.joining(Model.self, on: on)
  }

  private mutating func joined<Model: Sqlable>(
    _ select: Select<DynamicRow>, _ alias: Alias<Model>, _ source: RandomQuery.Source, _ names: Names
  ) -> Select<DynamicRow> {
    let first: SqlExpression = TypedExpression(0).expression
    guard let condition = source.condition else { return select.crossJoin(alias).select(first) }
    let on = term(condition, names)
    return source.join == .left
      ? select.leftJoin(alias, on: on).select(first) : select.join(alias, on: on).select(first)
  }

  // MARK: Terms

  private mutating func value(_ value: RandomValue) -> SqlExpression {
    if takesParameters, value != .null {
      if !parameters.contains(value), parameters.count < 3 { parameters.append(value) }
      if let index = parameters.firstIndex(of: value) { return Parameter<Null>("p\(index)").expression }
    }
    switch world.storage(value) {
    case .integer(let number): return TypedExpression(number).expression
    case .text(let text): return TypedExpression(text).expression
    default: return TypedExpression(Null()).expression
    }
  }

  /// Returns the value of a term that is a plain value, to be passed to an operator.
  private func operand(_ term: RandomTerm) -> (any SqlValue)? {
    guard !takesParameters, case .value(let value) = term, value != .null else { return nil }
    return world.value(value)
  }

  mutating func term(_ term: RandomTerm, _ names: Names) -> SqlExpression {
    switch term {
    case .column(let id, let position): return names[id]?[position] ?? TypedExpression("?").expression
    case .value(let value): return self.value(value)
    case .comparison(let comparison, let left, let right):
      return compared(self.term(left, names), comparison, right, names)
    case .plus(let left, let right):
      if let value = operand(right) { return self.term(left, names) + value }
      return self.term(left, names) + self.term(right, names)
    case .minus(let left, let right):
      if let value = operand(right) { return self.term(left, names) - value }
      return self.term(left, names) - self.term(right, names)
    case .times(let left, let right):
      if let value = operand(right) { return self.term(left, names) * value }
      return self.term(left, names) * self.term(right, names)
    case .concatenation(let left, let right):
      if let value = operand(right) { return self.term(left, names).concatenated(value) }
      return self.term(left, names).concatenated(self.term(right, names))
    case .and(let left, let right): return self.term(left, names) && self.term(right, names)
    case .or(let left, let right): return self.term(left, names) || self.term(right, names)
    case .not(let term): return !self.term(term, names)
    case .isNull(let term): return self.term(term, names).isNull
    case .between(let term, let low, let high):
      guard let low = operand(low), let high = operand(high) else {
        let term = self.term(term, names)
        return term >= self.term(low, names) && term <= self.term(high, names)
      }
      return self.term(term, names).between(low, and: high)
    case .isIn(let term, let values): return isIn(self.term(term, names), values)
    case .choice(let cases, let otherwise): return choice(cases, otherwise, names)
    case .coalesce(let first, let second): return self.term(first, names).coalesce(self.term(second, names))
    case .nullIf(let first, let second):
      guard let value = operand(second) else {
        let first = self.term(first, names)
        return Case.when(first == self.term(second, names), then: TypedExpression(Null()).expression).else(first)
      }
      return self.term(first, names).nullIf(value)
    case .countAll(let filter): return countAll(where: filter.map { self.term($0, names) }).expression
    case .aggregate(let aggregate, let term, let isDistinct, let filter):
      return aggregated(aggregate, self.term(term, names), isDistinct, filter.map { self.term($0, names) })
    case .ranking(let ranking, let partition, let order):
      let window = window(partition, order, names)
      switch ranking {
      case .rowNumber: return rowNumber().over(window).expression
      case .rank: return rank().over(window).expression
      case .denseRank: return denseRank().over(window).expression
      }
    case .running(let aggregate, let term, let partition, let order, let rows):
      let window = window(
        partition, order.map { ($0, false) }, names, frame: rows.map { .rows(.preceding($0), .currentRow) })
      return aggregated(aggregate, self.term(term, names), false, nil).over(window)
    case .query(.exists, let query): return exists(select(query, names))
    case .query(.scalar, let query):
      return scalar(select(query, names))
    case .query(.isIn(let needle), let query): return self.term(needle, names).in(select(query, names))
    }
  }

  private mutating func compared(
    _ left: SqlExpression, _ comparison: RandomTerm.Comparison, _ right: RandomTerm, _ names: Names
  ) -> SqlExpression {
    if let value = operand(right) {
      switch comparison {
      case .equal: return left == value
      case .notEqual: return left != value
      case .less: return left < value
      case .lessOrEqual: return left <= value
      case .greater: return left > value
      case .greaterOrEqual: return left >= value
      case .same: return left.isNotDistinct(from: value)
      case .notSame: return left.isDistinct(from: value)
      }
    }
    let right = term(right, names)
    switch comparison {
    case .equal: return left == right
    case .notEqual: return left != right
    case .less: return left < right
    case .lessOrEqual: return left <= right
    case .greater: return left > right
    case .greaterOrEqual: return left >= right
    case .same: return left.isNotDistinct(from: right)
    case .notSame: return left.isDistinct(from: right)
    }
  }

  private func isIn(_ term: SqlExpression, _ values: [RandomValue]) -> SqlExpression {
    let numbers = values.compactMap { if case .number(let number) = $0 { number } else { nil } }
    if numbers.count == values.count { return term.in(numbers) }
    return term.in(values.compactMap { if case .text(let index) = $0 { world.texts[index] } else { nil } })
  }

  private mutating func choice(
    _ cases: [(RandomTerm, RandomTerm)], _ otherwise: RandomTerm?, _ names: Names
  ) -> SqlExpression {
    var choice = Case.when(term(cases[0].0, names), then: term(cases[0].1, names))
    for (condition, result) in cases.dropFirst() {
      choice = choice.when(term(condition, names), then: term(result, names))
    }
    return otherwise.map { choice.else(term($0, names)) } ?? choice.end()
  }

  private mutating func window(
    _ partition: [RandomTerm], _ order: [(RandomTerm, isDescending: Bool)], _ names: Names, frame: WindowFrame? = nil
  ) -> Window {
    var orders: [Ordering] = []
    for (key, isDescending) in order { orders.append(isDescending ? term(key, names).desc : term(key, names).asc) }
    guard let first = partition.first else {
      return orders.count == 1
        ? Window(orderBy: orders[0], frame: frame) : Window(orderBy: orders[0], orders[1], frame: frame)
    }
    let group = term(first, names)
    return orders.count == 1
      ? Window(partitionBy: group, orderBy: orders[0], frame: frame)
      : Window(partitionBy: group, orderBy: orders[0], orders[1], frame: frame)
  }

  private func aggregated(
    _ aggregate: RandomTerm.Aggregate, _ term: SqlExpression, _ isDistinct: Bool, _ filter: SqlExpression?
  ) -> SqlExpression {
    switch aggregate {
    case .count: term.count(distinct: isDistinct, where: filter)
    case .sum: term.sum(distinct: isDistinct, where: filter)
    case .total: term.total(where: filter)
    case .avg: term.average(distinct: isDistinct, where: filter)
    case .min: term.min(where: filter)
    case .max: term.max(where: filter)
    }
  }
}
