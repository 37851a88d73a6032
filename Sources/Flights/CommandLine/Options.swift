/// The options of the command line.
struct Options: Hashable, Sendable {
  enum ErrorPolicy: String, CaseIterable, Sendable {
    case stop, skip
  }

  /// The flights to import; nil for the month that comes with the program.
  var flightsPath: String?
  /// Where to keep the database; nil for a temporary directory that is removed at the end.
  var databasePath: String?
  var errorPolicy = ErrorPolicy.stop
  /// Whether to answer the twenty questions and compare the answers, instead of showing the overview.
  var asksQuestions = false
  var isHelpWanted = false
}

extension Options {
  /// A mistake on the command line, as a message to the user.
  struct UsageError: Error, Hashable, CustomStringConvertible {
    var description: String
  }

  static let usage = """
    Usage: Flights [path/to/flights.csv] [--questions] [--database PATH] [--on-error stop|skip] [--help]

    Imports the flights that left New York City in 2013 into an SQLite database and answers questions about them.
    Without a file it imports January, which comes with the program.

      path/to/flights.csv     a file in the format of nycflights13's flights.csv, of any size. Files beside it named
                              airlines.csv, airports.csv, planes.csv or weather.csv replace those of the program
      --questions             answer twenty questions, each with a statement and with hand-written SQL, and compare
      --database PATH         keep the database there (default: a temporary directory, removed at the end).
                              The flights in an existing database of this program are replaced by those of the
                              file; databases of other programs are not changed
      --on-error stop|skip    at a malformed line: stop (the default) or skip it and continue.
                              In both cases the flights stored before it stay in the database
      --help                  show this text

    Exit codes: 0 done, 1 a file cannot be read or stored, or two answers to a question differ, 2 a mistake on the
    command line.
    """

  /// Parses the arguments after the program's name.
  init(_ arguments: some Sequence<String>) throws(UsageError) {
    var remaining = Array(arguments)[...]
    var takesOptions = true
    while let argument = remaining.popFirst() {
      guard takesOptions, argument.hasPrefix("-") else {
        guard flightsPath == nil else { throw UsageError(description: "only one file can be imported at a time") }
        guard !argument.isEmpty else { throw UsageError(description: "the path of the flights is empty") }
        flightsPath = argument
        continue
      }
      // `--option=value` is the same as `--option value`.
      let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = String(parts[0])
      func value() throws(UsageError) -> String {
        guard let value = parts.count > 1 ? String(parts[1]) : remaining.popFirst(), !value.isEmpty else {
          throw UsageError(description: "\(name) needs a value")
        }
        return value
      }
      switch name {
      case "--database":
        databasePath = try value()
      case "--on-error":
        guard let policy = ErrorPolicy(rawValue: try value()) else {
          throw UsageError(description: "--on-error is either stop or skip")
        }
        errorPolicy = policy
      case "--questions" where parts.count == 1:
        asksQuestions = true
      case "--help" where parts.count == 1, "-h" where parts.count == 1:
        isHelpWanted = true
      case "--" where parts.count == 1:
        takesOptions = false
      default:
        throw UsageError(description: "unknown option \(argument)")
      }
    }
  }
}
