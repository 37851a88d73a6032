import Foundation
import Testing

@testable import Flights

/// The window slides over the file in pieces; where a piece ends makes no difference to what is read.
@Suite struct CSVWindowTests {
  /// How many bytes of a file the reader takes at first.
  private static let piece = 1 << 18

  @Test func aRecordIsReadWholeWhereverThePieceEnds() throws {
    let header = "a,b_b,c\n"
    let records = "1,\"q\"\"\"\"r\nü\",\"z\"\r\n\"\"\"\",,\"\"\r\n\r\nNA,\"NA\",\"\n\"\"\"\n4,5,6\r\n"
    let expected = ["3: 1|q\"\"r\nü|z", "5: \"||", "7: ·|NA|\n\"", "9: 4|5|6"]
    for offset in 0...records.utf8.count {
      let padding = String(repeating: "p", count: Self.piece - header.utf8.count - "0,,0\n".utf8.count - offset)
      #expect(
        try readings(header + "0,\(padding),0\n" + records) == ["2: 0|\(padding)|0"] + expected,
        "the piece ends after \(offset) bytes of the records")
    }
  }

  @Test func aMalformedLineIsNamedWhereverThePieceEnds() throws {
    let header = "a,b_b,c\n"
    let records = "1,\"2\"x,3\n4,5\n6,\"7,8\n9,1,2\n"
    let expected = [
      "! line 3: column b_b: text after the closing quote", "! line 4: 2 fields instead of 3",
      "! line 5: column b_b: unterminated quote", "6: 9|1|2",
    ]
    for offset in 0...records.utf8.count {
      let padding = String(repeating: "p", count: Self.piece - header.utf8.count - "0,,0\n".utf8.count - offset)
      #expect(
        try readings(header + "0,\(padding),0\n" + records).dropFirst() == expected[...],
        "the piece ends after \(offset) bytes of the records")
    }
  }

  @Test func manyRecordsOfAllLengthsAreReadWhole() throws {
    let fill = (0..<97).map { String(repeating: "z", count: $0) }
    var text = "a,b_b,c\r\n"
    var expected: [String] = []
    for number in 0..<10_000 {
      text += "\(number),\"q\"\"\(number)\nü\",\(fill[number % 97])\r\n"
      expected.append("\(2 * number + 2): \(number)|q\"\(number)\nü|\(fill[number % 97])")
    }
    #expect(text.utf8.count > 2 * Self.piece)
    #expect(try readings(text) == expected)
  }

  @Test func theWindowGrowsForALongRecord() throws {
    let long = String(repeating: "y", count: 900_000)
    #expect(
      try readings("a,b_b,c\n1,2,3\n4,\(long),\"\(long.prefix(100_000))\"\"\"\n7,8,9\n")
        == ["2: 1|2|3", "3: 4|\(long)|\(long.prefix(100_000))\"", "4: 7|8|9"])
  }

  @Test func aRecordMayFillTheLargestWindowAndNoMore() throws {
    func record(of count: Int) -> String { "1,2," + String(repeating: "y", count: count - 5) + "\n" }
    let limit = FileWindow.limit
    #expect(try readings("a,b_b,c\n" + record(of: limit) + "4,5,6\n").count == 2)
    #expect(try readings("a,b_b,c\n" + record(of: limit) + "4,5,6\n").last == "3: 4|5|6")
    #expect(
      try readings("a,b_b,c\n" + record(of: limit + 1) + "4,5,6\n")
        == ["! line 2: column c: longer than 1048576 bytes", "3: 4|5|6"])
  }

  @Test func aPipeIsReadInWhatPiecesItComes() throws {
    try withDirectory { directory in
      let path = directory + "/pipe"
      try #require(mkfifo(path, 0o600) == 0)
      let text = "\u{FEFF}a,b_b,c\r\n" + (0..<300).map { "\($0),\"q\"\"\n\",ü\r\n" }.joined()
      let thread = Thread {
        let pipe = open(path, O_WRONLY)
        // A byte at a time; most of them arrive alone, which is the worst there is.
        for byte in text.utf8 { withUnsafeBytes(of: byte) { _ = write(pipe, $0.baseAddress, 1) } }
        close(pipe)
      }
      thread.start()
      #expect(readings(ofFileAt: path) == (0..<300).map { "\(2 * $0 + 2): \($0)|q\"\n|ü" })
    }
  }

  @Test func thePartThatIsKeptMovesToTheFront() throws {
    try withFile(Array("abcdefghij".utf8)) { path in
      var window = try FileWindow(path: path, capacity: 4)
      func text() -> String {
        String(decoding: UnsafeBufferPointer(start: window.bytes, count: window.count), as: UTF8.self)
      }
      #expect(try window.refill(keepingFrom: 0) && text() == "abcd" && window.bytesRead == 4)
      #expect(try window.refill(keepingFrom: 3) && text() == "defg" && window.bytesRead == 7)
      #expect(try window.refill(keepingFrom: 0) && text() == "defghij" && window.bytesRead == 10, "it has grown")
      #expect(!window.isAtEnd && window.fileSize == 10)
      #expect(try window.refill(keepingFrom: 7) && text() == "" && window.isAtEnd && window.bytesRead == 10)
    }
  }
}
