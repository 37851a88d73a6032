import FoundationEssentials

/// A user-defined order of strings, for comparisons, ordering and indexes.
///
/// ```swift
/// let swedish = Collation("swedish") { $0.compare($1, locale: Locale(identifier: "sv")) }
/// try db.register(swedish)
/// Person.read().orderBy(Person.name.collate(swedish))     // ORDER BY "name" COLLATE "swedish"
/// ```
///
/// The closure must always return the same result, and define a transitive order that is reversed if the arguments are
/// swapped. An index is sorted by the collation. After the collation changes, the index does not find its rows until
/// the index is rebuilt (`REINDEX "swedish"`). The closure is called on the thread that runs the statement.
public struct Collation: Sendable {
  let collation: UserCollation

  public init(_ name: String, _ compare: @escaping @Sendable (String, String) -> ComparisonResult) {
    collation = UserCollation(name: name) { compare($0, $1).rawValue }
  }

  package var name: String { collation.name }
}
