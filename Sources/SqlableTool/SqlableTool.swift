import Foundation

/// The command `sqlable`: tools for statements and databases.
@main
struct SqlableTool {
  /// What it can do, by name.
  static let subcommands: [any Subcommand.Type] = [
    ArchiveCommand.self, BackupCommand.self, ClusterCommand.self, DoctorCommand.self, ExplainCommand.self,
    MigrateCommand.self, ModelsCommand.self, NodeCommand.self, PlanCommand.self, RestoreCommand.self,
    SalvageCommand.self, SchemaCommand.self, VerifyCommand.self,
  ]

  static func main() { exit(run(Array(CommandLine.arguments.dropFirst()))) }

  /// Runs the command line, and returns the exit code.
  static func run(_ arguments: [String]) -> Int32 {
    guard let name = arguments.first, name != "--help", name != "-h" else {
      Output.write(usage + "\n", to: arguments.isEmpty ? STDERR_FILENO : STDOUT_FILENO)
      return arguments.isEmpty ? 2 : 0
    }
    guard let subcommand = subcommands.first(where: { $0.name == name }) else {
      return fail("there is no subcommand \(name)\n\n\(usage)", code: 2)
    }
    let rest = arguments.dropFirst()
    if rest.contains("--help") || rest.contains("-h") {
      Output.write(subcommand.usage + "\n", to: STDOUT_FILENO)
      return 0
    }
    do {
      return try subcommand.init(Arguments(rest, subcommand.options, subcommand.flags)).run()
    } catch let error as UsageError {
      return fail("\(error)\n\n\(subcommand.usage)", code: 2)
    } catch {
      return fail("\(error)", code: 1)
    }
  }

  private static func fail(_ message: String, code: Int32) -> Int32 {
    Output.write("sqlable: \(message)\n", to: STDERR_FILENO)
    return code
  }

  private static let usage = """
    Usage: sqlable SUBCOMMAND …

    \(subcommands.map { "  \($0.name)  \($0.summary)" }.joined(separator: "\n"))

    sqlable SUBCOMMAND --help describes one of them.
    Exit codes: 0 done, 1 refused or invalid, 2 a mistake on the command line.
    """
}

/// One of the things that the command can do.
protocol Subcommand: Sendable {
  static var name: String { get }
  static var summary: String { get }
  static var usage: String { get }
  /// The options that take a value, and those that take none.
  static var options: Set<String> { get }
  static var flags: Set<String> { get }

  init(_ arguments: Arguments) throws
  /// Returns the exit code.
  func run() throws -> Int32
}
