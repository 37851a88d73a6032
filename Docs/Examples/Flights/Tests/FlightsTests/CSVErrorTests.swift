import Foundation
import Testing

@testable import Flights

/// What the reader refuses: the line and the column by name, never the value; the lines behind it are still read.
@Suite struct CSVErrorTests {
  // MARK: A line

  @Test func aLineWithTooFewOrTooManyFieldsIsNamed() throws {
    #expect(
      try readings("a,b_b,c\n1,2,3\n1,2\nx\n1,2,3,4\n1,2,3,\n4,5,6\n")
        == [
          "2: 1|2|3", "! line 3: 2 fields instead of 3", "! line 4: 1 field instead of 3",
          "! line 5: 4 fields instead of 3", "! line 6: 4 fields instead of 3", "7: 4|5|6",
        ])
  }

  @Test func textBehindAClosingQuoteIsNamed() throws {
    #expect(
      try readings("a,b_b,c\n1,\"2\"x,3\n4,5,\"6\"\"7\"8\n\"9\" ,1,2\n\"3\"\rx,1,2\n4,5,6\n")
        == [
          "! line 2: column b_b: text after the closing quote", "! line 3: column c: text after the closing quote",
          "! line 4: column a: text after the closing quote", "! line 5: column a: text after the closing quote",
          "6: 4|5|6",
        ])
  }

  @Test func aQuoteWithoutEndCostsOnlyItsOwnLine() throws {
    #expect(
      try readings("a,b_b,c\n1,\"2,3\n4,5,6\n7,8,9\n")
        == ["! line 2: column b_b: unterminated quote", "3: 4|5|6", "4: 7|8|9"])
    #expect(try readings("a,b_b,c\n1,2,\"") == ["! line 2: column c: unterminated quote"])
    #expect(try readings("a,b_b,c\n1,2,\"\"\"") == ["! line 2: column c: unterminated quote"])
  }

  @Test func aFieldBeyondTheHeaderHasNoColumnToName() throws {
    #expect(try readings("a,b_b,c\n1,2,3,\"4\n") == ["! line 2: unterminated quote"])
    #expect(try readings("a,b_b,c\n1,2,3,\"4\"x\n") == ["! line 2: text after the closing quote"])
  }

  @Test func anErrorBehindARecordOfSeveralLinesHasTheRightLine() throws {
    #expect(
      try readings("a,b_b,c\n1,\"x\n\ny\",3\n\n1,2\n\"\n\n\"\n4,5,6\n")
        == ["2: 1|x\n\ny|3", "! line 6: 2 fields instead of 3", "! line 7: 1 field instead of 3", "10: 4|5|6"])
  }

  @Test func textThatIsNotUTF8IsNamed() throws {
    let lines = [Array("a,b_b,c\n1,".utf8), Array(",3\n4,5,\"".utf8), Array("\"\"\"\n7,8,9".utf8)]
    let bytes = lines[0] + [0xFF, 0x41] + lines[1] + [0xC3] + lines[2]
    #expect(
      try readings(bytes)
        == ["! line 2: column b_b: not valid UTF-8", "! line 3: column c: not valid UTF-8", "4: 7|8|9"])
  }

  @Test func aLineLongerThanTheLargestWindowIsNamed() throws {
    let long = String(repeating: "x", count: 2_500_000)
    #expect(
      try readings("a,b_b,c\n0,\(long),0\n1,2,3\n4,5")
        == ["! line 2: column b_b: longer than 1048576 bytes", "3: 1|2|3", "! line 4: 2 fields instead of 3"])
  }

  @Test func aQuoteThatTakesInMoreThanTheLargestWindowCostsOnlyItsOwnLine() throws {
    let rest = String(repeating: "4,5,6\n", count: 200_000)
    let found = try readings("a,b_b,c\n1,\"2,3\n" + rest)
    #expect(found.first == "! line 2: column b_b: unterminated quote")
    #expect(found.count == 200_001)
    #expect(found.last == "200002: 4|5|6")
  }

  @Test func errorsHoldNoValues() throws {
    let text = "a,b_b,c\nsecret\n\"secret\"secret,1,2\nsecret,\"secret,3\n"
    let found = try readings(Array(text.utf8) + [0xFF] + Array("secret,,\n".utf8))
    #expect(found.count == 4 && found.allSatisfy { $0.hasPrefix("! line") && !$0.contains("secret") }, "\(found)")
  }

  // MARK: The file

  @Test(arguments: ["", "\n\n", "\r\n", "\u{FEFF}", "\u{FEFF}\n"])
  func aFileWithoutAHeaderIsEmpty(text: String) throws {
    #expect(try readings(text) == ["!! is empty: there is no header line"])
  }

  @Test func theColumnsThatAHeaderLacksAreNamed() throws {
    #expect(try readings("x,y\n1,2\n") == ["!! line 1: the header lacks a, b_b, c"])
    #expect(try readings("\n\na,c,B_B\n1,2,3\n") == ["!! line 3: the header lacks b_b"])
    #expect(try readings("a;b_b;c\n1;2;3\n") == ["!! line 1: the header lacks a, b_b, c"])
  }

  @Test func aColumnTwiceInTheHeaderIsRefused() throws {
    #expect(try readings("a,b_b,c,a\n1,2,3,4\n") == ["!! line 1: column a: is in the header twice"])
    #expect(try readings("a,x,b_b,x,c\n1,2,3,4,5\n") == ["2: 1|3|5"])
  }

  @Test func aMalformedHeaderIsRefused() throws {
    #expect(try readings("a,\"b_b,c\n1,2,3\n") == ["!! line 1: unterminated quote"])
    #expect(try readings("a,\"b_b\"x,c\n1,2,3\n") == ["!! line 1: text after the closing quote"])
    #expect(try readings([0xFF, 0xFE] + Array("a,b_b,c\n".utf8)) == ["!! line 1: not valid UTF-8"])
  }

  @Test func whatCannotBeReadSaysWhy() throws {
    #expect(readings(ofFileAt: "/nonexistent/flights.csv") == ["!! No such file or directory"])
    #expect(readings(ofFileAt: "/dev/null") == ["!! is empty: there is no header line"])
    try withDirectory { directory in
      #expect(readings(ofFileAt: directory) == ["!! is a directory, not a file"])
      #expect(readings(ofFileAt: directory + "/file.csv/x") == ["!! No such file or directory"])
    }
    try withFile([]) { path in #expect(readings(ofFileAt: path + "/x") == ["!! Not a directory"]) }
  }

  @Test func aBinaryFileIsRefused() throws {
    #expect(readings(ofFileAt: "/proc/self/exe").count == 1)
  }

  @Test func whatConcernsTheWholeFileIsFatalAndALineIsNot() {
    let fatal: [CSVError.Problem] = [
      .cannotRead(errno: EIO), .isDirectory, .isEmpty, .missingColumns(["a"]), .repeatedColumn,
    ]
    let ofALine: [CSVError.Problem] = [
      .fieldCount(found: 1, expected: 2), .textAfterQuote, .unterminatedQuote, .tooLong(limit: 1), .missing,
      .notAnInteger, .outOfRange, .notANumber, .notADate, .unknownWord, .invalidUTF8,
    ]
    #expect(fatal.allSatisfy { CSVError(line: 1, problem: $0).isFatal })
    #expect(!ofALine.contains { CSVError(line: 1, problem: $0).isFatal })
  }
}
