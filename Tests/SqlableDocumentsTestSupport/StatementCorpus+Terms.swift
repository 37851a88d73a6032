import Foundation
import SqlableCore
import SqlableDocuments
import SqlableQueries
import SqlableSchema

@testable import SqlableTestSupport

extension StatementCorpus {
  mutating func addConditions() throws {
    let text = "é\u{0}\"\\\n\u{1F600}"
    try add("value-texts", Seat.read().filter(Seat.price == 0.1 || Seat.price == 2 || Seat.letter == text))
    try add("value-null", Bicycle.updateAll(Bicycle.ownerId.set(to: nil)))
    try add("value-integers", Bicycle.read().filter(Bicycle.id.in([-1, 9_007_199_254_740_991, .max, .min])))
    try add("value-reals", Seat.count().filter(Seat.price < .infinity && Seat.price > -.infinity && Seat.price == -0.0))
    try add("value-blob", Car.select(Car.name, TypedExpression(Data([1, 2, 255]))))
    try add("parameter", Bicycle.id == Parameter("id"))
    try add("and-or", (Bicycle.id > 1 && Bicycle.id < 9) || Bicycle.color == "red")
    try add("not", !(Bicycle.color == "red"))
    try add("negative", Bicycle.read().orderBy(-Bicycle.id))
    try add("is-null", Bicycle.ownerId.isNull || Bicycle.ownerId.isNotNull)
    try add("between", Bicycle.id.between(3, and: 7))
    try add("in", Bicycle.ownerId.in([1, 2, nil] as [Int?]))
    try add("in-nothing", Bicycle.id.in([] as [Int]))
    try add("like", Bicycle.name.like("N%") || Bicycle.name.like("50!%%", escape: "!"))
    try add("glob", Bicycle.name.glob("N*"))
    try add("collate", Bicycle.name.collate(.nocase) == "norco" || Bicycle.name.collate(.named("own")) == "x")
    try add("comparisons", Bicycle.id <= 1 || Bicycle.id >= 2 || Bicycle.id != 3)
    try add("is", Bicycle.ownerId.isDistinct(from: Bicycle.id) || Bicycle.ownerId.isNotDistinct(from: Bicycle.id))
    try add("arithmetic", (Bicycle.id + 1 - 2) * 3 / 4 % 5 == 6)
    try add("concatenate", Bicycle.name.concatenated("x") == "y")
    try add(
      "bits",
      Bicycle.id.bitAnd(1) == 1 || Bicycle.id.bitOr(2) == 2 || Bicycle.id.shiftedLeft(3) == 3
        || Bicycle.id.shiftedRight(4) == 4 || Bicycle.id.inverted() == 5)
    try add("json-path", Bicycle.name.json("a", -1) == "x" || Bicycle.name.jsonValue("b c") == "x")
    try add("case", Case.when(Bicycle.id > 1, then: "a").when(Bicycle.id > 2, then: "b").else("c") == "b")
    try add("case-without-else", Case.when(Bicycle.id > 1, then: "a").end() == "a")
    try add(
      "cast",
      Bicycle.id.cast(to: Double.self) == 1 || Bicycle.name.cast(to: Int.self) == 1
        || Bicycle.id.cast(to: String.self) == "1")
    try add("cast-blob", Bicycle.read().orderBy(Bicycle.name.cast(to: Data.self)))
    try add(
      "date-parts",
      Car.read().filter(
        Car.soldAt.year() == 2024 && Car.soldAt.month() == 2 && Car.soldAt.day() == 3 && Car.soldAt.hour() == 4
          && Car.soldAt.minute() == 5 && Car.soldAt.weekday() == 6))
    try add("date", Car.read().filter(Car.soldAt.date() == "2024-01-31" && Car.soldAt.strftime("%Y-%m") == "2024-01"))
    let date = Date(timeIntervalSince1970: 1_700_000_000.25)
    try add(
      "shift",
      Car.read().filter(
        Car.soldAt.adding(1, .day) > date && Car.soldAt.adding(-2, .month) > date
          && Car.soldAt.adding(3, .second) > date
      ).orderBy(Car.soldAt.adding(4, .minute)).orderBy(Car.soldAt.adding(5, .hour))
        .orderBy(Car.soldAt.adding(6, .year)))
    try add(
      "date-arithmetic",
      Car.select(
        Car.soldAt.second(), Car.soldAt.dayOfYear(), Car.soldAt.start(of: .second), Car.soldAt.start(of: .minute),
        Car.soldAt.start(of: .hour), Car.soldAt.start(of: .day), Car.soldAt.start(of: .week),
        Car.soldAt.start(of: .month), Car.soldAt.start(of: .year)
      ).filter(
        Car.soldAt.seconds(since: Car.soldAt.adding(Car.name.length(), .month)) < 60
          && Car.soldAt.days(since: date) > 1.5 && Car.soldAt.adding(1, .week) > date))
  }

