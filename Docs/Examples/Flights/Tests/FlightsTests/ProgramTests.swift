import Foundation
import Sqlable
import Testing

@testable import Flights

/// The built program as a process of its own: what it prints, and what it leaves behind.
@Suite(.enabled(if: Program.flights.isAvailable, "the executable is not beside the tests"))
struct ProgramTests {
  @Test func helpIsPrintedAndNothingElseDone() throws {
    try withDirectory { directory in
      let run = try Program.flights.run(["--help", "--database", directory + "/x.sqlite"], in: directory)
      #expect(run.exitCode == 0)
      #expect(run.output.contains("USAGE: Flights [<flights.csv>]"))
      #expect(run.errors == "")
      #expect(!FileManager.default.fileExists(atPath: directory + "/x.sqlite"))
    }
  }

  @Test func aMistakeOnTheCommandLineIsExitCode2() throws {
    try withDirectory { directory in
      let run = try Program.flights.run(["--nope"], in: directory)
      #expect(run.exitCode == 2)
      #expect(run.output == "")
      #expect(run.errors.hasPrefix("Flights: Unknown option '--nope'\nUsage: Flights [<flights.csv>] "))
    }
  }

  @Test func aMissingFileIsExitCode1AndNoDatabaseIsMade() throws {
    try withDirectory { directory in
      let run = try Program.flights.run(["missing.csv", "--database", "x.sqlite"], in: directory)
      #expect(run == Program.Run(exitCode: 1, output: "", errors: "Flights: missing.csv: No such file or directory\n"))
      #expect(!FileManager.default.fileExists(atPath: directory + "/x.sqlite"))
    }
  }

  @Test func aSecondRunReplacesTheFlightsOfTheFirst() throws {
    try withDirectory { directory in
      try writeFlights((1...3).map { FlightLines.flight($0) }, to: directory + "/first.csv")
      try writeFlights((4...5).map { FlightLines.flight($0) }, to: directory + "/second.csv")
      let first = try Program.flights.run(["first.csv", "--database", "x.sqlite"], in: directory)
      #expect(first.exitCode == 0)
      #expect(first.errors == "")
      #expect(first.output.hasPrefix("Importing first.csv\ninto x.sqlite\n\nImported"))
      let second = try Program.flights.run(["second.csv", "--database", "x.sqlite"], in: directory)
      #expect(second.exitCode == 0)
      #expect(second.errors == "")
      #expect(second.output.contains("\nwhere the 3 flights of an earlier import are replaced\n"))
      #expect(second.output.contains("\nOf 2 flights\n"))

      let db = try SqliteDatabase(filepath: directory + "/x.sqlite")
      #expect(try db.flightNumbers() == [4, 5])
      #expect(try Airline.count().run(db) == 16)
      #expect(try Airport.count().run(db) == 1_458)
      #expect(try Plane.count().run(db) == 3_322)
      try db.close()
    }
  }

  @Test func theQuestionsAreAskedOfTheFileAndTheWeatherBesideIt() throws {
    try withDirectory { directory in
      try writeFlights((1...3).map { FlightLines.flight($0) }, to: directory + "/flights.csv")
      let header =
        "origin,year,month,day,hour,temp,dewp,humid,wind_dir,wind_speed,wind_gust,precip,pressure,visib,time_hour"
      let line = "EWR,2013,1,1,5,39,26,59,270,10.5,NA,0.5,1012,2.5,2013-01-01T10:00:00Z"
      try Data("\(header)\n\(line)\n".utf8).write(to: URL(fileURLWithPath: directory + "/weather.csv"))
      let run = try Program.flights.run(["flights.csv", "--questions", "--database", "x.sqlite"], in: directory)
      #expect(run.exitCode == 0)
      #expect(run.errors == "")
      #expect(run.output.hasPrefix("Importing flights.csv\nwith weather.csv beside it\ninto x.sqlite\n\nImported"))
      #expect(run.output.contains("\n  United Air Lines Inc.        3       11.00\n"))
      #expect(run.output.contains("\n  EWR      2013-01-01 10:00        3        2.00  10.50  0.50  2.50\n"))
      #expect(run.output.hasSuffix("\nAll 20 statements give the same answers as the SQL written by hand.\n"))
      #expect(run.output.count(of: ": same answer)\n") == 20)
      let db = try SqliteDatabase(filepath: directory + "/x.sqlite")
      #expect(try Weather.count().run(db) == 1)
      try db.close()
    }
  }

  @Test func aMalformedLineIsNamedAndWhatIsStoredIsSaid() throws {
    try withDirectory { directory in
      try writeFlights(
        [FlightLines.flight(1), FlightLines.flight(2), FlightLines.malformed(3), FlightLines.flight(4)],
        to: directory + "/flights.csv")
      let stopped = try Program.flights.run(["flights.csv", "--database", "x.sqlite"], in: directory)
      #expect(stopped.exitCode == 1)
      #expect(
        stopped.errors == """
          Flights: flights.csv: line 4: \(FlightLines.reason)
          The import stopped there. The 2 rows before it are stored.

          """)
      #expect(try SqliteDatabase(filepath: directory + "/x.sqlite").flightNumbers() == [1, 2])

      let skipped = try Program.flights.run(["flights.csv", "--database=x.sqlite", "--on-error=skip"], in: directory)
      #expect(skipped.exitCode == 0)
      #expect(skipped.errors == "")
      #expect(skipped.output.contains("\nflight: 1 line skipped\n  line 4: \(FlightLines.reason)\n"))
      #expect(try SqliteDatabase(filepath: directory + "/x.sqlite").flightNumbers() == [1, 2, 4])
    }
  }

  @Test func aDatabaseOfAnotherProgramIsExitCode1AndStaysAsItIs() throws {
    try withDirectory { directory in
      let path = directory + "/other.sqlite"
      let db = try SqliteDatabase(filepath: path)
      try db.execute("CREATE TABLE person (name TEXT); INSERT INTO person VALUES ('Ann')")
      try db.close()
      let before = try Data(contentsOf: URL(fileURLWithPath: path))
      let run = try Program.flights.run(["--database", "other.sqlite"], in: directory)
      #expect(run.exitCode == 1)
      #expect(run.output == "")
      #expect(run.errors == "Flights: other.sqlite: is a database of another program; it was left as it is\n")
      #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
    }
  }
}

extension String {
  fileprivate func count(of text: String) -> Int { components(separatedBy: text).count - 1 }
}
