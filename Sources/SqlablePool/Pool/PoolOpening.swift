import SqlableCore
import SqlableSchema

extension SqlitePool {
  /// Opens the database of a service: opens the file, runs the pending migrations, and verifies the tables.
  ///
  /// ```swift
  /// let pool = try await SqlitePool(filepath: path, schema: schema, migrations: migrations)
  /// ```
  ///
  /// With migrations, the initializer applies the ``Migrations`` and calls
  /// ``Schema/verify(_:file:line:)-(AsyncSqlExecutor,_,_)``. Several processes can start at once: one of them runs each
  /// migration, and the others wait. Without migrations, the initializer calls
  /// ``Schema/create(_:file:line:)-(SqlitePool,_,_)``, which creates the tables, and adds missing columns and indexes.
  ///
  /// Throws the errors of these functions, such as `.schema(.mismatch)` with every difference between models and
  /// tables. After an error, the pool is closed. Completed migrations stay.
  public convenience init(
    filepath: String, configuration: PoolConfiguration = .init(), schema: Schema, migrations: Migrations? = nil
  ) async throws {
    try self.init(filepath: filepath, configuration: configuration)
    try await prepare(schema, migrations)
  }

  /// Opens the database of a service as the `async` initializer does, and blocks the thread.
  public convenience init(
    filepath: String, configuration: PoolConfiguration = .init(), schema: Schema, migrations: Migrations? = nil
  ) throws {
    try self.init(filepath: filepath, configuration: configuration)
    try prepare(schema, migrations)
  }

  /// Opens a new in-memory database with the tables of a service, for tests; see ``inMemory(configuration:)``.
  ///
  /// ```swift
  /// let pool = try await SqlitePool.inMemory(schema: schema, migrations: migrations)
  /// ```
  ///
  /// The tables are created or migrated as by the initializer for a file.
  public static func inMemory(
    configuration: PoolConfiguration = .init(), schema: Schema, migrations: Migrations? = nil
  ) async throws -> SqlitePool {
    let pool = try inMemory(configuration: configuration)
    try await pool.prepare(schema, migrations)
    return pool
  }

  /// Opens a new in-memory database with the tables of a service, and blocks the thread.
  public static func inMemory(
    configuration: PoolConfiguration = .init(), schema: Schema, migrations: Migrations? = nil
  ) throws -> SqlitePool {
    let pool = try inMemory(configuration: configuration)
    try pool.prepare(schema, migrations)
    return pool
  }

  private func prepare(_ schema: Schema, _ migrations: Migrations?) async throws {
    do {
      if let migrations {
        try await migrations.apply(self)
        try await schema.verify(self)
      } else {
        try await schema.create(self)
      }
    } catch {
      try? await close()
      throw error
    }
  }

  private func prepare(_ schema: Schema, _ migrations: Migrations?) throws {
    do {
      if let migrations {
        try migrations.apply(self)
        try schema.verify(self)
      } else {
        try schema.create(self)
      }
    } catch {
      try? close()
      throw error
    }
  }
}
