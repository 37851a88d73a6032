import SqlableCore

/// The open loops over changes, indexed by table and by the id or key of the observed row. A few lookups find the loops
/// that observe a changed row.
struct ChangeIndex {
  private typealias Events = [ChangeEvent<RowChange>]

  private struct Entry {
    weak var subscription: ChangeSubscription?
    let observed: ObservedRows
    /// The position of the last commit before the loop began.
    let since: Int
  }

  /// The observation of all rows of a table. The loops over changes with equal observations share an array of events.
  private struct Everything: Hashable {
    let table: String
    let change: Change?
  }

  private struct Table {
    var everything: [Everything: Set<Int>] = [:]
    var byId: [Int64: Set<Int>] = [:]
    var byKey: [MatchKey: Set<Int>] = [:]
    /// The loops that observe one row by a key with a custom collation. A lookup can't find these loops, so every
    /// changed row is compared with each of them.
    var walked: Set<Int> = []

    var isEmpty: Bool { everything.isEmpty && byId.isEmpty && byKey.isEmpty && walked.isEmpty }

    var numbers: Set<Int> {
      [Array(everything.values), Array(byId.values), Array(byKey.values), [walked]].joined()
        .reduce(into: []) { $0.formUnion($1) }
    }

    /// Returns the loops that observe a single row and that the change might affect: all affected loops, and some
    /// unaffected loops.
    func candidates(for row: RowChange) -> Set<Int> {
      var candidates = walked
      func add(_ numbers: Set<Int>?) { if let numbers { candidates.formUnion(numbers) } }
      if row.hasId, !byId.isEmpty {
        add(byId[Int64(row.id)])
        if row.previousId != row.id { add(byId[Int64(row.previousId)]) }
      }
      guard !byKey.isEmpty else { return candidates }
      if row.hasCustomCollation {
        // The table's collation, which the model might not declare, can treat any two texts as equal. So the change
        // might affect every loop over a key.
        for numbers in byKey.values { candidates.formUnion(numbers) }
        return candidates
      }
      let (key, previous) = (row.key, row.previousKey)
      if key.count == 1 { add(byKey[MatchKey(key[0])]) }
      if previous.count == 1, previous != key { add(byKey[MatchKey(previous[0])]) }
      return candidates
    }
  }

  private var entries: [Int: Entry] = [:]
  private var tables: [[UInt8]: Table] = [:]

  var all: [ChangeSubscription] { entries.values.compactMap(\.subscription) }

  mutating func add(_ subscription: ChangeSubscription, _ number: Int, since position: Int) {
    entries[number] = Entry(subscription: subscription, observed: subscription.observed, since: position)
    change(subscription.observed) { $0.insert(number) }
  }

  mutating func remove(_ number: Int) {
    if let entry = entries.removeValue(forKey: number) { change(entry.observed) { $0.remove(number) } }
  }

  private mutating func change(_ observed: ObservedRows, _ body: (inout Set<Int>) -> Void) {
    func change<Key>(_ index: inout [Key: Set<Int>], _ key: Key) {
      body(&index[key, default: []])
      if index[key]?.isEmpty == true { index[key] = nil }
    }
    let (observer, name) = (observed.observer, observed.observer.table.foldedName)
    var table = tables.removeValue(forKey: name) ?? Table()
    switch observer.key {
    case nil: change(&table.everything, Everything(table: observer.table, change: observer.change))
    case .some where observed.hasCustomCollation: body(&table.walked)
    case .some(let value):
      // Add all forms of the value, because the affinity of the key column determines the matching form.
      for key in Set(KeyComparison.forms(of: value).map(MatchKey.init)) {
        change(&table.byKey, key)
        if case .integer(let id) = key { change(&table.byId, id) }
      }
    }
    if !table.isEmpty { tables[name] = table }
  }

  // MARK: Matching

  /// Returns the numbers of the loops over all tables except the tables in `known`.
  func numbers(outside known: Set<[UInt8]>) -> Set<Int> {
    tables.reduce(into: []) { if !known.contains($1.key) { $0.formUnion($1.value.numbers) } }
  }

  /// Delivers `.missed` to all loops that began before the commit.
  func missAll(_ position: Int, _ matches: inout Matches) {
    for number in entries.keys { miss(number, position, &matches) }
  }

  func miss(_ number: Int, _ position: Int, _ matches: inout Matches) {
    notify(number, position, [.missed], isMissed: true, &matches)
  }

  /// Delivers the rows of a commit to the affected loops.
  func match(_ rows: [RowChange], _ position: Int, except excluded: [Int: Int], _ matches: inout Matches) {
    guard !tables.isEmpty else { return }
    var shared: [Everything: (events: Events, to: Set<Int>)] = [:]
    var ownRowEvents: [Int: Events] = [:]
    var rest = rows[...]
    while let first = rest.first {
      // Handle consecutive rows of one table together.
      let end = rest.firstIndex { !$0.table.isExactly(first.table) } ?? rest.endIndex
      if let table = tables[first.table.foldedName] {
        for (observation, numbers) in table.everything {
          for row in rest[..<end] where observation.change == nil || observation.change == row.change {
            shared[observation, default: ([], numbers)].events.append(.row(row.named(observation.table)))
          }
        }
        if !(table.byId.isEmpty && table.byKey.isEmpty && table.walked.isEmpty) {
          for row in rest[..<end] {
            for number in table.candidates(for: row) {
              guard let observer = entries[number]?.observed.observer, observer.wants(row) else { continue }
              ownRowEvents[number, default: []].append(.row(row.named(observer.table)))
            }
          }
        }
      }
      rest = rest[end...]
    }
    for (events, numbers) in shared.values {
      for number in numbers where excluded[number] == nil {
        notify(number, position, events, isMissed: false, &matches)
      }
    }
    for (number, events) in ownRowEvents where excluded[number] == nil {
      notify(number, position, events, isMissed: false, &matches)
    }
  }

  private func notify(_ number: Int, _ position: Int, _ events: Events, isMissed: Bool, _ matches: inout Matches) {
    guard let entry = entries[number], entry.since < position, let subscription = entry.subscription else { return }
    matches.keep(subscription)
    subscription.take(events, isMissed: isMissed, &matches)
  }
}
