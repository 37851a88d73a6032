import Foundation
import Hummingbird
import Sqlable

/// What a statement gives, as JSON: `{"rows": [{"id": 1, …}]}`, `{"number": 3}` or `{"exists": true}`.
struct SearchResult: ResponseEncodable {
  private let output: AnyStatement.Output

  init(_ output: AnyStatement.Output) { self.output = output }

  private enum Key: String, CodingKey {
    case rows, number, ids, exists
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    switch output {
    case .rows(let rows):
      let names = SearchResult.names(rows.first?.columns ?? [])
      try container.encode(
        rows.map { row in
          Dictionary(uniqueKeysWithValues: zip(names, row.values.map(SearchValue.init)))
        }, forKey: .rows)
    case .number(let number): try container.encode(number, forKey: .number)
    case .ids(let ids): try container.encode(ids, forKey: .ids)
    case .exists(let exists): try container.encode(exists, forKey: .exists)
    }
  }

  /// A name for each column: a second `price` is `price 2`.
  static func names(_ columns: [String]) -> [String] {
    var taken = Set(columns)
    var counts: [String: Int] = [:]
    return columns.map { column in
      counts[column, default: 0] += 1
      guard counts[column] != 1 else { return column }
      while true {
        let name = "\(column) \(counts[column, default: 0])"
        if taken.insert(name).inserted { return name }
        counts[column, default: 0] += 1
      }
    }
  }
}

/// A value as the format of statements has it, exact for every class: what an answer holds can stand in a statement.
private struct SearchValue: Encodable {
  let value: DatabaseValue

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch value {
    case .null: try container.encode(["null": true])
    case .text(let text): try container.encode(text)
    // A number of JavaScript is exact up to here.
    case .integer(let integer) where integer.magnitude < 1 << 53: try container.encode(integer)
    case .integer(let integer): try container.encode(["integer": "\(integer)"])
    case .real(let real) where real.isFinite && (real != 0 || real.sign == .plus): try container.encode(["real": real])
    case .real(let real): try container.encode(["real": real == 0 ? "-0" : "\(real)"])
    case .blob(let data): try container.encode(["blob": data.base64EncodedString()])
    }
  }
}
