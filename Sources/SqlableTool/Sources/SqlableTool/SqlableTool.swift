import ArgumentParser
import Foundation
import SqlableCluster

/// The command `sqlable`, with tools for statements and databases.
@main
struct SqlableTool: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sqlable", abstract: "Tools for statements and databases.",
    discussion: "Exit codes: 0 done, 1 refused or invalid, 2 a mistake on the command line.",
    subcommands: [
      ArchiveCommand.self, BackupCommand.self, ChangesCommand.self, ClusterCommand.self, DoctorCommand.self,
      ExplainCommand.self, MigrateCommand.self, ModelsCommand.self, NodeCommand.self, PlanCommand.self,
      RestoreCommand.self, SalvageCommand.self, SchemaCommand.self, TenantsCommand.self, VerifyCommand.self,
    ])
  static let _errorLabel = "sqlable"

  func run() throws { throw ValidationError("a subcommand is missing") }

  @MainActor static func main() async {
    let arguments = Array(CommandLine.arguments.dropFirst())
    if let mistake = CommandSuggestion.unknownSubcommand(in: arguments, of: self) {
      fail(mistake.message, code: 2)
    }
    var running: any ParsableCommand.Type = SqlableTool.self
    do {
      var command = try parseAsRoot()
      running = type(of: command)
      if var command = command as? any AsyncParsableCommand { try await command.run() } else { try command.run() }
    } catch let error as ValidationError {
      // Don't use `fullMessage`: it would show the usage of `sqlable`, because the error was thrown while a subcommand
      // ran.
      fail("\(error.message)\nUsage: \(usageString(for: running))", code: 2)
    } catch {
      switch exitCode(for: error) {
      case .success: Output.write(fullMessage(for: error) + "\n", to: STDOUT_FILENO)
      case .validationFailure:
        let message = fullMessage(for: error)
        if !message.contains("Did you mean"),
          let mistake = CommandSuggestion.unknownOption(in: arguments, of: self)
        {
          fail(mistake.message, code: 2)
        }
        Output.write(message + "\n", to: STDERR_FILENO)
        Foundation.exit(2)
      case let code where error is ExitCode: Foundation.exit(code.rawValue)
      default: fail("\(error)", code: 1)
      }
    }
  }

  private static func fail(_ message: String, code: Int32) -> Never {
    Output.write("\(_errorPrefix)\(message)\n", to: STDERR_FILENO)
    Foundation.exit(code)
  }
}

func number<Number: FixedWidthInteger & Sendable>(
  _ range: ClosedRange<Number>
) -> @Sendable (String) throws -> Number {
  { text in
    guard let number = Number(text), range.contains(number) else {
      throw ValidationError("expected a number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }
}
