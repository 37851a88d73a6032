import Foundation
import SqlableCore
import SqlableQueries
import SqlableSchema

// The models of the peer questions: studios, films, artists, credits and screenings.

struct Studio: Sqlable, Equatable {
  let id: Int?
  var name: String
  var country: String?
  static let id = column("id", Int?.self, PrimaryKey())
  static let name = column("name", String.self, Unique())
  static let country = column("country", String?.self)
  static let tableLayout = [id.column, name.column, country.column]
  static let films = toMany(Film.self, by: Film.studioId)

  init(id: Int? = nil, name: String, country: String? = nil) {
    (self.id, self.name, self.country) = (id, name, country)
  }
  init(row: ReadRow) throws {
    self.init(id: try row.get(Studio.id), name: try row.get(Studio.name), country: try row.get(Studio.country))
  }
  func write(to row: inout RowWriter) throws {
    row.set(Studio.id, id)
    row.set(Studio.name, name)
    row.set(Studio.country, country)
  }
}

struct Film: Sqlable, Equatable {
  let id: Int?
  var title: String
  var year: Int
  var minutes: Int?
  var genre = "drama"
  var isRestored = false
  var tags: [String] = []
  var premiere: Date?
  var studioId: Int?
  static let id = column("id", Int?.self, PrimaryKey())
  static let title = column("title", String.self, Default(""))
  static let year = column("year", Int.self, Default(0))
  static let minutes = column("minutes", Int?.self)
  static let genre = column("genre", String.self, Default("drama"))
  static let isRestored = column("is_restored", Bool.self, Default(false))
  static let tags = column("tags", [String].self, Default([String]()))
  static let premiere = column("premiere", Date?.self)
  static let studioId = column("studio_id", Int?.self, ForeignKey<Studio>())
  static let tableLayout = [
    id.column, title.column, year.column, minutes.column, genre.column, isRestored.column, tags.column, premiere.column,
    studioId.column,
  ]
  static let studio = toOne(Studio.self, by: studioId)
  static let credits = toMany(Credit.self, by: Credit.filmId)
  static let screenings = toMany(Screening.self, by: Screening.filmId)
  static let artists = toMany(Artist.self, through: Credit.self, from: Credit.filmId, to: Credit.artistId)
  static let restored = read().filter(isRestored.isTrue)
  static let isOld = year < 1970
}

extension Film {
  init(row: ReadRow) throws {
    id = try row.get(Film.id)
    title = try row.get(Film.title)
    year = try row.get(Film.year)
    minutes = try row.get(Film.minutes)
    genre = try row.get(Film.genre)
    isRestored = try row.get(Film.isRestored)
    tags = try row.get(Film.tags)
    premiere = try row.get(Film.premiere)
    studioId = try row.get(Film.studioId)
  }
  func write(to row: inout RowWriter) throws {
    row.set(Film.id, id)
    row.set(Film.title, title)
    row.set(Film.year, year)
    row.set(Film.minutes, minutes)
    row.set(Film.genre, genre)
    row.set(Film.isRestored, isRestored)
    row.set(Film.tags, tags)
    row.set(Film.premiere, premiere)
    row.set(Film.studioId, studioId)
  }
}

struct Artist: Sqlable, Equatable {
  let id: Int?
  var name: String
  var mentorId: Int?
  static let id = column("id", Int?.self, PrimaryKey())
  static let name = column("name", String.self)
  static let mentorId = column("mentor_id", Int?.self)
  static let tableLayout = [id.column, name.column, mentorId.column]
  static let mentor = toOne(Artist.self, by: mentorId, of: id)
  static let pupils = toMany(Artist.self, by: mentorId, of: id)
  static let credits = toMany(Credit.self, by: Credit.artistId)
  static let films = toMany(Film.self, through: Credit.self, from: Credit.artistId, to: Credit.filmId)

  init(id: Int? = nil, name: String, mentorId: Int? = nil) {
    (self.id, self.name, self.mentorId) = (id, name, mentorId)
  }
  init(row: ReadRow) throws {
    self.init(id: try row.get(Artist.id), name: try row.get(Artist.name), mentorId: try row.get(Artist.mentorId))
  }
  func write(to row: inout RowWriter) throws {
    row.set(Artist.id, id)
    row.set(Artist.name, name)
    row.set(Artist.mentorId, mentorId)
  }
}

