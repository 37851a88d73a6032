import Foundation

/// The results as a table, or as JSON.
struct Report: Encodable {
  let machine: Machine
  let scale: Double
  var results: [Result] = []

  static let heading = line(["", "contender", "median", "low–high", "", "to C", "to GRDB"])

  static func table(_ result: Result) -> String {
    let size = result.unit.isRate ? "" : ", \(grouped(result.operations)) a round"
    let rounds = result.rounds == 1 ? "one round" : "\(result.rounds) rounds"
    let heading = "\(result.workload)  \(result.title)\(size), \(rounds)"
    let lines = result.entries.map { entry in
      let writes = entry.writes.map { "   beside \(grouped(Int($0))) writes/s" } ?? ""
      return line([
        "", entry.contender, figure(entry.value), "\(figure(entry.lowest))–\(figure(entry.highest))",
        result.unit.rawValue, ratio(entry.ratio), ratio(entry.ratioToGRDB),
      ]) + writes
    }
    return ([heading] + lines).joined(separator: "\n")
  }

  static func table(_ breaches: [Limits.Breach]) -> String {
    let lines = breaches.map { breach in
      line([
        breach.workload, breach.contender, ratio(breach.ratio), breach.limit.map { ratio($0) } ?? "none", "", "", "",
      ])
    }
    return ([line(["", "over its limit", "ratio", "limit", "", "", ""])] + lines).joined(separator: "\n")
  }

  var json: String {
    get throws {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
      return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
  }

  private static func line(_ cells: [String]) -> String {
    func left(_ text: String, _ width: Int) -> String {
      text + String(repeating: " ", count: max(0, width - text.count))
    }
    func right(_ text: String, _ width: Int) -> String {
      String(repeating: " ", count: max(0, width - text.count)) + text
    }
    let text =
      left(cells[0], 5) + left(cells[1], 26) + right(cells[2], 10) + "  " + right(cells[3], 18) + " "
      + left(cells[4], 8)
      + right(cells[5], 7) + right(cells[6], 9)
    return String(text.reversed().drop { $0 == " " }.reversed())
  }

  private static func figure(_ value: Double) -> String {
    value >= 1_000 ? grouped(Int(value)) : String(format: value >= 100 ? "%.0f" : "%.2f", value)
  }

  private static func ratio(_ value: Double?) -> String { value.map { String(format: "%.2f", $0) } ?? "–" }

  private static func grouped(_ number: Int) -> String {
    var digits = String(number)
    var place = digits.count - 3
    while place > 0 {
      digits.insert(",", at: digits.index(digits.startIndex, offsetBy: place))
      place -= 3
    }
    return digits
  }
}
