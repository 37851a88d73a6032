import Sqlable

/// A struct that is kept in a table and comes from a file of comma-separated values.
protocol CSVModel: Sqlable {
  associatedtype CSV: CSVColumn

  /// Makes one of the current line. Column and value do not fit: the error names line and column.
  init(csv line: borrowing CSVReader<CSV>) throws(CSVError)
}
