/// The direction in which a comparison rounds an operand that the column can't store.
///
/// In a column of whole cents, `price < 12.345` is compared as `price < 12.35`.
/// `price <= 12.345` is compared as `price <= 12.34`. No price is equal to 12.345.
package enum RoundingSide: Sendable {
  case equal, below, above
}
