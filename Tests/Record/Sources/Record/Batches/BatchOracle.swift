import Sqlable

/// Compares a file with what its writers have told.
struct BatchOracle {
  /// The results of one writer's batches, by number.
  private struct Told {
    var stored: Set<Int> = []
    var refused: Set<Int> = []
    /// Batches whose error says that the outcome is unknown.
    var unknown: Set<Int> = []

    /// The number of the batch that the writer may have begun last.
    var next: Int { (stored.union(refused).union(unknown).max() ?? 0) + 1 }
  }

  private var told: [Int: Told] = [:]
  /// The first errors that writers were told.
  private(set) var errors: [String] = []

  /// Takes the lines that a writer has told.
  mutating func take(_ lines: [Substring], _ round: Round) {
    for line in lines where !line.hasPrefix("+ ") && !line.hasPrefix("- ") { round.log(String(line)) }
    for line in lines {
      let words = line.split(separator: " ", maxSplits: 3)
      guard words.count >= 3, let writer = Int(words[1]), let number = Int(words[2]) else { continue }
      switch words[0] {
      case "+": told[writer, default: Told()].stored.insert(number)
      case "?": told[writer, default: Told()].unknown.insert(number)
      case "-", "!": told[writer, default: Told()].refused.insert(number)
      default: continue
      }
      if words.count == 4, errors.count < 100 { errors.append(String(words[3])) }
    }
  }

  /// What may be missing after the writers' end.
  enum Loss {
    /// Nothing that was acknowledged.
    case nothing
    /// The last batches of each writer, without gaps: commits that were not synced before the power failed.
    case lastBatches
  }

  /// Reads the file with a new handle and reports each difference.
  func check(
    _ path: String, _ configuration: Configuration, _ round: Round, mayLose loss: Loss = .nothing
  ) throws {
    let db = try SqliteDatabase(filepath: path, configuration: configuration)
    defer { try? db.close() }
    let damage = try db.query("PRAGMA integrity_check", as: String.self)
    if damage != ["ok"] { round.report(.wrong, "the file is damaged: \(damage.prefix(3))") }
    let parts = Dictionary(grouping: try Part.read().orderBy(Part.id).run(db), by: \.batch)
    let tallies = try Tally.read().run(db).reduce(into: [:]) { $0[$1.writer] = $1.batches }
    let stored = Dictionary(grouping: parts.keys) { $0 / Batch.numbersPerWriter }
    for writer in Set(stored.keys).union(told.keys).union(tallies.keys).sorted() {
      let told = told[writer] ?? Told()
      let found = Set((stored[writer] ?? []).map { $0 % Batch.numbersPerWriter })
      for number in found.sorted() {
        let batch = Batch(writer, number)
        let rows = parts[batch.id] ?? []
        if let part = batch.undonePart, rows.contains(part) {
          round.report(.invented, "a rolled back row of batch \(number) of writer \(writer) is stored")
        } else if rows != batch.parts {
          round.report(.wrong, "batch \(number) of writer \(writer) has \(rows.count) of \(batch.parts.count) rows")
        }
        if told.stored.contains(number) || told.unknown.contains(number) || number == told.next { continue }
        round.report(.invented, "batch \(number) of writer \(writer) was refused, and is stored")
      }
      // A batch that is absent was deleted if the batch that deletes it is there.
      func isCommitted(_ number: Int) -> Bool {
        found.contains(number) || Batch(writer, number).deleter.map { found.contains($0) } ?? false
      }
      var committed = told.stored.filter(isCommitted)
      let missing = told.stored.subtracting(committed)
      switch loss {
      case .nothing:
        for number in missing.sorted() {
          round.report(.lost, "batch \(number) of writer \(writer) was acknowledged, and is missing")
        }
      case .lastBatches:
        if let first = missing.min(), let last = committed.max(), first < last {
          round.report(.lost, "batch \(first) of writer \(writer) is missing, and batch \(last) is stored")
        }
      }
      committed.formUnion(found)
      // A batch with an unknown outcome, and a later one that would have deleted it.
      let uncertain = told.unknown.subtracting(found).filter(isCommitted).count
      if !(committed.count...committed.count + uncertain).contains(tallies[writer] ?? 0) {
        round.report(.wrong, "writer \(writer) has \(committed.count) batches and counts \(tallies[writer] ?? 0)")
      }
      for number in found {
        if let deleted = Batch(writer, number).deleted, found.contains(deleted) {
          round.report(.wrong, "batch \(deleted) of writer \(writer) was deleted, and is stored")
        }
      }
    }
  }
}
