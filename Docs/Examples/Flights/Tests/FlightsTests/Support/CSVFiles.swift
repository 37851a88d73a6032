import Foundation
import Testing

@testable import Flights

/// The columns of the files that the tests of the reader make: `a`, `b_b` and `c`.
enum Letters: Int, CSVColumn { case a, bB, c }

/// Calls `body` with the path of a file that holds `bytes`, which is deleted afterwards.
func withFile<Result>(_ bytes: [UInt8], _ body: (String) throws -> Result) throws -> Result {
  try withDirectory { directory in
    let path = directory + "/file.csv"
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    return try body(path)
  }
}

/// What a reader makes of a file with this text: see `readings(ofFileAt:)`.
func readings(_ text: String) throws -> [String] { try readings(Array(text.utf8)) }

func readings(_ bytes: [UInt8]) throws -> [String] { try withFile(bytes, readings(ofFileAt:)) }

/// What a reader makes of a file: per record its line and the fields a, b_b and c, `·` for one that is missing; after
/// `!` what is wrong with a line, after `!!` what makes the whole file useless.
func readings(ofFileAt path: String) -> [String] {
  var readings: [String] = []
  do throws(CSVError) {
    var reader = try CSVReader<Letters>.open(path)
    while true {
      do throws(CSVError) {
        guard try reader.advance() else { break }
        var fields: [String] = []
        for column in Letters.allCases { fields.append(try reader.optionalText(column) ?? "·") }
        readings.append("\(reader.line): \(fields.joined(separator: "|"))")
      } catch {
        readings.append("! \(error)")
        if error.isFatal { break }
      }
    }
  } catch {
    readings.append("!! \(error)")
  }
  return readings
}
