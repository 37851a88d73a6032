/// What the command line asks for.
struct Options {
  var only: [String] = []
  var except: [String] = []
  var contenders: [String] = []
  var rounds = 7
  var scale = 1.0
  var reads: Int?
  var json = false
  var gate: String?
  var record: String?
  var memory = true
  var help = false
  var list = false
  var directory: String?
  /// What a child process is asked for that measures the memory of one contender: a workload.
  var peak: String?
  /// What a child process is asked for that is one of several writers.
  var writer: String?

  struct Problem: Error, CustomStringConvertible {
    let description: String
  }

  static let usage = """
    Measures the library beside hand-written C and others, in one process, contender after contender, round after round,
    and prints the medians and their ratios to C.

    swift run -c release --package-path Tests/Benchmarks Benchmarks [options]

      --only W3,W4           these workloads (W1 to W11, W2n, W3a, S1 to S10, M1, M2; see --list);
                             W12 and W13, of several processes, W14, of many tasks, and W15, of a writer beside
                             loops, are run only when they are asked for
      --except W9            all but these
      --contender "raw C"    contenders whose names begin so; several with commas between;
                             "=raw C" is the one that is called so
      --rounds n             how many rounds (7); an even number gives the lower middle
      --scale x              multiplies the sizes of the workloads (1)
      --reads n              each reader of W9 reads n rows, without a writer, instead of for a time
      --directory path       keeps the databases there, and takes those that are there, of the same scale
      --json                 prints JSON instead of a table
      --gate file            fails (exit code 1) when a ratio of this library is over its limit in the file
      --record file          writes the ratios measured, with a margin, as the limits of such a file
      --no-memory            leaves out M1 and M2, the memory per row of W1 and W2
      --list                 names the workloads
      --help                 prints this

    Without GRDB, of which nothing is then fetched or built: swift run -c release --disable-default-traits …
    """

  init(_ arguments: [String]) throws {
    var rest = arguments[...]
    func value(of option: String) throws -> String {
      guard let value = rest.popFirst() else { throw Problem(description: "\(option) needs a value") }
      return value
    }
    func list(_ option: String) throws -> [String] {
      let list = try value(of: option).split(separator: ",").map(String.init)
      guard !list.isEmpty else { throw Problem(description: "\(option) needs at least one name") }
      return list
    }
    while let option = rest.popFirst() {
      switch option {
      case "--only": only += try list(option)
      case "--except": except += try list(option)
      case "--contender": contenders += try list(option)
      case "--rounds":
        let text = try value(of: option)
        guard let rounds = Int(text), (1...1_000).contains(rounds) else {
          throw Problem(description: "--rounds takes a number from 1 to 1000, not “\(text)”")
        }
        self.rounds = rounds
      case "--scale":
        let text = try value(of: option)
        guard let scale = Double(text), scale > 0, scale <= 100 else {
          throw Problem(description: "--scale takes a number over 0 and up to 100, not “\(text)”")
        }
        self.scale = scale
      case "--reads":
        let text = try value(of: option)
        guard let reads = Int(text), reads > 0 else {
          throw Problem(description: "--reads takes a number over 0, not “\(text)”")
        }
        self.reads = reads
      case "--json": json = true
      case "--gate": gate = try value(of: option)
      case "--record": record = try value(of: option)
      case "--no-memory": memory = false
      case "--list": self.list = true
      case "--help", "-h": help = true
      case "--peak": peak = try value(of: option)
      case "--writer": writer = try value(of: option)
      case "--directory": directory = try value(of: option)
      default: throw Problem(description: "“\(option)” is no option; --help lists them")
      }
    }
    guard gate == nil || record == nil else {
      throw Problem(description: "--gate and --record exclude one another")
    }
  }

  func includes(workload id: String) -> Bool { (only.isEmpty || only.contains(id)) && !except.contains(id) }

  func includes(contender name: String) -> Bool {
    contenders.isEmpty || contenders.contains { $0.hasPrefix("=") ? $0.dropFirst() == name : name.hasPrefix($0) }
  }
}
