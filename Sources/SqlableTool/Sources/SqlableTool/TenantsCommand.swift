import ArgumentParser
import Foundation
import Sqlable
import SqlableTenants

struct TenantsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "tenants",
    abstract: "Lists, checks, migrates, backs up and restores the databases of a service's tenants.",
    discussion: """
      Works on a directory with a database for each tenant, which a program makes with SqliteTenants. Programs may use \
      the tenants meanwhile.

      Exit codes: 0 done, 1 failed for at least one tenant, 2 a mistake on the command line.
      """,
    subcommands: [List.self, Check.self, Migrate.self, Backup.self, Restore.self])

  func run() throws { throw ValidationError("a subcommand is missing") }

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Prints the names of all tenants, and the sizes of their files in bytes.")

    @Argument(help: "The directory of the tenants, which is only read.")
    var directory: String

    func run() async throws {
      let tenants = try openTenants(directory)
      for try await name in tenants.names {
        let size = DatabaseFiles(of: try tenants.filepath(of: name)).size
        report("\(name)\t\(size)")
      }
    }
  }

  struct Check: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Checks the integrity of all tenants, and prints the damaged ones.")

    @Argument(help: "The directory of the tenants, which is only read.")
    var directory: String

    func run() async throws {
      let tenants = try openTenants(directory)
      var (count, failures) = (0, 0)
      for try await name in tenants.names {
        count += 1
        do {
          let found = try withReadOnlyDatabase(try tenants.filepath(of: name)) { db in
            try db.query("PRAGMA integrity_check(10)", as: String.self)
          }
          guard found != ["ok"] else { continue }
          report("\(name): \(found.joined(separator: "; "))")
        } catch {
          guard try tenants.contains(name) else {
            // The service has deleted the tenant since its name was read.
            count -= 1
            continue
          }
          report("\(name): \(error)")
        }
        failures += 1
      }
      report("\(count) tenants, \(failures) damaged")
      if failures > 0 { throw ExitCode(1) }
    }
  }

  struct Migrate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Applies a directory of SQL migrations to all tenants.",
      discussion: """
        A tenant that fails is reported, and the other tenants are migrated. A run that was stopped continues when it \
        is started again. Prints the number of tenants at each version.
        """)

    @Argument(help: "The directory of the tenants.")
    var directory: String

    @Argument(help: "The directory of the migrations, one per file with the extension .sql, in the order of names.")
    var migrations: String

    @Flag(help: "Change nothing: migrate a copy of each tenant, and print the failures.")
    var dryRun = false

    @Option(
      help: ArgumentHelp("Stop when this many tenants were migrated or have failed.", valueName: "tenants"),
      transform: number(1...1_000_000_000))
    var limit: Int?

    func run() async throws {
      let all = try Migrations(directory: migrations)
      guard !all.all.isEmpty else { throw FileProblem(description: "\(migrations): no file name ends with .sql") }
      let tenants = try openTenants(directory, all)
      let found = try await tenants.migrate(limit: limit, dryRun: dryRun)
      report("current tenants: \(found.current) (\(found.migrated) migrated now)")
      for (name, count) in found.pending.sorted(by: { $0.key < $1.key }) { report("\(count) before \(name)") }
      for name in found.newer { report("\(name): migrated by a newer program") }
      for (name, error) in found.failures { report("\(name): \(error)") }
      if !found.failures.isEmpty || !found.newer.isEmpty { throw ExitCode(1) }
    }
  }
}

/// Opens the directory of a service's tenants. Opens no tenant.
func openTenants(_ directory: String, _ migrations: Migrations? = nil) throws -> SqliteTenants {
  var isDirectory: ObjCBool = false
  // Throw for a missing directory, because `SqliteTenants` would create it.
  guard FileManager.default.fileExists(atPath: directory, isDirectory: &isDirectory), isDirectory.boolValue else {
    throw FileProblem(description: "\(directory): no such directory")
  }
  return try SqliteTenants(
    directory: directory, schema: Schema(), migrations: migrations,
    configuration: TenantsConfiguration(createsMissing: false))
}

func report(_ line: String) {
  Output.write(line.visible(keeping: ["\t"]) + "\n", to: STDOUT_FILENO)
}
