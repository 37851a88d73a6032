/// A mistake on the command line, as a message to the user.
struct UsageError: Error, CustomStringConvertible {
  let description: String
}

/// The arguments of a subcommand: words, options with a value, and flags.
struct Arguments {
  private(set) var words: [String] = []
  private var values: [String: [String]] = [:]
  private var flags: Set<String> = []

  /// Parses arguments. `--option=value` is the same as `--option value`, and after `--` all arguments are words.
  init(_ arguments: some Sequence<String>, _ options: Set<String>, _ flags: Set<String>) throws {
    var remaining = Array(arguments)[...]
    var takesOptions = true
    while let argument = remaining.popFirst() {
      guard takesOptions, argument.hasPrefix("-"), argument != "-" else {
        words.append(argument)
        continue
      }
      let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      if argument == "--" {
        takesOptions = false
      } else if options.contains(parts[0]) {
        guard let value = parts.count > 1 ? parts[1] : remaining.popFirst(), !value.isEmpty else {
          throw UsageError(description: "\(parts[0]) needs a value")
        }
        values[parts[0], default: []].append(value)
      } else if flags.contains(argument) {
        self.flags.insert(argument)
      } else {
        throw UsageError(description: "unknown option \(argument)")
      }
    }
  }

  func has(_ flag: String) -> Bool { flags.contains(flag) }

  /// All values of an option, in their order.
  func all(_ option: String) -> [String] { values[option] ?? [] }

  /// The value of an option that may be given once.
  func value(_ option: String) throws -> String? {
    let values = all(option)
    guard values.count <= 1 else { throw UsageError(description: "\(option) is given twice") }
    return values.first
  }
}
