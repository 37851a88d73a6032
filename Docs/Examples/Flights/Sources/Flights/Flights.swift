import ArgumentParser
import Foundation

@main
struct Main: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "Flights",
    abstract: """
      Imports the flights that left New York City in 2013 into an SQLite database and answers questions about them.
      """,
    discussion: """
      Without a file it imports January, which comes with the program.

      Exit codes: 0 done, 1 a file cannot be read or stored, or two answers to a question differ, 2 a mistake on the \
      command line.
      """)
  static let _errorLabel = "Flights"

  @OptionGroup var options: Options

  func run() throws { try Session(options: options).run() }

  static func main() {
    do {
      var command = try parseAsRoot()
      try command.run()
    } catch {
      switch exitCode(for: error) {
      case .success: print(fullMessage(for: error))
      case .validationFailure:
        Progress.write(fullMessage(for: error) + "\n")
        Foundation.exit(2)
      default:
        Progress.write("\(_errorPrefix)\(error)\n")
        Foundation.exit(1)
      }
    }
  }
}
