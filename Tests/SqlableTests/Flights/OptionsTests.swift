import Testing

@testable import Flights

@Suite struct OptionsTests {
  private func mistake(_ arguments: String...) -> String? {
    do {
      _ = try Options(arguments)
      return nil
    } catch {
      return error.description
    }
  }

  @Test func withoutArgumentsTheShippedMonthGoesIntoATemporaryDatabase() throws {
    let options = try Options([])
    #expect(options == Options(flightsPath: nil, databasePath: nil, errorPolicy: .stop, isHelpWanted: false))
  }

  @Test func theFileAndTheOptionsComeInAnyOrder() throws {
    let expected = Options(flightsPath: "f.csv", databasePath: "x.sqlite", errorPolicy: .skip)
    #expect(try Options(["f.csv", "--database", "x.sqlite", "--on-error", "skip"]) == expected)
    #expect(try Options(["--on-error", "skip", "f.csv", "--database", "x.sqlite"]) == expected)
    #expect(try Options(["--database", "x.sqlite", "--on-error", "skip", "f.csv"]) == expected)
  }

  @Test func aValueMayFollowAnEqualsSign() throws {
    #expect(try Options(["--on-error=skip"]).errorPolicy == .skip)
    #expect(try Options(["--on-error=stop"]).errorPolicy == .stop)
    #expect(try Options(["--database=x=y"]).databasePath == "x=y")
    #expect(try Options(["--database", "x=y"]).databasePath == "x=y")
  }

  @Test func theLastOfAnOptionCounts() throws {
    #expect(try Options(["--on-error", "skip", "--on-error", "stop"]).errorPolicy == .stop)
  }

  @Test func behindTwoHyphensEverythingIsAFile() throws {
    #expect(try Options(["--", "--help"]).flightsPath == "--help")
    #expect(try Options(["--on-error", "skip", "--", "-x"]) == Options(flightsPath: "-x", errorPolicy: .skip))
    #expect(mistake("--", "a", "--") == "only one file can be imported at a time")
  }

  @Test func theQuestionsAreAskedOfAnyFile() throws {
    #expect(try Options(["--questions"]) == Options(asksQuestions: true))
    #expect(try Options(["--questions", "f.csv"]) == Options(flightsPath: "f.csv", asksQuestions: true))
    #expect(mistake("--questions=3") == "unknown option --questions=3")
  }

  @Test func helpIsAskedForInTwoWays() throws {
    #expect(try Options(["--help"]).isHelpWanted)
    #expect(try Options(["f.csv", "-h"]).isHelpWanted)
  }

  @Test func mistakesAreNamed() {
    #expect(mistake("--nope") == "unknown option --nope")
    #expect(mistake("-x") == "unknown option -x")
    #expect(mistake("-") == "unknown option -")
    #expect(mistake("--help=yes") == "unknown option --help=yes")
    #expect(mistake("--Database", "x") == "unknown option --Database")
    #expect(mistake("a", "b") == "only one file can be imported at a time")
    #expect(mistake("") == "the path of the flights is empty")
    #expect(mistake("--database") == "--database needs a value")
    #expect(mistake("--database=") == "--database needs a value")
    #expect(mistake("--database", "") == "--database needs a value")
    #expect(mistake("--on-error") == "--on-error needs a value")
    #expect(mistake("--on-error", "ignore") == "--on-error is either stop or skip")
    #expect(mistake("--on-error=SKIP") == "--on-error is either stop or skip")
  }

  @Test func theUsageNamesEveryOption() {
    for word in ["--questions", "--database", "--on-error", "--help", "stop", "skip"] {
      #expect(Options.usage.contains(word))
    }
    #expect(Options.usage.split(separator: "\n").allSatisfy { $0.count <= 120 })
  }
}
