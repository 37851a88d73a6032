/// All workloads: W1 to W11 are those of the library's goals, S1 to S11 what services do besides, Q1 to Q4
/// the forms of a query.
struct Suite {
  let fixture: Fixture

  var workloads: [Workload] {
    scans + pointSelects + writes + queries + throughput + sharedCommits + observed + services + statements
      + associations + statementsAsData + queryForms
  }

  /// A workload of the contenders given, and between them the peers that are part of this build.
  func workload(
    _ id: String, _ title: String, operations: Int, unit: Workload.Unit = .milliseconds, maximumRounds: Int = .max,
    contenders: @escaping () throws -> [Workload.Contender]
  ) -> Workload {
    Workload(id, title, operations: operations, unit: unit, maximumRounds: maximumRounds) { [fixture] in
      var all = try contenders()
      let place = all.firstIndex { $0.name.hasPrefix(Name.sqlable) } ?? all.endIndex
      all.insert(contentsOf: try peers(of: id, fixture: fixture, operations: operations), at: place)
      return all
    }
  }
}

#if !GRDB
/// Without the package trait GRDB there are none.
func peers(of id: String, fixture: Fixture, operations: Int) throws -> [Workload.Contender] { [] }
#endif
