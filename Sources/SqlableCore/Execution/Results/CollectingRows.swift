extension Runnable {
  /// Collects the rows into a dictionary by a key of each row.
  ///
  /// ```swift
  /// let cars = try Car.read().asDictionary(by: \.id).run(db)                                  // [Int: Car]
  /// let owned = Bicycle.join(Person.self, on: Bicycle.ownerId == Person.id).asDictionary(by: \.0.name)
  /// ```
  ///
  /// Running the query throws `.notUnique` if two rows have the same key; ``grouped(by:)`` keeps both rows.
  public func asDictionary<Row, Key: Hashable & SendableMetatype>(
    by key: KeyPath<Row, Key> & Sendable
  ) -> CollectedQuery<Self, [Key: Row]> where Output == [Row] {
    CollectedQuery(source: self, shape: .init(form: .dictionary, key: key)) { rows in
      try .init(unique: rows.lazy.map { ($0[keyPath: key], $0) })
    }
  }

  /// Collects the rows into a dictionary by an optional key, such as an id that the database assigns.
  ///
  /// Running the query throws `.notFound` if a row's key is nil, and `.notUnique` if two rows have the same key.
  public func asDictionary<Row, Key: Hashable & SendableMetatype>(
    by key: KeyPath<Row, Key?> & Sendable
  ) -> CollectedQuery<Self, [Key: Row]> where Output == [Row] {
    CollectedQuery(source: self, shape: .init(form: .dictionary, key: key)) { rows in
      try .init(unique: rows.lazy.map { (try SqlError.present($0[keyPath: key]), $0) })
    }
  }

  /// Collects rows of two values into a dictionary from the first value to the second value.
  ///
  /// ```swift
  /// let prices = try Car.select(Car.name, Car.price).asDictionary().run(db)                   // [String: Double]
  /// ```
  ///
  /// Running the query throws `.notUnique` if two rows have the same first value; ``grouped()`` keeps both rows.
  public func asDictionary<Key: Hashable & SendableMetatype, Value>() -> CollectedQuery<Self, [Key: Value]>
  where Output == [(Key, Value)] {
    CollectedQuery(source: self, shape: .init(form: .dictionary)) { try .init(unique: $0) }
  }

  /// Collects rows of an optional value and another value into a dictionary from the first value to the second value.
  ///
  /// Running the query throws `.notFound` if a row's first value is nil, and `.notUnique` if two rows have the same
  /// first value.
  public func asDictionary<Key: Hashable & SendableMetatype, Value>() -> CollectedQuery<Self, [Key: Value]>
  where Output == [(Key?, Value)] {
    CollectedQuery(source: self, shape: .init(form: .dictionary)) { rows in
      try .init(unique: rows.lazy.map { (try SqlError.present($0), $1) })
    }
  }

  /// Collects the rows into groups by a key. A group keeps the order of its rows.
  ///
  /// ```swift
  /// let byColor = try Bicycle.read().orderBy(Bicycle.name).grouped(by: \.color).run(db)       // [String: [Bicycle]]
  /// ```
  ///
  /// Rows whose key is nil form one group. To count or sum groups, use `groupBy`: SQLite then returns one row for each
  /// group.
  public func grouped<Row, Key: Hashable & SendableMetatype>(
    by key: KeyPath<Row, Key> & Sendable
  ) -> CollectedQuery<Self, [Key: [Row]]> where Output == [Row] {
    CollectedQuery(source: self, shape: .init(form: .groups, key: key)) {
      Dictionary(grouping: $0) { $0[keyPath: key] }
    }
  }

  /// Collects rows of two values into a dictionary from each first value to the array of its second values.
  ///
  /// ```swift
  /// let names = try Bicycle.select(Bicycle.color.typed(as: String.self), Bicycle.name.typed(as: String.self))
  ///   .grouped().run(db)                                                                      // [String: [String]]
  /// ```
  public func grouped<Key: Hashable & SendableMetatype, Value>() -> CollectedQuery<Self, [Key: [Value]]>
  where Output == [(Key, Value)] {
    CollectedQuery(source: self, shape: .init(form: .groups)) { rows in
      rows.reduce(into: [:]) { groups, row in groups[row.0, default: []].append(row.1) }
    }
  }

  /// Collects the rows into a set. Equal rows become one element.
  ///
  /// ```swift
  /// let colors = try Car.select(Car.name).asSet().run(db)                                      // Set<String>
  /// ```
  public func asSet<Row: Hashable & SendableMetatype>() -> CollectedQuery<Self, Set<Row>> where Output == [Row] {
    CollectedQuery(source: self, shape: .init(form: .set)) { Set($0) }
  }

  /// Returns the only row. Running the query throws `.notFound` if there is no row, and `.notUnique` if there are
  /// several rows. Both errors undo the changes of an INSERT, UPDATE or DELETE.
  public func only<Row>() -> CollectedQuery<Self, Row> where Output == [Row] {
    CollectedQuery(source: self, shape: .init(form: .only)) { try $0.only() }
  }
}

