import Foundation
import SqlableCore
import SqlableDocuments
import SqlableQueries
import Testing

@testable import SqlableTestSupport

/// Documents of reads with associated rows: the program declares the associations, the document selects the rows.
@Suite struct AssociationCodingTests {
  private func text(_ json: Data) -> String { String(decoding: json, as: UTF8.self) }

  private func data(_ body: String) -> Data { Data(#"{"read":\#(body),"sqlable":1}"#.utf8) }

  /// Returns the read's document and checks it against the schema.
  private func text<Root, each Part>(_ read: AssociatedQuery<Root, repeat each Part>) throws -> String {
    let json = try read.json()
    #expect(try JSONSchema.ofStatements().allows(JSONSerialization.jsonObject(with: json)))
    return text(json)
  }

  private var people: AssociatedQuery<Person, [Bicycle]> { Person.read().including(Person.bikes) }

  private func refusal(_ body: String) -> SqlError? {
    sqlError { _ = try AssociatedQuery(json: data(body), like: people) }
  }

  @Test func everyAssociationSurvivesJSON() throws {
    let bikes = Person.bikes.filter(Bicycle.color == "red").orderBy(Bicycle.name, .desc).limit(3, offset: 1)
    let many = Person.read().filter(Person.name > "A").orderBy(Person.id).limit(5).including(bikes)
    #expect(
      try text(many) == """
        {"read":{"from":"person","including":[{"from":"bicycle","limit":3,"offset":1,"orderBy":[{"desc":\
        {"column":"name"}}],"referringBy":"owner_id","where":{"=":[{"column":"color"},"red"]}}],"limit":5,\
        "orderBy":[{"asc":{"column":"id"}}],"where":{">":[{"column":"name"},"A"]}},"sqlable":1}
        """)
    #expect(try AssociatedQuery(json: many.json(), like: people) == many)

    let one = Bicycle.read().including(Bicycle.owner.filter(Person.name != "Bo"))
    #expect(
      try text(one) == """
        {"read":{"from":"bicycle","including":[{"from":"person","referredBy":"owner_id",\
        "where":{"<>":[{"column":"name"},"Bo"]}}]},"sqlable":1}
        """)
    #expect(try AssociatedQuery(json: one.json(), like: Bicycle.read().including(Bicycle.owner)) == one)

    let linked = Person.read().including(
      Person.courses.filter(Enrolment.courseId > 1 && Course.title != "").orderBy(Course.title))
    #expect(
      try text(linked) == """
        {"read":{"from":"person","including":[{"from":"course","orderBy":[{"asc":{"column":"title","of":"course"}}],\
        "through":{"from":"person_id","table":"enrolment","to":"course_id"},\
        "where":{"and":[{">":[{"column":"course_id","of":"enrolment"},1]},\
        {"<>":[{"column":"title","of":"course"},""]}]}}]},"sqlable":1}
        """)
    #expect(try AssociatedQuery(json: linked.json(), like: Person.read().including(Person.courses)) == linked)

