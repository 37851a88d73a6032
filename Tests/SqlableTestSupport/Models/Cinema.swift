import Foundation
import SqlableCore
import SqlableQueries
import SqlableSchema

/// Calls `body` with a new database with the models and rows above.
func withCinema(_ body: (SqliteDatabase) throws -> Void) throws {
  try withDatabase { db in
    try db.createTables(
      Studio.self, Film.self, Artist.self, Credit.self, Screening.self, Review.self, FilmScreenings.self)
    try Studio.insert([
      Studio(name: "Aurora", country: "NO"), Studio(name: "Blue Door", country: "GB"), Studio(name: "Cedar"),
    ]).run(db)
    let day = { (text: String) in try Date(text + "T00:00:00Z", strategy: .iso8601) }
    try Film.insert([
      Film(
        id: 1, title: "Harbour Lights", year: 1948, minutes: 92, isRestored: true, tags: ["sea", "night"],
        premiere: try day("1948-03-01"), studioId: 1),
      Film(
        id: 2, title: "The Long Ferry", year: 1962, minutes: 118, tags: ["sea"], premiere: try day("1962-10-12"),
        studioId: 1),
      Film(
        id: 3, title: "Night Train", year: 1962, genre: "thriller", isRestored: true, tags: ["night", "rail"],
        studioId: 2),
      Film(
        id: 4, title: "Copper", year: 1999, minutes: 101, genre: "thriller", premiere: try day("1999-05-20"),
        studioId: 2),
      Film(
        id: 5, title: "100% Wool", year: 2004, minutes: 78, genre: "comedy", tags: ["village"],
        premiere: try day("2004-01-09")),
      Film(
        id: 6, title: "the small hours", year: 2004, minutes: 131, tags: ["night"], premiere: try day("2004-11-30"),
        studioId: 2),
    ]).run(db)
    try Artist.insert([
      Artist(name: "Ada Holt"), Artist(name: "Ben Ito", mentorId: 1), Artist(name: "Cleo Marsh", mentorId: 1),
      Artist(name: "Dan Ek", mentorId: 2), Artist(name: "Eve Roth"),
    ]).run(db)
    try Credit.insert([
      Credit(1, 1, "director", 300), Credit(1, 2, "actor", 120.5), Credit(2, 1, "director", 350),
      Credit(2, 3, "actor", nil), Credit(3, 3, "director", 200), Credit(4, 2, "director", 410.25),
      Credit(4, 3, "actor", 80), Credit(6, 4, "actor", 95),
    ]).run(db)
    try Screening.insert([
      Screening(1, 1, "A", 120, 90), Screening(2, 1, "B", 60, 60), Screening(3, 2, "A", 120, 12),
      Screening(4, 4, "B", 60, 41), Screening(5, 4, "A", 120, 100), Screening(6, 6, "C", 30, 0),
    ]).run(db)
    try Review.insert([
      Review(1, 1, "A harbour at night, and the lights of ships"), Review(2, 3, "A train that runs all night"),
      Review(3, 4, "Copper wires and running feet"),
    ]).run(db)
    try body(db)
  }
}

/// Calls `body` with a database that also has essays, which require FTS5.
func withEssays(_ body: (SqliteDatabase) throws -> Void) throws {
  try withCinema { db in
    try db.createTable(Essay.self)
    try Essay.insert(Review.read().run(db).map { Essay($0.id, $0.filmId, $0.text) }).run(db)
    try body(db)
  }
}
