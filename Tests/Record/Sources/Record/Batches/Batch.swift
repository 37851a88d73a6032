import Sqlable

/// One part of a batch, as a row.
struct Part: SqlCodable, Equatable {
  var id: Int
  var batch: Int
  var total: Int
  var text: String
  static let id = column("id", Int.self, PrimaryKey())
  static let batch = column("batch", Int.self)
  static let total = column("total", Int.self)
  static let text = column("text", String.self)
  static let tableLayout = [id.column, batch.column, total.column, text.column]
  static let tableIndexes = [Index(text)]
}

/// The number of batches that a writer has stored, which each of its transactions changes.
struct Tally: SqlCodable, Equatable {
  var writer: Int
  var batches: Int
  static let writer = column("writer", Int.self, PrimaryKey())
  static let batches = column("batches", Int.self)
  static let tableLayout = [writer.column, batches.column]
}

/// A transaction of a writer. All that it does follows from the two numbers, so the file can be checked by itself.
struct Batch {
  let writer: Int
  /// From 1.
  let number: Int
  let parts: [Part]
  /// True if the program rolls the transaction back at its end.
  let isUndone: Bool
  /// A row that the program inserts in an inner transaction, which it rolls back.
  let undonePart: Part?

  static let numbersPerWriter = 1_000_000

  init(_ writer: Int, _ number: Int) {
    (self.writer, self.number) = (writer, number)
    let batch = writer * Batch.numbersPerWriter + number
    var random = SeededGenerator(seed: UInt64(batch))
    let total = Int.random(in: 1...5, using: &random)
    func part(_ index: Int, _ random: inout SeededGenerator) -> Part {
      // Some texts need overflow pages.
      let length = random.chance(3) ? Int.random(in: 2_000...9_000, using: &random) : random.pick([3, 20, 90])
      let text = String(random.next(), radix: 36) + String(repeating: "\(index)", count: length)
      return Part(id: batch * 8 + index, batch: batch, total: total, text: text)
    }
    parts = (0..<total).map { part($0, &random) }
    isUndone = random.chance(12)
    undonePart = random.chance(25) ? part(7, &random) : nil
  }

  var id: Int { writer * Batch.numbersPerWriter + number }
  /// The number of an older batch of the writer, which the transaction deletes.
  var deleted: Int? { number.isMultiple(of: 7) ? number - 3 : nil }
  /// The number of the later batch that deletes this one.
  var deleter: Int? { (number + 3).isMultiple(of: 7) ? number + 3 : nil }
}
