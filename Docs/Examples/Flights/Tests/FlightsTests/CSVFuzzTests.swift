import Foundation
import Testing

@testable import Flights

/// Random files from a fixed seed: what is written is read, and of any bytes at all the reader makes what an
/// independent evaluation of the rules makes.
@Suite struct CSVFuzzTests {
  @Test func whateverIsWrittenIsReadAgain() throws {
    let seed = SeededGenerator.seed
    var random = SeededGenerator(seed: seed)
    let pieces = ["", "a", "x y", ",", "\"", "\n", "\r\n", "\r", "NA", "ü", "😀", "1", "\"\"", " "]
    for round in 0..<60 {
      let newline = random.pick(["\n", "\r\n"])
      var text = random.chance(30) ? "\u{FEFF}" : ""
      text += "a,b_b,c" + newline
      var line = 2
      var expected: [String] = []
      for _ in 0..<40 {
        while random.chance(10) {
          text += newline
          line += 1
        }
        var written: [String] = []
        var fields: [String] = []
        for _ in 0..<3 {
          let value = (0..<Int.random(in: 0..<4, using: &random)).map { _ in random.pick(pieces) }.joined()
          let needsQuotes = value.unicodeScalars.contains { ",\"\r\n".unicodeScalars.contains($0) }
          let isMissing = value == "NA" && random.chance(50)
          let isQuoted = needsQuotes || (value == "NA" && !isMissing) || random.chance(20)
          written.append(isQuoted && !isMissing ? "\"\(value.replacing("\"", with: "\"\""))\"" : value)
          fields.append(isMissing ? "·" : value)
        }
        text += written.joined(separator: ",") + newline
        expected.append("\(line): \(fields.joined(separator: "|"))")
        line += 1 + written.joined().utf8.count { $0 == UInt8(ascii: "\n") }
      }
      #expect(try readings(text) == expected, "seed \(seed), round \(round)")
    }
  }

  @Test func anyBytesAreReadByTheRules() throws {
    let seed = SeededGenerator.seed
    var random = SeededGenerator(seed: seed)
    let alphabet = Array("aN1,,,,\"\"\"\n\n\r".utf8) + [0xFF, 0]
    let header = Array("a,b_b,c\n".utf8)
    var malformed = 0
    var wellFormed = 0
    // In memory where that can be had, since thousands of files wait for whoever else writes to the disk.
    let memory = "/dev/shm"
    let directory = FileManager.default.isWritableFile(atPath: memory) ? memory : NSTemporaryDirectory()
    let path = "\(directory)/sqlable-test-\(UUID().uuidString).csv"
    defer { unlink(path) }
    for round in 0..<3_000 {
      let body = (0..<Int.random(in: 0..<60, using: &random)).map { _ in random.pick(alphabet) }
      try Data(header + body).write(to: URL(fileURLWithPath: path))
      let found = readings(ofFileAt: path)
      #expect(found == RuleReader(body).readings, "seed \(seed), round \(round): \(body)")
      malformed += found.count { $0.hasPrefix("!") }
      wellFormed += found.count { !$0.hasPrefix("!") }
    }
    #expect(malformed > 1_000 && wellFormed > 500, "\(malformed) malformed lines, \(wellFormed) records")
  }
}

/// The rules once more, over a whole array and without any thought of speed.
private struct RuleReader {
  private(set) var readings: [String] = []
  private let bytes: [UInt8]
  private var index = 0

  private struct Malformed: Error { var reason: String }
  private struct Field {
    var bytes: [UInt8] = []
    var isQuoted = false
  }

  /// Reads what follows a header of the columns a, b_b and c.
  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    while index < bytes.count {
      let start = index
      let line = 2 + bytes[..<start].count { $0 == Byte.newline }
      do {
        let fields = try record()
        if fields.count == 1, fields[0].bytes.isEmpty, !fields[0].isQuoted { continue }
        guard fields.count == 3 else {
          throw Malformed(reason: "\(fields.count) field\(fields.count == 1 ? "" : "s") instead of 3")
        }
        var texts: [String] = []
        for (field, name) in zip(fields, ["a", "b_b", "c"]) {
          guard let text = String(validating: field.bytes, as: UTF8.self) else {
            throw Malformed(reason: "column \(name): not valid UTF-8")
          }
          texts.append(text == "NA" && !field.isQuoted ? "·" : text)
        }
        readings.append("\(line): \(texts.joined(separator: "|"))")
      } catch let error as Malformed {
        readings.append("! line \(line): \(error.reason)")
        // A record that could be taken apart is left behind; of another one only the first line.
        if index == start { index = (bytes[start...].firstIndex(of: Byte.newline) ?? bytes.count - 1) + 1 }
      } catch {
        readings.append("\(error)")
      }
    }
  }

  /// The fields of the record at `index`, which is moved behind it, or left where it is when the record is malformed.
  private mutating func record() throws -> [Field] {
    var rest = bytes[index...]
    var fields: [Field] = []
    while true {
      let column = fields.count < 3 ? "column \(["a", "b_b", "c"][fields.count]): " : ""
      var field = Field()
      if rest.first == Byte.quote {
        field.isQuoted = true
        rest.removeFirst()
        while true {
          guard let byte = rest.popFirst() else { throw Malformed(reason: column + "unterminated quote") }
          if byte == Byte.quote {
            guard rest.first == Byte.quote else { break }
            rest.removeFirst()
          }
          field.bytes.append(byte)
        }
        if rest.starts(with: [Byte.carriageReturn, Byte.newline]) || Array(rest) == [Byte.carriageReturn] {
          rest.removeFirst()
        }
        guard [nil, Byte.comma, Byte.newline].contains(rest.first) else {
          throw Malformed(reason: column + "text after the closing quote")
        }
      } else {
        field.bytes = Array(rest.prefix { $0 != Byte.comma && $0 != Byte.newline })
        rest = rest.dropFirst(field.bytes.count)
        if rest.first != Byte.comma, field.bytes.last == Byte.carriageReturn { field.bytes.removeLast() }
      }
      fields.append(field)
      if rest.popFirst() != Byte.comma {
        index = rest.isEmpty ? bytes.count : rest.startIndex
        return fields
      }
    }
  }
}
