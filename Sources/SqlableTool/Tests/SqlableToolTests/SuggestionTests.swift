import Testing

@testable import SqlableTool

/// Tests of the suggestions for misspelled subcommands and options.
@Suite(.enabled(if: Program.tool.isAvailable, "the tool is not built"))
struct SuggestionTests {
  @Test(arguments: [
    (["bakcup", "a", "b"], "unknown subcommand 'bakcup'; did you mean 'backup'?"),
    (["help", "bakcup"], "unknown subcommand 'bakcup'; did you mean 'backup'?"),
    (["doc", "a"], "unknown subcommand 'doc'; did you mean 'doctor'?"),
    (["hlep"], "unknown subcommand 'hlep'; did you mean 'help'?"),
    (["frobnicate"], "unknown subcommand 'frobnicate'"),
    (["cluster", "helth", "h:1"], "unknown subcommand 'helth'; did you mean 'health'?"),
    (["cluster", "recover-allone", "d"], "unknown subcommand 'recover-allone'; did you mean 'recover-alone'?"),
    (["--hlep"], "unknown option '--hlep'; did you mean '--help'?"),
    (["backup", "--hlep"], "unknown option '--hlep'; did you mean '--help'?"),
    (["backup", "a", "b", "--vacum"], "Unknown option '--vacum'. Did you mean '--vacuum'?"),
    (["backup", "a", "--rat=5"], "unknown option '--rat'; did you mean '--rate'?"),
    (["explain", "s", "--databse", "a"], "unknown option '--databse'; did you mean '--database'?"),
    (["node", "--idd", "3"], "unknown option '--idd'; did you mean '--id'?"),
    (["cluster", "h:1", "--jsno"], "Unknown option '--jsno'. Did you mean '--json'?"),
    (["cluster", "--jsno"], "unknown option '--jsno'; did you mean '--json'?"),
    (["cluster", "health", "h:1", "--secnds", "4"], "Unknown option '--secnds'. Did you mean '--seconds'?"),
    (["cluster", "leave", "--jsno"], "unknown option '--jsno'; did you mean '--json'?"),
  ])
  func aMisspelledWordGetsASuggestion(arguments: [String], message: String) throws {
    try withDirectory { directory in
      let run = try Program.tool.run(arguments, in: directory)
      #expect(run.exitCode == 2)
      #expect(run.output == "")
      #expect(run.errors.hasPrefix("sqlable: \(message)\nUsage: sqlable "), "\(run.errors)")
      #expect(run.errors.contains("--help' for more information.\n"), "\(run.errors)")
    }
  }

  @Test func otherMistakesKeepTheirMessage() throws {
    try withDirectory { directory in
      for (arguments, message) in [
        (["backup", "a"], "Missing expected argument '<target>'"),
        (["backup", "a", "b", "--frobnicate"], "Unknown option '--frobnicate'"),
        (["backup", "a", "--", "--vacum", "c"], "Unexpected argument 'c'"),
        ([], "a subcommand is missing"),
      ] {
        let run = try Program.tool.run(arguments, in: directory)
        #expect(run.exitCode == 2)
        #expect(run.errors.hasPrefix("sqlable: \(message)"), "\(run.errors)")
      }
      // An address can resemble a subcommand.
      #expect(try Program.tool.run(["cluster", "heal:1"], in: directory).exitCode == 1)
    }
  }

  @Test func theDistanceCountsLettersAndSwaps() {
    #expect("backup".distance(to: "backup") == 0)
    #expect("bakcup".distance(to: "backup") == 1)
    #expect("kitten".distance(to: "sitting") == 3)
    #expect("".distance(to: "plan") == 4)
    #expect("plan".distance(to: "") == 4)
    #expect("x".mostSimilar(in: ["plan", "node"]) == nil)
    #expect("".mostSimilar(in: ["plan", "node"]) == nil)
  }
}
