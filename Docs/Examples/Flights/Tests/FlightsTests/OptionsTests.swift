import ArgumentParser
import Testing

@testable import Flights

@Suite struct OptionsTests {
  private func mistake(_ arguments: String...) -> String? {
    do {
      _ = try Options.parse(arguments)
      return nil
    } catch {
      return Options.message(for: error)
    }
  }

  @Test func withoutArgumentsTheShippedMonthGoesIntoATemporaryDatabase() throws {
    let options = try Options.parse([])
    #expect(options.flightsPath == nil)
    #expect(options.databasePath == nil)
    #expect(options.errorPolicy == .stop)
    #expect(!options.asksQuestions)
  }

  @Test func theFileAndTheOptionsComeInAnyOrder() throws {
    for arguments in [
      ["f.csv", "--database", "x=y", "--on-error", "skip"], ["--on-error=skip", "f.csv", "--database=x=y"],
      ["--on-error", "stop", "--database", "x=y", "--on-error", "skip", "--", "f.csv"],
    ] {
      let options = try Options.parse(arguments)
      #expect(options.flightsPath == "f.csv")
      #expect(options.databasePath == "x=y")
      #expect(options.errorPolicy == .skip)
    }
    let questions = try Options.parse(["--questions", "f.csv"])
    #expect(questions.asksQuestions)
    #expect(questions.flightsPath == "f.csv")
  }

  @Test func mistakesAreNamed() {
    #expect(mistake("--nope") == "Unknown option '--nope'")
    #expect(mistake("a", "b") == "Unexpected argument 'b'")
    #expect(mistake("") == "the path of the flights is empty")
    #expect(mistake("--database", "") == "--database needs a value")
    for arguments in [["--database"], ["--database="]] {
      #expect(mistake(arguments[0]) == "Missing value for '--database <path>'")
    }
    #expect(mistake("--on-error", "ignore")?.hasPrefix("The value 'ignore' is invalid for '--on-error") == true)
  }

  @Test func theHelpNamesEveryOption() {
    let help = Main.helpMessage(columns: 120)
    for word in ["<flights.csv>", "--questions", "--database <path>", "--on-error", "--help", "stop", "skip", "codes"] {
      #expect(help.contains(word), "\(word)")
    }
  }
}
