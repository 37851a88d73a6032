import SqlableCore

/// A row of numbers that are narrower than 64 bits, or have no sign.
struct Crate: Sqlable {
  var count: UInt8
  var spare: Int8?
  var stock: Int16
  var weight: Float
  var volume: UInt64

  static let count = column("count", UInt8.self)
  static let spare = column("spare", Int8?.self)
  static let stock = column("stock", Int16.self)
  static let weight = column("weight", Float.self)
  static let volume = column("volume", UInt64.self)
  static let tableLayout = [count.column, spare.column, stock.column, weight.column, volume.column]

  init(count: UInt8, spare: Int8? = nil, stock: Int16 = 0, weight: Float = 0, volume: UInt64 = 0) {
    (self.count, self.spare, self.stock, self.weight, self.volume) = (count, spare, stock, weight, volume)
  }

  init(row: ReadRow) throws {
    (count, spare) = (try row.get(Crate.count), try row.get(Crate.spare))
    (stock, weight) = (try row.get(Crate.stock), try row.get(Crate.weight))
    volume = try row.get(Crate.volume)
  }

  func write(to row: inout RowWriter) throws {
    row.set(Crate.count, count)
    row.set(Crate.spare, spare)
    row.set(Crate.stock, stock)
    row.set(Crate.weight, weight)
    row.set(Crate.volume, volume)
  }
}
