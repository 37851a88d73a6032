/// The kind of change to a row.
public enum Change: Sendable, Hashable, Codable, CaseIterable {
  case insert, update, delete
}

/// A row that a committed transaction changed.
public struct RowChange: Sendable, Hashable {
  /// The table's name, in the spelling of the observer's model.
  public let table: String
  public let change: Change
  /// The row's id: the integer primary key, or else the rowid. After an update, the new id. 0 in a WITHOUT ROWID table
  /// whose key is not a single integer.
  public let id: Int
  /// The row's id before an update. Differs from `id` if the update changed the key.
  public let previousId: Int
  /// The row's primary key, such as a text key or a composite key. After an update, the new key. Empty if the key is
  /// the rowid, if the table has no key, and without SQLite's pre-update hook.
  public var key: [DatabaseValue] { keys?.key ?? [] }
  /// The row's primary key before an update. Differs from `key` if the update changed the key.
  public var previousKey: [DatabaseValue] { keys?.previous ?? [] }
  /// True if the row has an id. False if `id` is 0 because the row has no id.
  package let hasId: Bool
  /// The keys; nil for most rows. Stored in one object, because row changes are copied often.
  private let keys: Keys?
  private let isKeyedById: Bool
  /// All values of the row; nil if no observer requests the values.
  package var images: RowImages?

  private final class Keys: Sendable, Hashable {
    let key: [DatabaseValue]
    let previous: [DatabaseValue]
    let comparison: KeyComparison?

    init(_ key: [DatabaseValue], _ previous: [DatabaseValue], _ comparison: KeyComparison?) {
      self.key = key
      self.previous = previous
      self.comparison = comparison
    }

    static func == (left: Keys, right: Keys) -> Bool { left.key == right.key && left.previous == right.previous }

    func hash(into hasher: inout Hasher) {
      hasher.combine(key)
      hasher.combine(previous)
    }
  }

  package var hasCustomCollation: Bool {
    if case .custom = keys?.comparison?.collation { true } else { false }
  }

  /// True if the row has or had this id or key. Compares like SQLite, by the rules of the key's column.
  func concernsRow(_ given: DatabaseValue) -> Bool {
    if case .integer(let id) = given, hasId, id == Int64(self.id) || id == Int64(previousId) { return true }
    guard let keys else {
      return isKeyedById && hasId
        && (KeyComparison.ofIds.matches(.integer(Int64(id)), given)
          || KeyComparison.ofIds.matches(.integer(Int64(previousId)), given))
    }
    guard let comparison = keys.comparison else { return false }
    return [keys.key, keys.previous].contains { $0.count == 1 && comparison.matches($0[0], given) }
  }

  /// Returns this change with an observer's spelling of the table's name.
  package func named(_ table: String) -> RowChange {
    guard table != self.table else { return self }
    return RowChange(
      table: table, change: change, id: id, previousId: previousId, hasId: hasId, keys: keys, isKeyedById: isKeyedById,
      images: images)
  }
}

extension RowChange {
  // In an extension, so that the struct keeps its memberwise initializer. Without the memberwise initializer, appending
  // a new change to an array would copy the change.
  package init(
    table: String, change: Change, id: Int, previousId: Int, key: [DatabaseValue], previousKey: [DatabaseValue],
    comparison: KeyComparison?, hasId: Bool, isKeyedById: Bool, images: RowImages? = nil
  ) {
    let keys = key.isEmpty && previousKey.isEmpty ? nil : Keys(key, previousKey, comparison)
    self.init(
      table: table, change: change, id: id, previousId: previousId, hasId: hasId, keys: keys, isKeyedById: isKeyedById,
      images: images)
  }
}

extension RowChange: CustomStringConvertible {
  /// The change without its values: `update of bicycle 3 (previously 2): name, color`.
  public var description: String {
    var text = "\(change) of \(table)"
    if hasId { text += " \(id)" }
    if hasId, previousId != id, change == .update { text += " (previously \(previousId))" }
    if let changed = images?.changedColumns, !changed.isEmpty { text += ": " + changed.joined(separator: ", ") }
    return text
  }
}

/// A row's values before and after a change.
package final class RowImages: Sendable, Hashable {
  package let columns: [String]
  /// The values before the change, in the order of `columns`; nil for an insert. NULL for a column that is not stored.
  package let old: [DatabaseValue]?
  /// The values after the change, in the order of `columns`; nil for a delete.
  package let new: [DatabaseValue]?
  /// True if SQLite has reported all values.
  package let isWhole: Bool
  /// True if SQLite has reported all values after the change.
  package let isNewWhole: Bool

  /// The results of filters for these values, keyed by the filter's id.
  private let verdicts = LockedValue<[Int: Bool]>([:])

  /// The size of the texts and blobs, in bytes.
  var bytes: Int {
    [old, new].reduce(0) { sum, values in
      (values ?? []).reduce(sum) { sum, value in
        switch value {
        case .text(let text): sum + text.utf8.count
        case .blob(let data): sum + data.count
        case .null, .integer, .real: sum
        }
      }
    }
  }

  package func verdict(of filter: Int) -> Bool? { verdicts.withLock { $0[filter] } }

  package func note(_ verdict: Bool, of filter: Int) { verdicts.withLock { $0[filter] = verdict } }

  package init(columns: [String], old: [DatabaseValue]?, new: [DatabaseValue]?, isWhole: Bool, isNewWhole: Bool) {
    self.columns = columns
    self.old = old
    self.new = new
    self.isWhole = isWhole
    self.isNewWhole = isNewWhole
  }

  fileprivate var changedColumns: [String] {
    guard let old, let new else { return [] }
    return columns.indices.filter { $0 < old.count && $0 < new.count && old[$0] != new[$0] }.map { columns[$0] }
  }

  package static func == (left: RowImages, right: RowImages) -> Bool {
    left === right || (left.columns == right.columns && left.old == right.old && left.new == right.new)
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(old)
    hasher.combine(new)
  }
}

/// The token of a registered observer, for `removeObserver(_:)`.
public struct ObserverToken: Sendable, Hashable {
  let number: Int
}