struct Credit: Sqlable, Equatable {
  let filmId: Int
  let artistId: Int
  var part: String
  var fee: Double?
  static let filmId = column("film_id", Int.self, ForeignKey<Film>())
  static let artistId = column("artist_id", Int.self, ForeignKey<Artist>())
  static let part = column("part", String.self)
  static let fee = column("fee", Double?.self)
  static let tableLayout = [filmId.column, artistId.column, part.column, fee.column]
  static let tableConstraints = [PrimaryKeys(filmId, artistId)]
  static let film = toOne(Film.self, by: filmId)
  static let artist = toOne(Artist.self, by: artistId)

  init(_ filmId: Int, _ artistId: Int, _ part: String, _ fee: Double?) {
    (self.filmId, self.artistId, self.part, self.fee) = (filmId, artistId, part, fee)
  }
  init(row: ReadRow) throws {
    self.init(
      try row.get(Credit.filmId), try row.get(Credit.artistId), try row.get(Credit.part), try row.get(Credit.fee))
  }
  func write(to row: inout RowWriter) throws {
    row.set(Credit.filmId, filmId)
    row.set(Credit.artistId, artistId)
    row.set(Credit.part, part)
    row.set(Credit.fee, fee)
  }
}

struct Screening: Sqlable, Equatable {
  let id: Int?
  let filmId: Int
  let hall: String
  let seats: Int
  var sold: Int
  static let id = column("id", Int?.self, PrimaryKey())
  static let filmId = column("film_id", Int.self, ForeignKey<Film>())
  static let hall = column("hall", String.self)
  static let seats = column("seats", Int.self)
  static let sold = column("sold", Int.self)
  static let tableLayout = [id.column, filmId.column, hall.column, seats.column, sold.column]
  static let film = toOne(Film.self, by: filmId)

  init(_ id: Int?, _ filmId: Int, _ hall: String, _ seats: Int, _ sold: Int) {
    (self.id, self.filmId, self.hall, self.seats, self.sold) = (id, filmId, hall, seats, sold)
  }
  init(row: ReadRow) throws {
    self.init(
      try row.get(Screening.id), try row.get(Screening.filmId), try row.get(Screening.hall),
      try row.get(Screening.seats), try row.get(Screening.sold))
  }
  func write(to row: inout RowWriter) throws {
    row.set(Screening.id, id)
    row.set(Screening.filmId, filmId)
    row.set(Screening.hall, hall)
    row.set(Screening.seats, seats)
    row.set(Screening.sold, sold)
  }
}

struct Review: Sqlable, Equatable {
  let id: Int?
  let filmId: Int
  let text: String
  static let id = column("id", Int?.self, PrimaryKey())
  static let filmId = column("film_id", Int.self, ForeignKey<Film>())
  static let text = column("text", String.self)
  static let tableLayout = [id.column, filmId.column, text.column]

  init(_ id: Int?, _ filmId: Int, _ text: String) { (self.id, self.filmId, self.text) = (id, filmId, text) }
  init(row: ReadRow) throws {
    self.init(try row.get(Review.id), try row.get(Review.filmId), try row.get(Review.text))
  }
  func write(to row: inout RowWriter) throws {
    row.set(Review.id, id)
    row.set(Review.filmId, filmId)
    row.set(Review.text, text)
  }
}

/// An essay with a full-text index.
struct Essay: Sqlable, Equatable {
  let id: Int?
  let filmId: Int
  let text: String
  static let id = column("id", Int?.self, PrimaryKey())
  static let filmId = column("film_id", Int.self, ForeignKey<Film>())
  static let text = column("text", String.self)
  static let tableLayout = [id.column, filmId.column, text.column]
  static let tableFullText = FullTextIndex(text, tokenizer: .porter)

  init(_ id: Int?, _ filmId: Int, _ text: String) { (self.id, self.filmId, self.text) = (id, filmId, text) }
  init(row: ReadRow) throws {
    self.init(try row.get(Essay.id), try row.get(Essay.filmId), try row.get(Essay.text))
  }
  func write(to row: inout RowWriter) throws {
    row.set(Essay.id, id)
    row.set(Essay.filmId, filmId)
    row.set(Essay.text, text)
  }
}

/// A view with the number of screenings of each film that has screenings.
struct FilmScreenings: Sqlable, Equatable {
  let filmId: Int
  let count: Int
  static let filmId = column("film_id", Int.self, PrimaryKey())
  static let count = column("count", Int.self)
  static let tableLayout = [filmId.column, count.column]
  static let tableOptions: [TableOption] = [
    .view(View(Screening.select(Screening.filmId, countAll()).groupBy(Screening.filmId)))
  ]

  init(row: ReadRow) throws {
    (filmId, count) = (try row.get(FilmScreenings.filmId), try row.get(FilmScreenings.count))
  }
}

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
