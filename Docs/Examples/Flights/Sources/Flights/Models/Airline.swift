import Sqlable

/// An airline. Its key is the carrier code: a natural key, a text.
///
/// Its columns are typed: `Airline.name == 5` does not compile, and neither does reading `name` as a number.
struct Airline: Hashable, Sendable {
  var carrier: String
  var name: String
}

extension Airline: Sqlable {
  static let carrier = column("carrier", String.self, PrimaryKey())
  static let name = column("name", String.self)
  static let tableLayout = [carrier.column, name.column]

  func valueForColumn(_ column: Column) -> SqlValue? {
    switch column {
    case Airline.carrier: carrier
    case Airline.name: name
    case _: nil
    }
  }

  init(row: ReadRow) throws {
    carrier = try row.get(Airline.carrier)
    name = try row.get(Airline.name)
  }
}

extension Airline: CSVModel {
  enum CSV: Int, CSVColumn { case carrier, name }

  init(csv line: borrowing CSVReader<CSV>) throws(CSVError) {
    carrier = try line.text(.carrier)
    name = try line.text(.name)
  }
}
