import SqlableCore

/// An index of live results by table, and by a value that filters require. A changed row takes two lookups per column.
struct LiveQueryIndex {
  private struct Entry {
    weak var result: (any FollowedLiveQuery)?
    var bucket = Bucket.everywhere
  }

  /// The place of a live result in the index.
  private enum Bucket {
    /// The result is notified of every commit, because its tables are unknown or can't be observed.
    case everywhere
    case tables([[UInt8]])
    case value(table: [UInt8], DemandedColumn, MatchKey)
  }

  /// A column for which filters require a certain value. The position is valid only for a row with exactly these
  /// `columns`.
  private struct DemandedColumn: Hashable {
    let position: Int
    let columns: [String]
  }

  private struct Table {
    var walked: Set<Int> = []
    var byValue: [DemandedColumn: [MatchKey: Set<Int>]] = [:]

    var isEmpty: Bool { walked.isEmpty && byValue.isEmpty }

    var numbers: Set<Int> {
      byValue.values.reduce(into: walked) { numbers, values in
        for value in values.values { numbers.formUnion(value) }
      }
    }

    func formConcerned(by changes: TableChanges, _ concerned: inout Set<Int>) {
      concerned.formUnion(walked)
      for (column, values) in byValue {
        guard let rows = changes.images, rows.allSatisfy({ $0.isWhole && $0.columns == column.columns }) else {
          for numbers in values.values { concerned.formUnion(numbers) }
          continue
        }
        for row in rows {
          var latest: MatchKey?
          for image in [row.old, row.new] {
            guard let image, image.indices.contains(column.position) else { continue }
            let key = MatchKey(image[column.position])
            if key != latest, let numbers = values[key] { concerned.formUnion(numbers) }
            latest = key
          }
        }
      }
    }
  }

  private var entries: [Int: Entry] = [:]
  private var tables: [[UInt8]: Table] = [:]
  private var everywhere: Set<Int> = []

  /// The number of results that are notified of every commit.
  var countEverywhere: Int { everywhere.count }
  var numbers: [Int] { Array(entries.keys) }
  var all: [any FollowedLiveQuery] { entries.values.compactMap(\.result) }

  mutating func add(_ result: any FollowedLiveQuery, _ number: Int) {
    entries[number] = Entry(result: result)
    everywhere.insert(number)
  }

  /// Records the columns that a result reads and, for a single table, the values that its filter requires.
  mutating func expect(_ read: ReadColumns, _ demands: [RequiredValue], columns: [String], _ number: Int) {
    guard entries[number] != nil else { return }
    change(number) { $0.remove(number) }
    if read.readsUnobserved {
      entries[number]?.bucket = .everywhere
    } else if let table = read.tables.first?.key, read.tables.count == 1, !demands.isEmpty {
      // Choose the most selective requirement: the requirement that the fewest other results share.
      func shareCount(_ demand: RequiredValue) -> Int {
        tables[table]?.byValue[DemandedColumn(position: demand.position, columns: columns)]?[demand.key]?.count ?? 0
      }
      let demand = demands.dropFirst().reduce(demands[0]) { shareCount($1) < shareCount($0) ? $1 : $0 }
      entries[number]?.bucket = .value(
        table: table, DemandedColumn(position: demand.position, columns: columns), demand.key)
    } else {
      entries[number]?.bucket = .tables(Array(read.tables.keys))
    }
    change(number) { $0.insert(number) }
  }

  mutating func remove(_ number: Int) {
    change(number) { $0.remove(number) }
    entries[number] = nil
  }

  private mutating func change(_ number: Int, _ body: (inout Set<Int>) -> Void) {
    switch entries[number]?.bucket {
    case nil: break
    case .everywhere: body(&everywhere)
    case .tables(let names): for name in names { change(name) { body(&$0.walked) } }
    case .value(let name, let column, let key):
      change(name) { table in
        body(&table.byValue[column, default: [:]][key, default: []])
        if table.byValue[column]?[key]?.isEmpty == true { table.byValue[column]?[key] = nil }
        if table.byValue[column]?.isEmpty == true { table.byValue[column] = nil }
      }
    }
  }

  private mutating func change(_ name: [UInt8], _ body: (inout Table) -> Void) {
    var table = tables.removeValue(forKey: name) ?? Table()
    body(&table)
    if !table.isEmpty { tables[name] = table }
  }

  // MARK: Matching

  /// Returns the numbers of the live results that might read a table that is not in `known`.
  func numbers(outside known: Set<[UInt8]>) -> Set<Int> {
    tables.reduce(into: everywhere) { if !known.contains($1.key) { $0.formUnion($1.value.numbers) } }
  }

  func concerned(by changes: [[UInt8]: TableChanges]) -> Set<Int> {
    var concerned = everywhere
    for (name, changes) in changes { tables[name]?.formConcerned(by: changes, &concerned) }
    return concerned
  }

  /// Notifies the live result with this number of a commit. `commit` is nil if the changes are unknown.
  func notify(_ number: Int, _ commit: CommittedChanges?, _ position: Int, _ matches: inout Matches) {
    guard let result = entries[number]?.result else { return }
    matches.keep(result)
    result.didCommit(commit, at: position, &matches)
  }
}
