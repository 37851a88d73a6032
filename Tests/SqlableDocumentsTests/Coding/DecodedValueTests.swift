import Foundation
import SqlableCore
import SqlableDocuments
import Testing

@testable import SqlableTestSupport

/// Checks of a decoded statement's values against the model's columns.
@Suite struct DecodedValueTests {
  /// Replaces one text in the statement's JSON by another and decodes the result.
  private func damaged<Output>(
    _ statement: Statement<Bicycle, Output>, _ text: String, _ other: String
  ) throws -> Statement<Bicycle, Output> {
    let json = String(decoding: try statement.json(), as: UTF8.self)
    #expect(json.contains(text), "\(json)")
    return try Statement(json: Data(json.replacing(text, with: other).utf8))
  }

  private func expectRefusal(_ column: String?, _ body: () throws -> Void) {
    let error = sqlError(body)
    guard case .encoding = error?.kind else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(error?.table == "bicycle")
    #expect(error?.column == column)
    // A message must not leak the value.
    #expect(error.map { "\($0)".contains("secret") } == false)
  }

  @Test func assigningAValueOfAnotherTypeIsRefused() throws {
    let (seven, secret) = ("7", #""secret""#)
    let set = Bicycle.updateAll(Bicycle.ownerId.set(to: 7))
    expectRefusal("owner_id") { _ = try damaged(set, seven, secret) }
    let upsert = Bicycle(id: 1, name: "a", color: "b").insert().onConflict(Bicycle.id, set: Bicycle.ownerId.set(to: 7))
    expectRefusal("owner_id") { _ = try damaged(upsert, seven, secret) }
    let copy = Bicycle.updateAll(Bicycle.ownerId.set(to: Bicycle.id))
    expectRefusal("owner_id") {
      _ = try damaged(copy, #""to":{"column":"id"}"#, #""to":{"column":"name"}"#)
    }
  }

  @Test func comparingWithAValueOfAnotherTypeIsRefused() throws {
    let (seven, secret) = ("7", #""secret""#)
    let filters = [
      Bicycle.ownerId == 7, Bicycle.ownerId.in([7, 8]), Bicycle.ownerId.between(7, and: 9), !(Bicycle.ownerId > 7),
      Bicycle.name == "x" || Bicycle.ownerId < 7,
    ]
    for filter in filters {
      expectRefusal("owner_id") { _ = try damaged(Bicycle.read().filter(filter), seven, secret) }
    }
    expectRefusal(nil) {
      _ = try damaged(Bicycle.count().filter(Bicycle.name.like("secret%")), #""secret%""#, seven)
    }
    for filter in filters {
      let read = Bicycle.read().filter(filter).orderBy(Bicycle.name)
      #expect(try damaged(read, "owner_id", "owner_id") == read)
    }
  }
}
