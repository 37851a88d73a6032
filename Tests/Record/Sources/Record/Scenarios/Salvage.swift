import Foundation
import Sqlable
import SqlableRecovery

extension Scenario {
  /// A database with random tables, of whose pages a hundredth is overwritten with zeros.
  static let salvage = Scenario(
    name: "salvage",
    promise: "A salvage returns no row that was not there, and reads every damaged file to its end.",
    unit: "damaged files", limit: 120, flaws: ["changesARow"],
    run: { round in
      for number in 0..<5 {
        let trial = try SalvageTrial(round.directory + "/\(number).sqlite", &round.random)
        let (share, figures) = try trial.salvage { path in
          guard round.flaw == "changesARow" else { return }
          let db = try SqliteDatabase(filepath: path)
          try db.execute("UPDATE t0 SET c0 = 'another'")
          try db.close()
        }
        round.tried()
        round.log("\(figures.recovered) of \(figures.rows) rows, reported \(share), \(trial.description)")
        if figures.wrong > 0 { round.report(.invented, "\(figures.wrong) rows, \(trial.description)") }
        if trial.hasFirstPage, figures.rows > 5_000, figures.share < 0.5 {
          round.report(.lost, "\(figures.share) of \(figures.rows) rows came back, \(trial.description)")
        }
        try trial.remove()
      }
    })
}
