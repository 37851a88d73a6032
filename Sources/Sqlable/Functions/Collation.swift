import FoundationEssentials

/// An order of texts of one's own, for comparisons, ordering and indexes.
///
/// ```swift
/// let swedish = Collation("swedish") { $0.compare($1, locale: Locale(identifier: "sv")) }
/// try db.register(swedish)
/// Person.read().orderBy(Person.name.collate(swedish))     // ORDER BY "name" COLLATE "swedish"
/// ```
///
/// The closure gives the same answer whenever it is asked, and an order: what is before stays before, turned round it is
/// after. An index is sorted by it, so one whose collation has changed finds rows no more, until it is built anew
/// (`REINDEX "swedish"`). It is called on the thread that runs the statement.
public struct Collation: Sendable {
  let collation: UserCollation

  public init(_ name: String, _ compare: @escaping @Sendable (String, String) -> ComparisonResult) {
    collation = UserCollation(name: name) { compare($0, $1).rawValue }
  }

  /// How SQL calls it.
  public var name: String { collation.name }
}
