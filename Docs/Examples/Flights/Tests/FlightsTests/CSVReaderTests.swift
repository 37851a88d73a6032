import Foundation
import Testing

@testable import Flights

/// What the reader takes: RFC 4180 and what files in the wild add to it. A row of expectation is `line: a|b_b|c`.
@Suite struct CSVReaderTests {
  @Test func recordsComeWithTheLineThatTheyStartOn() throws {
    #expect(try readings("a,b_b,c\n1,2,3\n4,5,6\n") == ["2: 1|2|3", "3: 4|5|6"])
  }

  @Test func theLastLineNeedsNoNewline() throws {
    #expect(try readings("a,b_b,c\n1,2,3") == ["2: 1|2|3"])
    #expect(try readings("a,b_b,c\n1,2,") == ["2: 1|2|"])
    #expect(try readings("a,b_b,c\n1,2,\"3\"") == ["2: 1|2|3"])
    #expect(try readings("a,b_b,c") == [])
  }

  @Test func aHeaderWithoutRecordsIsAFileWithoutRecords() throws {
    #expect(try readings("a,b_b,c\n") == [])
    #expect(try readings("a,b_b,c\r\n\r\n\n") == [])
  }

  @Test func linesEndInLineFeedOrCarriageReturnAndLineFeed() throws {
    #expect(try readings("a,b_b,c\r\n1,2,3\r\n4,5,6\n7,8,9\r\n") == ["2: 1|2|3", "3: 4|5|6", "4: 7|8|9"])
    #expect(try readings("a,b_b,c\r\n1,2,\"3\"\r\n4,5,\r\n7,8,\"9\"\r") == ["2: 1|2|3", "3: 4|5|", "4: 7|8|9"])
  }

  @Test func aCarriageReturnInsideALineIsData() throws {
    #expect(try readings("a,b_b,c\n1\r,2,3\n") == ["2: 1\r|2|3"])
    #expect(try readings("a,b_b,c\n1,\"2\r\",3\r\n") == ["2: 1|2\r|3"])
  }

  @Test func blankLinesAreSkippedAndCounted() throws {
    #expect(try readings("\n\r\na,b_b,c\n\n1,2,3\n\r\n\n4,5,6\n\n") == ["5: 1|2|3", "8: 4|5|6"])
  }

  @Test func emptyFieldsAreNoBlankLine() throws {
    #expect(try readings("a,b_b,c\n,,\n\"\"\n") == ["2: ||", "! line 3: 1 field instead of 3"])
  }

  @Test func inAFileOfOneColumnAnEmptyLineIsAnEmptyValue() throws {
    enum One: Int, CSVColumn { case a }
    try withFile(Array("a\nx\n\ny\n".utf8)) { path in
      var reader = try CSVReader<One>.open(path)
      var found: [String] = []
      while try reader.advance() { found.append("\(reader.line): \(try reader.text(.a))") }
      #expect(found == ["2: x", "3: ", "4: y"])
    }
  }

  @Test func aByteOrderMarkIsNoPartOfTheFirstName() throws {
    #expect(try readings("\u{FEFF}a,b_b,c\n1,2,3\n") == ["2: 1|2|3"])
    #expect(try readings("\u{FEFF}\"a\",b_b,c\r\n1,2,3\r\n") == ["2: 1|2|3"])
    #expect(try readings("a,b_b,c\n\u{FEFF}1,2,3\n") == ["2: \u{FEFF}1|2|3"])
  }

  @Test func columnsAreFoundByNameInAnyOrderAmongOthers() throws {
    #expect(try readings("c,x,b_b,\"a\"\n1,2,3,4\n5,6,7,8\n") == ["2: 4|3|1", "3: 8|7|5"])
  }

  @Test func namesOfColumnsAreInSnakeCase() {
    #expect(Letters.allCases.map(\.name) == ["a", "b_b", "c"])
    #expect(Flight.CSV.schedDepTime.name == "sched_dep_time")
  }

  @Test func quotesKeepCommasNewlinesAndQuotes() throws {
    #expect(try readings("a,b_b,c\n\"1,x\",\"a \"\"q\"\" b\",\"\"\"\"\n") == ["2: 1,x|a \"q\" b|\""])
    #expect(try readings("a,b_b,c\n\"\",\"\"\"\"\"\",\"\"\"x\"\n") == ["2: |\"\"|\"x"])
  }

  @Test func aRecordOfSeveralLinesHasTheLineOfItsFirst() throws {
    let text = "a,b_b,c\n1,\"l1\nl2\r\nl3\",3\n4,5,6\n\"\n\n\",8,9\n1,2,3\n"
    #expect(try readings(text) == ["2: 1|l1\nl2\r\nl3|3", "5: 4|5|6", "6: \n\n|8|9", "9: 1|2|3"])
  }

  @Test func aQuoteInsideAnUnquotedFieldIsData() throws {
    #expect(try readings("a,b_b,c\n1,2\"2,3\"\n4, \"5\",6\n") == ["2: 1|2\"2|3\"", "3: 4| \"5\"|6"])
  }

  @Test func spacesAreData() throws {
    #expect(try readings("a,b_b,c\n 1 ,\t2,\" 3 \"\n") == ["2:  1 |\t2| 3 "])
  }

  @Test func naIsNoValueUnlessQuoted() throws {
    let readings = try readings("a,b_b,c\nNA,\"NA\",NA\r\nna,NAN,N\n, NA,\"\"\n")
    #expect(readings == ["2: ·|NA|·", "3: na|NAN|N", "4: | NA|"])
  }

  @Test func textIsUnicodeAndMayHoldNulBytes() throws {
    #expect(try readings("a,b_b,c\nü,\"日本 \"\"😀\"\"\",x\0y\n") == ["2: ü|日本 \"😀\"|x\0y"])
  }

  @Test func theEndOfTheFileIsReportedAgainAndAgain() throws {
    try withFile(Array("a,b_b,c\n1,2,3\n".utf8)) { path in
      var reader = try CSVReader<Letters>.open(path)
      #expect(try reader.advance())
      for _ in 0..<3 { #expect(try !reader.advance()) }
    }
  }

  @Test func whatIsReadOfTheFileIsKnownForAProgressDisplay() throws {
    try withFile(Array("a,b_b,c\n1,2,3\n4,5,6\n".utf8)) { path in
      var reader = try CSVReader<Letters>.open(path)
      #expect(reader.window.fileSize == 20)
      #expect(reader.bytesRead == 8)
      #expect(try reader.advance())
      #expect(reader.bytesRead == 14)
      while try reader.advance() {}
      #expect(reader.bytesRead == 20)
    }
  }
}
