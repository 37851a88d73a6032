#if Macros
/// Writes the conformance of a struct or final class to ``Sqlable-protocol``: its columns, `init(row:)` and
/// `write(to:)`, as you would write them by hand.
///
/// ```swift
/// @Sqlable struct Bicycle {
///   @PrimaryKey(autoincrement: true) var id: Int?
///   var name: String
///   @Index @Default("black") var color: String
///   @ForeignKey<Person>(onDelete: .setNull) var ownerId: Int?
/// }
/// // CREATE TABLE "bicycle" ("id" INTEGER PRIMARY KEY AUTOINCREMENT, "name" TEXT NOT NULL,
/// //   "color" TEXT NOT NULL DEFAULT 'black', "owner_id" INTEGER REFERENCES "person" ("id") ON DELETE SET NULL)
/// ```
///
/// The macro needs the package trait `Macros`. The macro skips each member that the type declares itself: a column
/// (`static let color = column(…)`), `init(row:)`, `write(to:)`, or a list such as `tableConstraints`.
///
/// - Parameters:
///   - table: The table's name; by default the type's name in snake_case.
///   - naming: The rule that derives column names from property names, unless ``Column(_:as:_:)`` names a column.
///   - options: SQLite's options of the table, such as `.strict`.
@attached(member, names: arbitrary)
@attached(extension, conformances: Sqlable, names: arbitrary)
public macro Sqlable(_ table: StaticString? = nil, naming: ColumnNaming = .snakeCase, options: [TableOption] = []) =
  #externalMacro(module: "SqlableMacros", type: "ModelMacro")

/// Writes the conformance of a struct to ``SqlEmbedded-protocol``: its fields, `init(row:)` and `write(to:)`.
///
/// ```swift
/// @SqlEmbedded struct Address {
///   var street: String
///   @Collate(.nocase) var city: String?
/// }
/// ```
@attached(member, names: arbitrary)
@attached(extension, conformances: SqlEmbedded, names: arbitrary)
public macro SqlEmbedded(naming: ColumnNaming = .snakeCase) =
  #externalMacro(module: "SqlableMacros", type: "EmbeddedMacro")

/// The rule by which a macro derives column names from property names.
public enum ColumnNaming: Sendable {
  /// `owner_id` for `ownerId` and `ownerID`.
  case snakeCase
  /// `ownerId` for `ownerId`.
  case verbatim
}
#endif
