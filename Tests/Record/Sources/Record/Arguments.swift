/// The options of the command line.
struct Arguments {
  static let usage = """
    Record --minutes N [--scenario NAME[,NAME]] [--seed FIRST] [--state FILE] [--fresh] [--write FILE]
        runs every scenario in turn, from the first seed on; an interrupted run continues
    Record --scenario NAME --seed N     runs one round again, and prints its findings
    Record --write FILE                 writes the table of the last run between the marks of the file
    Record --flaws [--scenario NAME]    plants each scenario's faults, and fails if one is not found
    Record --interruptions [--seed N]   kills a short run at random times, and compares its figures
    Record --list                       prints the scenarios
    """

  private(set) var options: [String: String] = [:]
  private(set) var flags: Set<String> = []

  private static let names: Set = ["--minutes", "--scenario", "--seed", "--state", "--write"]
  private static let flagNames: Set = ["--fresh", "--flaws", "--interruptions", "--list", "--help"]

  init(_ words: some Sequence<String>) throws {
    var words = words.makeIterator()
    while let word = words.next() {
      if Arguments.flagNames.contains(word) {
        flags.insert(word)
      } else if Arguments.names.contains(word), let value = words.next() {
        options[word] = value
      } else {
        throw Failure("\(word) is not an option, or has no value\n\n\(Arguments.usage)")
      }
    }
  }

  func number<Number: LosslessStringConvertible>(_ name: String, as type: Number.Type) throws -> Number? {
    guard let text = options[name] else { return nil }
    guard let number = Number(text) else { throw Failure("\(name) takes a number, not \(text)") }
    return number
  }

  /// The named scenarios, or all.
  func scenarios() throws -> [Scenario] {
    guard let names = options["--scenario"] else { return Scenario.all }
    return try names.split(separator: ",").map { try Scenario.named(String($0)) }
  }
}
