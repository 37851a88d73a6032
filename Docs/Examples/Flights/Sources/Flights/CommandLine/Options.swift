import ArgumentParser

/// The options of the command line.
struct Options: ParsableArguments {
  enum ErrorPolicy: String, CaseIterable, ExpressibleByArgument, Sendable {
    case stop, skip
  }

  @Argument(
    help: ArgumentHelp(
      """
      A file in the format of nycflights13's flights.csv, of any size. Files beside it named airlines.csv, \
      airports.csv, planes.csv or weather.csv replace those of the program.
      """, valueName: "flights.csv"))
  var flightsPath: String?

  @Flag(
    name: .customLong("questions"),
    help: "Answer twenty questions, each with a statement and with hand-written SQL, and compare.")
  var asksQuestions = false

  @Option(
    name: .customLong("database"),
    help: ArgumentHelp(
      """
      Keep the database there, not in a temporary directory that is removed at the end. The flights in an existing \
      database of this program are replaced by those of the file; databases of other programs are not changed.
      """, valueName: "path"))
  var databasePath: String?

  @Option(
    name: .customLong("on-error"),
    help: """
      At a malformed line: stop, or skip it and continue. In both cases the flights stored before it stay in the \
      database.
      """)
  var errorPolicy = ErrorPolicy.stop

  func validate() throws {
    if flightsPath == "" { throw ValidationError("the path of the flights is empty") }
    if databasePath == "" { throw ValidationError("--database needs a value") }
  }
}