extension Statement where Output == [Model] {
  /// Returns the only row. Running the statement throws `.notFound` if there is no row, and `.notUnique` if there are
  /// several rows. Both errors undo the changes of an INSERT, UPDATE or DELETE.
  ///
  /// ```swift
  /// let norco = try Bicycle.read().filter(Bicycle.name == "Norco").only().run(db)              // … LIMIT ?
  /// ```
  ///
  /// A read selects at most two rows.
  public consuming func only() -> CollectedQuery<Statement, Model> {
    if case .select(var query) = tree {
      query.restrictLimit(to: 2)
      tree = .select(query)
    }
    return CollectedQuery(source: self, shape: .init(form: .only)) { try $0.only() }
  }
}

extension Select {
  /// Returns the only row. Running the query throws `.notFound` if there is no row, and `.notUnique` if there are
  /// several rows. The query selects at most two rows.
  public consuming func only() -> CollectedQuery<Select, Row> {
    query.restrictLimit(to: 2)
    return CollectedQuery(source: self, shape: .init(form: .only)) { try $0.only() }
  }

  /// Returns the first row, or nil if there is no row.
  ///
  /// ```swift
  /// let cheapest = Car.select(Car.name, Car.price).orderBy(Car.price).first()                  // (String, Double)?
  /// ```
  @_disfavoredOverload
  public consuming func first() -> CollectedQuery<Select, Row?> {
    query.takeFirst()
    return CollectedQuery(source: self, shape: .init(form: .first)) { $0.first }
  }

  /// Returns the first row's value, or nil if the value is NULL or there is no row.
  public consuming func first<Wrapped>() -> CollectedQuery<Select, Wrapped?> where Row == Wrapped? {
    query.takeFirst()
    return CollectedQuery(source: self, shape: .init(form: .first)) { $0.first ?? nil }
  }
}

extension Array {
  package func only() throws -> Element {
    guard count <= 1 else {
      throw SqlError(.notUnique, message: "expected one row, found several")
    }
    guard let row = first else { throw SqlError(.notFound, message: "expected one row, found none") }
    return row
  }
}

extension Dictionary {
  fileprivate init(unique pairs: some Sequence<(Key, Value)>) throws {
    self.init(minimumCapacity: pairs.underestimatedCount)
    for (key, value) in pairs {
      guard updateValue(value, forKey: key) == nil else {
        throw SqlError(.notUnique, message: "two rows of the result have the same key; use grouped to keep both")
      }
    }
  }
}

extension SqlError {
  fileprivate static func present<Key>(_ key: Key?) throws -> Key {
    guard let key else {
      throw SqlError(.notFound, message: "a row of the result has a NULL key; exclude NULL keys with a filter")
    }
    return key
  }
}

extension Returning {
  /// Returns columns and terms of only the first row; nil if no row was changed.
  ///
  /// ```swift
  /// let raised = try Car.update(Car.price.set(to: Car.price + 1)).filter(Car.id == 3).returning(Car.price).first()
  ///   .run(db)     // Double?
  /// // UPDATE "car" SET "price" = "price" + ? WHERE "id" = ? RETURNING "price"
  /// ```
  ///
  /// The statement changes every matching row. If several rows match, it is undefined which row is first. If a returned
  /// value of any row does not fit its Swift type, SQLite rolls the statement back. Encoding drops `first()`: the
  /// decoded statement returns all rows.
  public consuming func first() -> CollectedQuery<Returning, Row?> {
    CollectedQuery(source: self, shape: .init(form: .first)) { $0.first }
  }
}
