import Sqlable

/// A struct that is stored in a table and read from a CSV file.
protocol CSVModel: Sqlable {
  associatedtype CSV: CSVColumn

  /// Makes one from the current line. If a value does not fit, the error names line and column.
  init(csv line: borrowing CSVReader<CSV>) throws(CSVError)
}