  mutating func addFunctions() throws {
    let twice = ScalarFunction("twice") { (number: Int) -> Int in number * 2 }
    try add("registered", twice(Bicycle.id.typed(as: Int.self)) == 6)
    try add(
      "aggregates",
      Car.select(
        Car.price.average(), Car.price.sum(distinct: true), Car.price.total(), Car.price.min(),
        Car.price.max(where: Car.isElectric == true), Car.name.count(distinct: true), countAll(),
        Car.name.groupConcat("; ")))
    try add(
      "aggregates-with-order",
      Car.select(
        Car.name.groupConcat("; ", orderBy: Car.price.desc, Car.id.asc, where: Car.isElectric == true),
        Car.name.groupConcat(distinct: true, orderBy: Car.name.asc.nullsLast), Car.price.total(distinct: true),
        Car.name.jsonGroupArray(distinct: true, orderBy: Car.name.asc),
        Car.name.jsonGroupObject(Car.price, orderBy: Car.id.asc)))
    try add(
      "windows",
      Car.select(
        rank().over(partitionBy: Car.isElectric, orderBy: Car.price.desc.nullsFirst),
        Car.price.sum().over(orderBy: Car.id.asc, frame: .rows(.preceding(6), .currentRow)),
        Car.price.max().over(orderBy: Car.id.asc, frame: .range(.unboundedPreceding, .following(2))),
        Car.price.min().over(orderBy: Car.id.asc, frame: .groups(.currentRow, .unboundedFollowing)),
        countAll().over()))
    try add(
      "window-functions",
      Car.select(
        rowNumber().over(orderBy: Car.id.asc), denseRank().over(orderBy: Car.id.asc),
        percentRank().over(orderBy: Car.id.asc), cumulativeDistribution().over(orderBy: Car.id.asc),
        ntile(4).over(orderBy: Car.id.asc), Car.name.lag().over(orderBy: Car.id.asc),
        Car.name.lead(2).over(orderBy: Car.id.asc), Car.name.firstValue().over(orderBy: Car.id.asc),
        Car.name.lastValue().over(orderBy: Car.id.asc)))
    try add(
      "window-values",
      Car.select(
        Car.name.nthValue(2).over(orderBy: Car.id.asc), Car.price.lag(1, default: 0).over(orderBy: Car.id.asc),
        Car.name.lead(2, default: Car.name).over(orderBy: Car.id.asc)))
    try add(
      "window-exclusions",
      Car.select(
        Car.price.sum().over(orderBy: Car.id.asc, frame: .rows(.preceding(1), .currentRow, excluding: .currentRow)),
        Car.price.sum().over(
          orderBy: Car.price.asc, frame: .groups(.preceding(1), .unboundedFollowing, excluding: .group)),
        Car.price.sum().over(orderBy: Car.price.asc, frame: .range(.preceding(1), .currentRow, excluding: .ties))))
    try add(
      "text-functions",
      Car.select(
        Car.name.lowercase(), Car.name.uppercase(), Car.name.length(), Car.name.substr(2, 3), Car.name.trim(),
        Car.name.ltrim("x"), Car.name.rtrim("x"), Car.name.replace("a", with: "b"), Car.name.instr("a"),
        Car.name.unicode(), Car.name.hex(), Car.name.typeof()))
    try add(
      "other-functions",
      Car.select(
        Car.price.abs(), Car.price.round(2), randomInteger(), Car.id.ifNull(0), Car.name.nullIf(""),
        Car.price.least(9), Car.price.greatest(9)))
    try add(
      "json-functions",
      Car.select(
        Car.name.jsonExtract("age", as: Int.self), Car.name.jsonArrayLength("pets"), Car.name.jsonType(),
        jsonObject(["name": Car.name]), jsonArray(Car.name, Car.price), Car.name.jsonGroupArray()))
    try add(
      "json-changes",
      Car.select(
        Car.name.jsonSet("age", to: 3), Car.name.jsonInsert("pets", 0, value: Car.name.json("pets")),
        Car.name.jsonReplace("age", with: nil as Int?), Car.name.jsonRemove("pets", -1),
        Car.name.jsonPatch("{}"), Car.name.jsonGroupObject(Car.price)))
    try add(
      "mathematics",
      Car.select(
        pi(), Car.price.sqrt(), Car.price.exp(), Car.price.ln(), Car.price.log10(), Car.price.log2(),
        Car.price.log(base: 3), Car.price.power(2), Car.price.mod(0.5), Car.price.floor(), Car.price.ceil(),
        Car.price.trunc(), Car.price.sign(), Car.price.degrees(), Car.price.radians(), Car.price.atan2(Car.id)))
    try add(
      "trigonometry",
      Car.select(
        Car.price.sin(), Car.price.cos(), Car.price.tan(), Car.price.asin(), Car.price.acos(), Car.price.atan(),
        Car.price.sinh(), Car.price.cosh(), Car.price.tanh(), Car.price.asinh(), Car.price.acosh(), Car.price.atanh()))
    try add("json-valid", Car.select(Car.name.jsonType()).filter(Car.name.jsonValid()))
    let nameAndPrice = rowValue(Car.name, Car.price)
    try add("regexp", Car.read().filter(Car.name.regexp("^N") && !Car.name.regexp(Parameter<String>("pattern"))))
    try add("row-values", Car.read().filter(nameAndPrice < ("N", 3) && nameAndPrice != nameAndPrice))
    try add("row-values-in", Car.read().filter(nameAndPrice.in([("N", 3), ("T", 4)])))
    try add(
      "row-values-in-query", Car.read().filter(nameAndPrice.notIn(Car.select(Car.name, Car.price.max().ifNull(0)))))
    try add("json-values", Car.select(Car.name.jsonSet("a", to: true), Car.name.jsonSet("b", to: ["x"])))
    try add("format", Car.select(format("%s: %.2f", Car.name, Car.price)))
    try add("truth-values", Car.select(Car.id).filter(Car.isElectric.isTrue && !Car.isElectric))
    try add(
      "page", Bicycle.read().orderBy(Bicycle.color, .desc).page(after: Bicycle(id: 3, name: "", color: "red"), limit: 2)
    )
    try add(
      "page-nulls",
      Bicycle.read().orderBy(Bicycle.ownerId.asc.nullsLast).page(after: Bicycle(id: 3, name: "", color: ""), limit: 2))
    try add(
      "term-arguments",
      Car.select(Car.name.substr(Car.name.instr("a"), Car.name.length()), Car.price.round(Car.name.length()))
        .filter(Car.name.like(Car.name) && Car.name.glob(Car.name) && Car.name.hasSuffix(Car.name.trim()))
        .filter(Car.price.between(Car.price, and: 9)))
    try add("json-contains", Bicycle.name.jsonContains("x", at: "tags"))
  }

  mutating func addFullText() throws {
    try add("search", Story.search(.words("swift")).limit(5))
    try add(
      "search-terms",
      Story.search(.prefix("sw"), weights: [Story.title: 10]).select(
        Story.searchRank, Story.snippet(of: Story.body, tokens: 8), Story.highlight(Story.title)))
    try add("search-snippet", Memo.search(.words("swift")).select(Memo.snippet(tokens: 4)))
    try add("matches", Story.read().filter(Story.matches(.words("swift")) && Story.year > 2020))
    let other = Alias(Story.self, "other")
    try add("matches-alias", other.read().filter(other.matches(.words("swift"))))
  }
}
