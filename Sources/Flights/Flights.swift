import Foundation

@main
struct Main {
  static func main() {
    exit(run(CommandLine.arguments.dropFirst()))
  }

  /// Runs the command line, and returns the exit code.
  static func run(_ arguments: some Sequence<String>) -> Int32 {
    do {
      let options = try Options(arguments)
      if options.isHelpWanted {
        print(Options.usage)
        return 0
      }
      try Session(options: options).run()
      return 0
    } catch let error as Options.UsageError {
      Progress.write("Flights: \(error)\n\n\(Options.usage)\n")
      return 2
    } catch {
      Progress.write("Flights: \(error)\n")
      return 1
    }
  }
}