    let counted = Person.read().including(Person.bikes.filter(Bicycle.color == "red").count())
    #expect(
      try text(counted) == """
        {"read":{"from":"person","including":[{"count":true,"from":"bicycle","referringBy":"owner_id",\
        "where":{"=":[{"column":"color"},"red"]}}]},"sqlable":1}
        """)
    #expect(try AssociatedQuery(json: counted.json(), like: Person.read().including(Person.bikes.count())) == counted)

    let keyed = Worker.read().including(Worker.team.orderBy(Worker.name).first()).including(Worker.boss)
    #expect(
      try text(keyed) == """
        {"read":{"from":"worker","including":[{"from":"worker","key":"id","limit":1,"orderBy":[{"asc":\
        {"column":"name"}}],"referringBy":"boss_id"},{"from":"worker","key":"id","referredBy":"boss_id"}]},"sqlable":1}
        """)
    #expect(
      try AssociatedQuery(json: keyed.json(), like: Worker.read().including(Worker.team.first()).including(Worker.boss))
        == keyed)
  }

  /// The document and the program must have the same aggregate.
  @Test func anAggregateIsPartOfTheAssociation() throws {
    let costs = Bicycle.repairs.aggregate(Repair.cost.max())
    let read = Bicycle.read().including(Bicycle.repairs.filter(Repair.id > 1).aggregate(Repair.cost.max()))
    #expect(
      try text(read) == """
        {"read":{"from":"bicycle","including":[{"aggregate":{"arguments":[{"column":"cost"}],"function":"max"},\
        "from":"repair","referringBy":"bicycle_id","where":{">":[{"column":"id"},1]}}]},"sqlable":1}
        """)
    let like = Bicycle.read().including(costs)
    #expect(try AssociatedQuery(json: read.json(), like: like) == read)
    let least = Bicycle.read().including(Bicycle.repairs.aggregate(Repair.cost.min()))
    let message = "the associations of the document differ from the program's associations"
    #expect(sqlError { _ = try AssociatedQuery(json: least.json(), like: like) }?.message == message)
    let rows = Bicycle.read().including(Bicycle.repairs)
    #expect(sqlError { _ = try AssociatedQuery(json: rows.json(), like: like) }?.message == message)
    #expect(sqlError { _ = try AssociatedQuery(json: read.json(), like: rows) }?.message == message)
    try withSchool { (db: SqliteDatabase) throws -> Void in
      #expect(try AssociatedQuery(json: read.json(), like: like).run(db).map(\.1) == [25, 90, 10, nil])
    }
  }

  /// The name of a key is optional if the foreign keys determine it.
  @Test func theKeyCanBeNamed() throws {
    let named = #"[{"from":"bicycle","referringBy":"owner_id","key":"id"}]"#
    #expect(try AssociatedQuery(json: data(#"{"from":"person","including":\#(named)}"#), like: people) == people)
    let unnamed = #"{"from":"worker","including":[{"from":"worker","referringBy":"boss_id"}]}"#
    let teams = Worker.read().including(Worker.team)
    #expect(try AssociatedQuery(json: data(unnamed), like: teams) == teams)
    let owners = Bicycle.read().including(Bicycle.owner)
    for (key, isRight) in [("id", true), ("name", false), ("owner_id", false)] {
      let one = #"{"from":"bicycle","including":[{"from":"person","referredBy":"owner_id","key":"\#(key)"}]}"#
      #expect((try? AssociatedQuery(json: data(one), like: owners)) == (isRight ? owners : nil), "\(key)")
    }
    let courses = #"{"table":"enrolment","from":"person_id","to":"course_id"}"#
    let through = #"{"from":"person","including":[{"from":"course","through":\#(courses),"key":"id"}]}"#
    expectInvalidStatement {
      _ = try AssociatedQuery(json: data(through), like: Person.read().including(Person.courses))
    }
  }

  /// The costs of the repairs of each bike of each person.
  private func costs(_ people: [(Person, [(Bicycle, [Repair], Person?)], Int)]) -> [[[Int]]] {
    people.map { person in person.1.map { bike in bike.1.map(\.cost) } }
  }

  @Test func aDecodedReadReturnsTheSameRows() throws {
    try withSchool { db in
      let like = Person.read().including(Person.bikes.including(Bicycle.repairs, Bicycle.owner))
        .including(Person.courses.count())
      let sent = Person.read().orderBy(Person.id)
        .including(
          Person.bikes.orderBy(Bicycle.name).limit(1).including(
            Bicycle.repairs.filter(Repair.cost > 20).orderBy(Repair.cost), Bicycle.owner)
        ).including(Person.courses.filter(Course.title != "Accounts").count())
      let read = try AssociatedQuery(json: sent.json(), like: like)
      #expect(read == sent)
      #expect(read != like)
      let (own, other) = (try sent.run(db), try read.run(db))
      #expect(own.count == 3)
      #expect(own.map(\.0.name) == other.map(\.0.name))
      #expect(other.map { $0.1.map(\.0.name) } == [["Giant"], ["Trek"], []])
      #expect(costs(other) == costs(own))
      #expect(other.map { $0.1.map { $0.2?.name } } == [["Anna"], ["Bo"], []])
      #expect(other.map(\.2) == [1, 1, 1])
    }
  }

  /// The filters, orders and limits of the expected read apply only to the program's reads.
  @Test func filtersOfTheExpectedReadAreIgnored() throws {
    let like = Person.read().filter(Person.id == 1).including(Person.bikes.filter(Bicycle.id == 1).limit(1))
    #expect(try AssociatedQuery(json: people.json(), like: like) == people)
  }

  @Test func unexpectedAssociationsAreRefused() throws {
    let message = "the associations of the document differ from the program's associations"
    for (including, place) in [
      ("[]", "read.including"),
      (#"[{"from":"bicycle","referringBy":"owner_id"},{"from":"bicycle","referringBy":"owner_id"}]"#, "read.including"),
      (#"[{"from":"person","referringBy":"owner_id"}]"#, "read.including[0]"),
      (#"[{"from":"bicycle","referringBy":"id"}]"#, "read.including[0]"),
      (#"[{"from":"bicycle","referredBy":"owner_id"}]"#, "read.including[0]"),
      (#"[{"from":"bicycle","referringBy":"owner_id","key":"name"}]"#, "read.including[0]"),
      (#"[{"from":"bicycle","referringBy":"owner_id","referredBy":"owner_id"}]"#, "read.including[0]"),
      (#"[{"from":"bicycle","referringBy":"owner_id","count":true}]"#, "read.including[0]"),
      (
        #"[{"from":"bicycle","referringBy":"owner_id","including":[{"from":"person","referredBy":"owner_id"}]}]"#,
        "read.including[0].including"
      ),
      (#"[{"from":"bicycle"}]"#, "read.including[0]"),
      (#"[{"referringBy":"owner_id"}]"#, "read.including[0]"),
    ] {
      let error = refusal(#"{"from":"person","including":\#(including)}"#)
      #expect(error?.message == message, "\(including): \(String(describing: error))")
      #expect(error?.documentPath == place, "\(including)")
    }
  }

  @Test func invalidAssociationsAreRefusedWithTheirPath() throws {
    for (including, place) in [
      ("1", "read.including"), ("[1]", "read.including[0]"),
      (#"[{"from":"bicycle","referringBy":"owner_id","select":[]}]"#, "read.including[0].select"),
      (#"[{"from":"secret","referringBy":"owner_id"}]"#, "read.including[0].from"),
      (#"[{"from":[{"table":"bicycle","as":"b"}],"referringBy":"owner_id"}]"#, "read.including[0].from"),
      (#"[{"from":["bicycle",{"table":"person","join":"cross"}],"referringBy":"owner_id"}]"#, "read.including[0].from"),
      (#"[{"from":"bicycle","referringBy":"owner_id","where":{"column":"nose"}}]"#, "read.including[0].where.column"),
      (#"[{"from":"bicycle","referringBy":"owner_id","limit":-1}]"#, "read.including[0].limit"),
      (#"[{"from":"bicycle","referringBy":"owner_id","limit":{"parameter":"p"}}]"#, "read.including[0].limit"),
      (#"[{"from":"bicycle","referringBy":"owner_id","count":false}]"#, "read.including[0].count"),
    ] {
      let error = refusal(#"{"from":"person","including":\#(including)}"#)
      #expect(error != nil, "\(including): \(String(describing: error))")
      #expect(error?.documentPath == place, "\(including): \(String(describing: error))")
    }
    #expect(refusal(#"{"from":"person"}"#)?.message == #"the statement must be a read that has the key "including""#)
    let limited = #"{"from":"bicycle","including":[{"from":"person","referredBy":"owner_id","limit":1}]}"#
    let error = sqlError { _ = try AssociatedQuery(json: data(limited), like: Bicycle.read().including(Bicycle.owner)) }
    #expect(error?.message == "a to-one association can't have an order, limit or offset")
    let counted = #"{"from":"person","including":[{"from":"bicycle","referringBy":"owner_id","count":true,"limit":1}]}"#
    let counts = Person.read().including(Person.bikes.count())
    expectInvalidStatement { _ = try AssociatedQuery(json: data(counted), like: counts) }
  }

  @Test func aReadWithAssociatedRowsDecodesAsIncludingOnly() throws {
    let json = try people.json()
    let rules = StatementRules(models: [Person.self, Bicycle.self])
    for error in [
      sqlError { _ = try Statement<Person, [Person]>(json: json, rules: rules) },
      sqlError { _ = try Select<DynamicRow>(json: json, rules: rules) },
      sqlError { _ = try AnyStatement(json: json, rules: rules) },
    ] {
      #expect(error?.message == "a read with associated rows can't be decoded as a Statement; use AssociatedQuery")
      #expect(error?.documentPath == "read.including")
    }
    expectInvalidStatement { _ = try AssociatedQuery(json: json, like: people, rules: StatementRules(kinds: [.count])) }
    expectMisuse { _ = try AnyStatement(people) }
  }

  @Test func invalidAssociationsAreNotEncoded() throws {
    expectInvalidStatement { _ = try Person.read().including(Person.bikes.limit(-1)).json() }
    expectMisuse { _ = try Person.read().including(Person.toMany(Repair.self, by: Repair.bicycleId)).json() }
    expectInvalidStatement { _ = try Person.read().including(Person.bikes.in(database: "archive")).json() }
  }

  @Test func aReadCanBeAPropertyOfACodableType() throws {
    let report = Report(title: "owners", people: Person.read().including(Person.bikes.limit(2)))
    let data = try JSONEncoder().encode(report)
    #expect(try JSONDecoder().decode(Report.self, from: data) == report)
  }

  private struct Report: Codable, Equatable {
    var title: String
    var people: AssociatedQuery<Person, [Bicycle]>

    init(title: String, people: AssociatedQuery<Person, [Bicycle]>) { (self.title, self.people) = (title, people) }

    private enum Key: String, CodingKey { case title, people }

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: Key.self)
      title = try container.decode(String.self, forKey: .title)
      people = try AssociatedQuery(
        from: container.superDecoder(forKey: .people), like: Person.read().including(Person.bikes))
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Key.self)
      try container.encode(title, forKey: .title)
      try container.encode(people, forKey: .people)
    }
  }
}
