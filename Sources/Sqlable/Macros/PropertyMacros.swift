#if Macros
// The attributes of a model's properties. An attribute has the arguments of the column option with the same name.

/// States the name, type or options of a property's column. The arguments are those of `column(_:_:as:_:)`; each is
/// optional.
///
/// ```swift
/// @Column("hull") var hullNumber: String                       // "hull" TEXT NOT NULL
/// @Column("at", as: .date(.iso8601)) var launchedAt: Date      // "at" TEXT NOT NULL
/// ```
@attached(peer)
public macro Column(_ name: StaticString, as columnType: ColumnType? = nil, _ options: any ColumnOption...) =
  #externalMacro(module: "SqlableMacros", type: "PropertyMacro")

/// States the name of a property's column, and the type of the column's values if this type differs from the property's
/// type.
///
/// ```swift
/// @Column("total", Double.self) @Generated("price * amount") var total: Double?     // nil until it is stored
/// ```
@attached(peer)
public macro Column(
  _ name: StaticString, _ type: any SqlValue.Type, as columnType: ColumnType? = nil, _ options: any ColumnOption...
) = #externalMacro(module: "SqlableMacros", type: "PropertyMacro")

/// States the type of a column's values, if this type differs from the property's type.
@attached(peer)
public macro Column(_ type: any SqlValue.Type, as columnType: ColumnType? = nil, _ options: any ColumnOption...) =
  #externalMacro(module: "SqlableMacros", type: "PropertyMacro")

/// States the SQL type of a property's column.
@attached(peer)
public macro Column(as columnType: ColumnType, _ options: any ColumnOption...) =
  #externalMacro(module: "SqlableMacros", type: "PropertyMacro")

/// Adds options to a property's column.
@attached(peer)
public macro Column(_ option: any ColumnOption, _ options: any ColumnOption...) =
  #externalMacro(module: "SqlableMacros", type: "PropertyMacro")

/// Makes the property's column the primary key, as ``PrimaryKey-struct`` does.
///
/// A property with an integer key can be optional: it is nil until the struct is stored. The column's type is not
/// optional: filters, joins and selected rows use an `Int`.
@attached(peer)
public macro PrimaryKey(
  autoincrement: Bool = false, descending: Bool = false, onConflict: ConflictPolicy? = nil, name: String? = nil
) =
  #externalMacro(module: "SqlableMacros", type: "PropertyMacro")

/// Sets the conflict policy or the name of the column's NOT NULL constraint; see ``NotNull-struct``. The constraint
/// itself follows from the property's type.
@attached(peer)
public macro NotNull(onConflict: ConflictPolicy? = nil, name: String? = nil) =
  #externalMacro(module: "SqlableMacros", type: "PropertyMacro")

/// The value that an insert stores if the column is left out; see ``Default-struct``.
@attached(peer)
public macro Default<Value: SqlValue>(_ value: Value) =
  #externalMacro(module: "SqlableMacros", type: "PropertyMacro")

/// Makes the time of the insert the default: `@Default(.now) var createdAt: Date?`. An insert of a struct stores the
/// property's value, even if it is nil; see ``Default-struct``.
@attached(peer)
public macro Default(_ time: Default.Time) = #externalMacro(module: "SqlableMacros", type: "PropertyMacro")

/// Makes the value of an SQL expression the default; see ``Default-struct``.
@attached(peer)
public macro Default(sql: String) = #externalMacro(module: "SqlableMacros", type: "PropertyMacro")

/// Makes the property's initial value the default of its column too.
///
/// ```swift
/// @Default var color = "black"     // "color" TEXT NOT NULL DEFAULT 'black'
/// ```
@attached(peer)
public macro Default() = #externalMacro(module: "SqlableMacros", type: "PropertyMacro")

/// Requires the column's values to be unique, as ``Unique-struct`` does.
@attached(peer)
public macro Unique(onConflict: ConflictPolicy? = nil, name: String? = nil) =
  #externalMacro(module: "SqlableMacros", type: "PropertyMacro")

