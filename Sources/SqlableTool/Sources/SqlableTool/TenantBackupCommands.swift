import ArgumentParser
import Foundation
import Sqlable
import SqlableTenants

extension TenantsCommand {
  struct Backup: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Backs up all tenants that have changed since their last backup.",
      discussion: """
        Each tenant gets a further backup in the directory of the backups, beside its earlier ones. A tenant that \
        fails is reported, and the other tenants are backed up. A run that was stopped continues when it is started \
        again.
        """)

    @Argument(help: "The directory of the tenants, which is only read.")
    var directory: String

    @Argument(help: "The directory of the backups, which is created if it is missing.")
    var target: String

    @Option(
      help: ArgumentHelp("Copy at most this many megabytes per second in total.", valueName: "megabytes"),
      transform: number(1...1_000_000))
    var rate: Int?

    @Option(
      help: ArgumentHelp(
        "Delete backups that are not needed to restore a tenant to any time of these days.", valueName: "days"),
      transform: number(1...100_000))
    var keep: Int?

    func run() async throws {
      let found = try await openTenants(directory).backup(
        to: target, bytesPerSecond: rate.map { $0 * 1_000_000 }, keep: keep.map { .seconds($0 * 86_400) })
      for (name, error) in found.failures { report("\(name): \(error)") }
      report(
        "backed up \(found.copied + found.unchanged) of \(found.count) tenants (\(found.unchanged) unchanged), "
          + found.bytes.sizeText)
      if !found.failures.isEmpty { throw ExitCode(1) }
    }
  }

  struct Restore: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Replaces a tenant by its last backup, or by its last backup before a time.",
      discussion: """
        Creates the tenant if it is missing. After a crash, there is the old or the restored tenant. Fails if a \
        service has the tenant open.
        """)

    @Argument(help: "The directory of the tenants.")
    var directory: String

    @Argument(help: "The directory of the backups, which is only read.")
    var source: String

    @Argument(help: "The name of the tenant.")
    var name: String

    @Option(
      name: .customLong("at"),
      help: ArgumentHelp("The last backup at or before this time: 2026-11-24T12:00:00Z.", valueName: "time"),
      transform: parsedTime)
    var time: Date?

    @Flag(help: "Only print the times and files of the backups, and change nothing.")
    var list = false

    func run() async throws {
      let tenants = try openTenants(directory)
      let all = try tenants.backups(of: name, in: source)
      if list { return report(all.map { "\($0.time.text)\t\($0.path)" }.joined(separator: "\n")) }
      guard let backup = all.last(where: { backup in time.map { backup.time <= $0 } ?? true }) else {
        let moment = time.map { " at or before \($0.text)" } ?? ""
        throw FileProblem(description: "\(source): no backup of the tenant\(moment)")
      }
      try await tenants.restore(name, from: backup.path)
      report("restored the backup of \(backup.time.text)")
    }
  }
}
