/// Which stored value stands for one that lies between two of them, where values are compared.
///
/// In a column of whole cents, `price < 12.345` is `price < 12.35`, `price <= 12.345` is `price <= 12.34`, and no price
/// is equal to it.
package enum ComparedSide: Sendable {
  case equal, below, above
}