/// An SQL condition that every row must satisfy; see ``Check-struct``.
@attached(peer)
public macro Check(_ sql: String, name: String? = nil) =
  #externalMacro(module: "SqlableMacros", type: "PropertyMacro")

/// The collation of the column; see ``Collate-enum``.
@attached(peer)
public macro Collate(_ collation: Collate) = #externalMacro(module: "SqlableMacros", type: "PropertyMacro")

/// The collation of the column. Register the collation on every handle that uses the table.
@attached(peer)
public macro Collate(_ collation: Collation) = #externalMacro(module: "SqlableMacros", type: "PropertyMacro")

/// Makes SQLite compute the column; see ``Generated-struct``. `write(to:)` leaves the column out.
@attached(peer)
public macro Generated(_ sql: String, stored: Bool = false) =
  #externalMacro(module: "SqlableMacros", type: "PropertyMacro")

/// Makes the column reference a row of another table, as ``ForeignKey-struct`` does.
///
/// ```swift
/// @ForeignKey<Person>(onDelete: .setNull) var ownerId: Int?
/// // "owner_id" INTEGER REFERENCES "person" ("id") ON DELETE SET NULL
/// ```
@attached(peer)
public macro ForeignKey<Target>(
  onDelete: ForeignKeyAction = .noAction, onUpdate: ForeignKeyAction = .noAction, deferred: Bool = false,
  name: String? = nil
) = #externalMacro(module: "SqlableMacros", type: "PropertyMacro")

/// Makes the column reference a unique column of another table, by the key path of the referenced property.
///
/// ```swift
/// @ForeignKey<Nation>(column: \.code) var nation: String     // "nation" TEXT NOT NULL REFERENCES "nation" ("code")
/// ```
@attached(peer)
public macro ForeignKey<Target>(
  column: PartialKeyPath<Target>, onDelete: ForeignKeyAction = .noAction, onUpdate: ForeignKeyAction = .noAction,
  deferred: Bool = false, name: String? = nil
) = #externalMacro(module: "SqlableMacros", type: "PropertyMacro")

/// Declares an index of the property's column.
///
/// ```swift
/// @Index(descending: true) var price: Double     // CREATE INDEX "car_price_desc" ON "car" ("price" DESC)
/// ```
///
/// Attributes with the same name declare one index, with the columns in the order of the properties. All attributes of
/// an index must have the same `unique`.
///
/// ```swift
/// @Index(name: "car_model") var maker: String
/// @Index(name: "car_model") var year: Int        // CREATE INDEX "car_model" ON "car" ("maker", "year")
/// ```
@attached(peer)
public macro Index(unique: Bool = false, name: String? = nil, descending: Bool = false) =
  #externalMacro(module: "SqlableMacros", type: "PropertyMacro")

/// Adds the column to the table's full-text index. The arguments are those of ``FullTextIndex``. Only one `@FullText`
/// of a model can have arguments.
///
/// ```swift
/// @FullText(tokenizer: .porter) var title: String
/// @FullText var body: String
/// ```
@attached(peer)
public macro FullText(tokenizer: Tokenizer = .unicode61, prefixes: [Int] = [], name: String? = nil) =
  #externalMacro(module: "SqlableMacros", type: "PropertyMacro")

/// Stores the column of a full-text table without indexing it, as ``Unindexed-struct`` does.
@attached(peer)
public macro Unindexed() = #externalMacro(module: "SqlableMacros", type: "PropertyMacro")

/// Stores a ``SqlEmbedded-protocol`` struct in one column for each of its fields.
///
/// ```swift
/// @Embedded var home: Address           // "home_street" TEXT NOT NULL, "home_city" TEXT
/// @Embedded("w") var work: Address?     // "w_street" TEXT, "w_city" TEXT
/// ```
@attached(peer)
public macro Embedded(_ prefix: StaticString? = nil) =
  #externalMacro(module: "SqlableMacros", type: "PropertyMacro")

/// Leaves a property out of the table. The property needs an initial value. In a struct that is read from the table,
/// the property has its initial value.
@attached(peer)
public macro Transient() = #externalMacro(module: "SqlableMacros", type: "PropertyMacro")
#endif
