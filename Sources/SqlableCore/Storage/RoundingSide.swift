/// The direction in which a comparison rounds an operand that the column can't store.
///
/// In a column of whole cents, `price < 12.345` is `price < 12.35`, `price <= 12.345` is `price <= 12.34`, and no price
/// is equal to it.
package enum RoundingSide: Sendable {
  case equal, below, above
}
