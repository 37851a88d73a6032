/// A statement that collects its rows into a dictionary, groups, a set or a single value, instead of an array.
///
/// ```swift
/// let byId = try Car.read().asDictionary(by: \.id).run(db)                                 // [Int: Car]
/// let byColor = try await Bicycle.read().grouped(by: \.color).run(pool)                    // [String: [Bicycle]]
/// let norco = try Bicycle.read().filter(Bicycle.name == "Norco").only().run(db)            // Bicycle
/// ```
///
/// A collected statement runs wherever the statement itself runs. If the rows of a change can't be collected, the
/// change is rolled back, as in `update(…).returning().only()`. A remote database can't roll a change back, so such a
/// statement throws `.misuse` there and nothing is sent.
public struct CollectedQuery<Source: Runnable, Output>: Runnable, WrappingWork {
  package let source: Source
  package let shape: ResultShape
  /// The function that collects the rows. `==` ignores the function, because the type and the shape determine it.
  let collect: @Sendable (Source.Output) throws -> Output

  package init(source: Source, shape: ResultShape, collect: @escaping @Sendable (Source.Output) throws -> Output) {
    (self.source, self.shape, self.collect) = (source, shape, collect)
  }

  package var wrapped: Source { source }

  /// Runs the statement and collects its rows.
  ///
  /// Throws the statement's errors, and `.notFound` or `.notUnique` if the rows can't be collected.
  @_disfavoredOverload
  @discardableResult
  public func run(_ db: SqliteDatabase) throws -> Output {
    do {
      if isReadOnly || !shape.refusesRows { return try collect(source.run(db)) }
      return try db.transaction { db in try collect(source.run(db)) }
    } catch var error as SqlError where error.sql == nil && error.isRefusalOfRows {
      error.sql = sql
      throw error.labelled(db.configuration.label).inTransaction(db.transactionLevel > 0)
    }
  }

  public func run(over transport: some SqlTransport) async throws -> Output {
    guard isReadOnly || !shape.refusesRows else {
      throw SqlError.misuse(
        "a remote database can't roll back the change if collecting its rows throws; run the change first, and then "
          + "collect the rows"
      )
    }
    let rows = try await source.run(over: transport)
    do { return try collect(rows) } catch var error as SqlError where error.isRefusalOfRows {
      error.sql = sql
      throw error
    }
  }
}

extension CollectedQuery: StatementTrees where Source: StatementTrees {
  package func statements() throws -> [TreeStatement] { try source.statements() }
}

extension CollectedQuery: Equatable where Source: Equatable {
  public static func == (left: CollectedQuery, right: CollectedQuery) -> Bool {
    left.source == right.source && left.shape == right.shape
  }
}

extension CollectedQuery: Hashable where Source: Hashable {
  public func hash(into hasher: inout Hasher) {
    hasher.combine(source)
    hasher.combine(shape)
  }
}

/// The kind of collection that a query returns, and for a collection with keys, the path from a row to its key.
package struct ResultShape: Sendable, Hashable {
  package enum Form: Sendable, Hashable {
    case first, only, dictionary, groups, set
  }

  package let form: Form
  /// The path from a row to its key. Nil if the row is a pair of key and value, or if the collection has no keys.
  var key: (AnyKeyPath & Sendable)?

  package init(form: Form, key: (AnyKeyPath & Sendable)? = nil) {
    (self.form, self.key) = (form, key)
  }

  /// True if collecting can throw because of the number of rows, or because of equal keys.
  var refusesRows: Bool { form == .only || form == .dictionary }

  package static func == (left: ResultShape, right: ResultShape) -> Bool {
    left.form == right.form && (left.key as AnyKeyPath?) == (right.key as AnyKeyPath?)
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(form)
    hasher.combine(key as AnyKeyPath?)
  }
}

extension SqlError {
  /// True if the error means that the rows can't be collected.
  fileprivate var isRefusalOfRows: Bool { kind == .notFound || kind == .notUnique }
}
