import Foundation
import Sqlable
import SqlableRecovery

extension Scenario {
  /// Databases with random tables that are damaged in different ways. The kinds of damage take turns.
  static let salvage = Scenario(
    name: "salvage",
    promise: "A salvage returns no row that was not there, reads every damaged file to its end, and finds the "
      + "rows on intact pages.",
    unit: "damaged files", limit: 240, flaws: ["changesARow", "losesRows"],
    run: { round in
      for number in 0..<4 {
        let kinds = SalvageDamage.allCases
        let damage = kinds[(Int(round.seed % 1_000) * 4 + number) % kinds.count]
        let trial = try SalvageTrial("\(round.directory)/\(number).sqlite", &round.random, damage: damage)
        let (share, figures) = try trial.salvage { path in
          guard let flaw = round.flaw else { return }
          let db = try SqliteDatabase(filepath: path)
          for table in try db.schema().tables.map(\.name) where table.hasPrefix("t") {
            let rows: SQL =
              flaw == "losesRows" ? "DELETE FROM \(table: table)" : "UPDATE \(table: table) SET c0 = 'another'"
            try db.execute(rows)
          }
          try db.close()
        }
        round.tried()
        let intact = trial.intactRows.map { "\($0)" } ?? "unknown"
        round.log(
          "\(figures.recovered) of \(figures.rows) rows and \(figures.wrong) others, reported \(share), "
            + "on intact pages \(intact), \(trial.description)")
        let text = "\(figures.recovered) of \(figures.rows) rows came back, \(trial.description)"
        // Pages in wrong places look like rows of another table. No reader can tell.
        if damage != .shuffled, figures.wrong > 0 { round.report(.invented, "\(figures.wrong) rows, \(text)") }
        // Rows of a table without a name are in `lost_and_found`. Rows below a page in a wrong place can be there, too,
        // or in another table. Rows that look like keys of an index, or like rows of another table, are in
        // `lost_and_found`.
        let found =
          figures.recovered + (damage == .shuffled ? figures.wrong : 0)
          + (damage == .shuffled || trial.hasAmbiguousKeys || trial.hasEqualTables ? figures.unassigned : 0)
        if let intact = trial.intactRows, trial.hasSchema, found * 20 < intact * 19 - 100 {
          round.report(.lost, "\(text), \(intact) on intact pages")
        }
        try trial.remove()
      }
    })
}
