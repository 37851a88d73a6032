import Foundation
import Sqlable

struct ValueForm: Codable {
  let value: DatabaseValue

  init(_ value: DatabaseValue) { self.value = value }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch value {
    case .null: try container.encode(["null": true])
    case .integer(let integer) where integer.magnitude < 1 << 53: try container.encode(integer)
    case .integer(let integer): try container.encode(["integer": "\(integer)"])
    case .real(let real) where real.isInfinite: try container.encode(["real": real < 0 ? "-inf" : "inf"])
    case .real(let real) where real == 0 && real.sign == .minus: try container.encode(["real": "-0"])
    case .real(let real): try container.encode(["real": real])
    case .text(let text): try container.encode(text)
    case .blob(let data): try container.encode(["blob": data.base64EncodedString()])
    }
  }

  private struct Tagged: Decodable {
    let null: Bool?
    let integer: String?
    let real: Double?
    let blob: Data?
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let text = try? container.decode(String.self) {
      value = .text(text)
    } else if let integer = try? container.decode(Int64.self) {
      value = .integer(integer)
    } else {
      let tagged = try container.decode(Tagged.self)
      if let integer = tagged.integer.flatMap(Int64.init) {
        value = .integer(integer)
      } else if let real = tagged.real {
        value = .real(real)
      } else if let blob = tagged.blob {
        value = .blob(blob)
      } else {
        guard tagged.null == true else {
          throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a value of a document")
        }
        value = .null
      }
    }
  }
}

extension DatabaseValue {
  var literal: String {
    switch self {
    case .null: "NULL"
    case .integer(let integer): "\(integer)"
    case .real(let real): real.isFinite ? "\(real)" : real < 0 ? "-Inf" : "Inf"
    case .text(let text): "'" + text.replacing("'", with: "''") + "'"
    case .blob(let data): "x'" + data.map { String(format: "%02x", $0) }.joined() + "'"
    }
  }
}

extension String {
  /// The text with escapes for code points that a terminal would hide or interpret.
  var visible: String { visible(keeping: []) }

  func visible(keeping exceptions: Set<Unicode.Scalar>) -> String {
    unicodeScalars.reduce(into: "") { text, scalar in
      switch scalar.properties.generalCategory {
      case _ where exceptions.contains(scalar): text.unicodeScalars.append(scalar)
      case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned:
        text += "\\u{\(String(scalar.value, radix: 16))}"
      default: text.unicodeScalars.append(scalar)
      }
    }
  }
}
